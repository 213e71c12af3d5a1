import type { ClSemaphoreKhr } from "../../ffi/opencl_semaphore/handles.ts";
import {
  type AnySemaphoreQueue,
  ForeignSemaphore,
  type ForeignSemaphoreInit,
  importedSemaphore,
  type ImportSemaphoreOptions,
} from "../core/device/foreign_semaphore.ts";
import type { BaseContext, BaseQueue } from "./base_context.ts";
import { checks } from "./check.ts";
import { type AttachedSemaphore, attachedSemaphore } from "./external/attached_semaphore.ts";
import { releaseSemaphore, semaphoreCalls, type SemaphoreList } from "./external/semaphore.ts";

/**
 * A `cl_semaphore_khr` that other code made (`cl.attachSemaphore()`), or that stands for a semaphore of other code's by its
 * fd (`cl.importSemaphore()`). samepage's own uses of it come one behind the other, on whichever queues they are; when the
 * other code signals and waits only that code knows.
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
export class OpenCLSemaphore extends ForeignSemaphore {
  /** Its context. */
  override readonly context: BaseContext;
  readonly #devices: readonly bigint[];

  /** Made by contexts. */
  constructor(context: BaseContext, init: ForeignSemaphoreInit, devices: readonly bigint[]) {
    super(init, context.resource);
    this.context = context;
    this.#devices = devices;
  }

  /** The `cl_semaphore_khr`; 0 for a sync file whose signal has come. */
  get handle(): ClSemaphoreKhr {
    this.resource.assertLive();
    const [handle = 0n] = (this.imported ?? []) as SemaphoreList;
    return handle as ClSemaphoreKhr;
  }

  /** Throws for a queue of a device that it is not for. */
  protected override assertOn({ device }: AnySemaphoreQueue & Pick<BaseQueue, "device">): void {
    if (this.#devices.includes(device.handle)) return;
    throw checks.wrong("semaphores", `the semaphore was made for other devices than ${device.name}.`);
  }
}

type Home = BaseContext & { readonly queue: AnySemaphoreQueue };

export function attached(context: Home, handle: bigint): OpenCLSemaphore {
  const { functions, list, devices }: AttachedSemaphore = attachedSemaphore(context, handle);
  const init: ForeignSemaphoreInit = {
    kind: "binary",
    name: `opencl semaphore (${context.name})`,
    queue: context.queue,
    imported: list,
    sync: semaphoreCalls(() => functions),
    undo: [() => releaseSemaphore(functions, list)],
  };
  return new OpenCLSemaphore(context, init, devices);
}

export function imported(context: Home, fd: number, options: ImportSemaphoreOptions): OpenCLSemaphore {
  const { queue, devices } = context;
  return new OpenCLSemaphore(context, importedSemaphore(queue, fd, options), devices.map(({ handle }) => handle));
}
