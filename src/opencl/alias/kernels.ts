import { NULL } from "../../../ffi/address.ts";
import type { ClKernel, ClMem } from "../../../ffi/opencl/handles.ts";
import type { Fence } from "../../core/device/fence.ts";
import type { Undo } from "../../core/life/undo.ts";
import { pinned } from "../../core/native/pin.ts";
import type { OpenCLContext } from "../context.ts";
import { check } from "../errors.ts";
import type { OpenCLKernel } from "../kernel.ts";
import { opencl } from "../library.ts";
import type { OpenCLProgram } from "../program.ts";
import type { OpenCLQueue } from "../queue.ts";
import type { UserEvent } from "../queues/event.ts";

/** Passes an argument to a kernel. */
export type Bind = (kernel: ClKernel, index: number) => void;

/** Passes an argument by its bytes. */
export function value(bytes: ArrayBufferView<ArrayBuffer>): Bind {
  return (kernel, index) =>
    pinned(bytes, "opencl", (address) => {
      check(opencl().clSetKernelArg(kernel, index, BigInt(bytes.byteLength), address), "clSetKernelArg");
    });
}

/** Passes a `cl_mem`. */
export function bound(mem: ClMem): Bind {
  return value(new BigUint64Array([mem]));
}

/** Builds a program for an experiment. */
export function programFor(context: OpenCLContext, source: string, undo: Undo): OpenCLProgram {
  const program = context.program(source);
  undo.push(() => program[Symbol.dispose]());
  return program;
}

/** A queue for each device of a context. */
export function queuesFor(context: OpenCLContext, undo: Undo): readonly OpenCLQueue[] {
  return context.devices.map((device) => {
    const queue = context.createQueue({ device });
    undo.push(() => queue[Symbol.dispose]());
    return queue;
  });
}

/** Submits a kernel of an experiment, behind an event if one is given. */
export function submit(
  queue: OpenCLQueue,
  kernel: OpenCLKernel,
  items: readonly number[],
  args: readonly Bind[],
  behind?: UserEvent,
): Fence {
  args.forEach((bind, i) => bind(kernel.handle, i));
  const dimensions = items.length;
  const { clEnqueueNDRangeKernel } = opencl();
  return pinned(BigUint64Array.from(items, BigInt), "opencl", (global) =>
    queue.line.submitRaw({
      fn: "clEnqueueNDRangeKernel",
      call(lane) {
        if (behind !== undefined) lane.waitFor(behind.event);
        const { queue, waitCount, waitList, slot } = lane;
        return clEnqueueNDRangeKernel(queue, kernel.handle, dimensions, NULL, global, NULL, waitCount, waitList, slot);
      },
    }));
}
