import { Printed } from "../core/printed.ts";
import type { Address } from "../../ffi/address.ts";
import type { Line } from "../core/device/line.ts";
import { InteropError } from "../core/errors.ts";
import { owned } from "../core/life/ledger.ts";
import { Resource } from "../core/life/resource.ts";
import { allOrNothing, type Undo, undone } from "../core/life/undo.ts";
import { core } from "./library.ts";
import { withString } from "./memory.ts";
import { chooseOwnContext, release, type State, stateMadeBy, withState } from "./thread_state.ts";
import { shown } from "../core/argument.ts";
import { environmentInWords } from "../core/native/library.ts";

/** An OpenCV queue, attached by the API that owns its `cl_context`. */
export interface DeviceQueue {
  /** Its end of life. */
  readonly resource: Resource;
  /** Its work, in order. */
  readonly line: Line;
}

/** A `cl_context` and its device, which a mapper passes to OpenCV. */
export interface ExecutionContext {
  /** Its name, for messages. */
  readonly name: string;
  /** Its end of life. */
  readonly resource: Resource;
  /** The `cl_context`. */
  readonly handle: bigint;
  /** The `cl_device_id`. */
  readonly device: bigint;
  /** The `cl_platform_id`. */
  readonly platform: bigint;
  /** Its CL_PLATFORM_NAME, by which OpenCV looks up the platform. */
  readonly platformName: string;
  /** Retains context and device for OpenCV, which will release them; `undo` releases them if OpenCV does not. */
  share(undo: Undo): void;
  /** Retains a `cl_mem` for good, because OpenCV still holds it. */
  keep(mem: bigint): void;
  /** Attaches to a queue that OpenCV has made in it. */
  attach(queue: bigint): DeviceQueue;
}

/**
 * OpenCV's OpenCL state for one `cl_context`: its compiled kernels, and a queue of its own. Each thread has a current state,
 * which is this one only while {@link run} runs. The context makes it on first use. For mappers.
 */
export class Execution extends Printed {
  /** The context and device of its `cl_context`. */
  readonly device: ExecutionContext;
  /** Its end of life, which comes before those of the `cl_context` and OpenCV's context. */
  readonly resource: Resource;
  /** OpenCV's queue. */
  readonly queue: DeviceQueue;
  readonly #state: State;

  /** Attaches OpenCV to a `cl_context`; ends with that, and with `owner`. @throws {OpenCVError} if OpenCV refuses it. */
  constructor(device: ExecutionContext, owner: Resource) {
    super();
    this.device = device;
    const undo: Undo = [];
    try {
      this.#state = attached(device);
      owned("opencv.execution", undo, () => release(this.#state));
      this.queue = device.attach(this.#run(() => core().Queue_ptr(core().Queue_getDefault())));
      undo.push(() => this.queue.resource.dispose());
    } catch (error) {
      throw undone(error, undo, `telling OpenCV of ${device.name}`);
    }
    const name = `OpenCV's queue (${device.name})`;
    this.resource = new Resource({ name, undo, owners: [device.resource, owner] });
  }

  /** Its name, and whether it has ended. */
  toString(): string {
    return this.resource.toString();
  }

  /** False once it, its `cl_context` or OpenCV's context was disposed. */
  get live(): boolean {
    return this.resource.state === "live";
  }

  /** Calls OpenCV with this as the thread's state, and restores the thread's own. */
  run<R>(call: () => R): R {
    this.resource.assertLive();
    return this.#run(call);
  }

  #run<R>(call: () => R): R {
    return withState(this.#state, call);
  }
}

/** attachContext takes over one reference to context and device if it succeeds, and none if it fails. */
function attached({ handle, device, platform, platformName, share }: ExecutionContext): State {
  assertOpenCL();
  chooseOwnContext();
  return allOrNothing("attaching OpenCV", (undo) => {
    share(undo);
    return stateMadeBy(() =>
      withString(platformName, (name) => {
        core().ocl_attachContext(name, platform as Address, handle as Address, device as Address);
        undo.length = 0;
      })
    );
  });
}

const RUNTIME = "OPENCV_OPENCL_RUNTIME";

/** OpenCV opens OpenCL once per process, unless its environment forbids it. @throws {InteropError} if it has no OpenCL. */
export function assertOpenCL(): void {
  if (core().ocl_haveOpenCL() !== 0) return;
  const set = environmentInWords(RUNTIME);
  throw new InteropError("OpenCV has no OpenCL here: it opens that by itself, and found none.", {
    api: "opencv",
    fn: "ocl_haveOpenCL",
    hint: set === undefined
      ? `Install OpenCL and a driver: apt install ocl-icd-libopencl1 pocl-opencl-icd. Where they are: is ${RUNTIME} set?`
      : `Unset ${RUNTIME}=${shown(set)}.`,
  });
}
