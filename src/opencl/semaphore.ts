import type { ClSemaphoreKhr } from "../../ffi/opencl_semaphore/handles.ts";
import type { Call } from "../core/contract.ts";
import type { Fence } from "../core/device/fence.ts";
import { Line } from "../core/device/line.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import type { BaseContext, BaseQueue } from "./base_context.ts";
import { checks } from "./check.ts";
import { type AttachedSemaphore, attachedSemaphore } from "./external/attached_semaphore.ts";
import { releaseSemaphore, signalCall, waitCall } from "./external/semaphore.ts";
import type { ClLane } from "./lane.ts";

/**
 * A binary `cl_semaphore_khr` that other code made (cl_khr_semaphore): made by `cl.attachSemaphore()`. Each signal is for
 * one wait. samepage's own uses of it come one behind the other, on whichever queues they are; when the other code signals
 * and waits only that code knows.
 *
 * For semaphores that samepage makes there is `Semaphore`; and most programs need no semaphore, because fences order the
 * work.
 *
 * @example
 * ```ts ignore
 * import { OpenCLContext } from "@samepage/interop/opencl";
 *
 * declare const theirs: { context: bigint; ready: bigint; free: bigint; submit(): void }; // a program's own C code
 * using cl = OpenCLContext.attach(theirs.context);
 * using ready = cl.attachSemaphore(theirs.ready);
 * using free = cl.attachSemaphore(theirs.free);
 * theirs.submit(); // it signals `ready` behind its work, and its next work waits for `free`
 * ready.wait();
 * // what is submitted to cl's queue from now on runs behind their work
 * free.signal();
 * ```
 */
export class OpenCLSemaphore extends NativeObject {
  /** Its context. */
  readonly context: BaseContext & { readonly queue: BaseQueue };
  /** Its end of life, which waits for samepage's commands with it. */
  readonly resource: Resource;
  readonly #attached: AttachedSemaphore;

  /** Made by `cl.attachSemaphore()`. */
  constructor(context: BaseContext & { readonly queue: BaseQueue }, handle: bigint) {
    super();
    this.context = context;
    const attached = this.#attached = attachedSemaphore(context, handle);
    this.resource = new Resource({
      name: `opencl semaphore (${context.name})`,
      owners: [context.resource],
      undo: [() => releaseSemaphore(attached.functions, attached.list)],
    });
    finalizers.register(this, this.resource, this);
  }

  /** The `cl_semaphore_khr`. */
  get handle(): ClSemaphoreKhr {
    this.resource.assertLive();
    return this.#attached.list[0] as ClSemaphoreKhr;
  }

  /**
   * Submits a signal behind all commands of a queue so far, the context's own by default. The other code must have submitted
   * its wait for the last one.
   *
   * @returns the fence of the signal
   * @throws {ArgumentError} for a queue of another context, and one of a device that the semaphore is not for.
   * @throws {NativeCallError} if the driver refuses.
   */
  signal(queue: BaseQueue = this.context.queue): Fence {
    return this.#submit(queue, signalCall(this.#attached.functions, this.#attached.list));
  }

  /**
   * The later commands of a queue, the context's own by default, wait on the device for a signal. The other code must have
   * submitted that: a wait without a signal never ends, and neither does what blocks behind it.
   *
   * @returns the fence of the wait
   * @throws like {@link signal}.
   */
  wait(queue: BaseQueue = this.context.queue): Fence {
    return this.#submit(queue, waitCall(this.#attached.functions, this.#attached.list));
  }

  /** As a write to it: two of our waits at once could take each other's signals. */
  #submit(queue: BaseQueue, call: Call<ClLane>): Fence {
    this.resource.assertLive();
    const { context, line, device } = typeof queue === "object" && queue !== null ? queue : {} as Partial<BaseQueue>;
    if (!(line instanceof Line) || context === undefined || device === undefined) {
      throw checks.wrongKind("queue", "an OpenCLQueue", queue);
    }
    checks.assertHere(context, this.context, "queue");
    if (!this.#attached.devices.includes(device.handle)) {
      throw checks.wrong("queue", `the semaphore was made for other devices than ${device.name}.`);
    }
    line.submit([{ tensor: this, access: "write", argument: "semaphore" }], call);
    return line.fence();
  }
}
