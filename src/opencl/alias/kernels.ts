import { NULL } from "../../../ffi/address.ts";
import type { ClKernel, ClMem } from "../../../ffi/opencl/handles.ts";
import type { Fence } from "../../core/device/fence.ts";
import { thenUndo, type Undo } from "../../core/life/undo.ts";
import { bytesAt, pinned } from "../../core/native/pin.ts";
import type { BaseContext, BaseKernel, BaseProgram, BaseQueue } from "../base_context.ts";
import { mapped } from "../buffers/native.ts";
import { check } from "../errors.ts";
import { opencl } from "../library.ts";
import type { UserEvent } from "../queues/event.ts";

export type Bind = (kernel: ClKernel, index: number) => void;

export function value(bytes: ArrayBufferView<ArrayBuffer>): Bind {
  return (kernel, index) =>
    pinned(bytes, "opencl", (address) => {
      check(opencl().clSetKernelArg(kernel, index, BigInt(bytes.byteLength), address), "clSetKernelArg");
    });
}

export function bound(mem: ClMem): Bind {
  return value(new BigUint64Array([mem]));
}

export function programFor(context: BaseContext, source: string, undo: Undo): BaseProgram {
  const program = context.program(source);
  undo.push(() => program[Symbol.dispose]());
  return program;
}

export function queuesFor(context: BaseContext, undo: Undo): readonly BaseQueue[] {
  return context.devices.map((device) => {
    const queue = context.createQueue({ device });
    undo.push(() => queue[Symbol.dispose]());
    return queue;
  });
}

export function submit(
  queue: BaseQueue,
  kernel: BaseKernel,
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

export function look<R>(
  at: Pick<BaseContext, "queue">,
  mem: ClMem,
  access: "read" | "write",
  byteLength: number,
  use: (bytes: Uint8Array<ArrayBuffer>) => R,
): R {
  const range = mapped(at, mem, access, 0, byteLength);
  const look = (undo: Undo) => use(bytesAt(range.address, byteLength, "opencl", undo));
  return thenUndo("looking at a buffer", look, [() => range.end()]);
}
