import type { Address } from "../../../ffi/address.ts";
import type { Use as LineUse } from "../../core/device/line.ts";
import { isMade } from "../../core/argument.ts";
import { pinned } from "../../core/native/pin.ts";
import { assertHostMay } from "../buffers/limits.ts";
import { checks, ofAnother } from "../check.ts";
import { ImageTensor } from "../images/tensor.ts";
import type { ClLane } from "../lane.ts";
import type { BaseQueue } from "../base_context.ts";
import { BufferTensor } from "../buffers/tensor.ts";

/** A tensor or an image that a transfer uses. */
export interface Use<T extends BufferTensor | ImageTensor = BufferTensor | ImageTensor> extends LineUse<T> {
  /** The expected kind; a buffer's tensor by default. */
  readonly type?: "image";
}

/** Throws unless a queue can use these tensors. Makes no native call. */
export function assertUsable(queue: BaseQueue, uses: readonly Use[]): void {
  queue.resource.assertLive();
  for (const { tensor, type, access, argument } of uses) {
    if (type === undefined) assertBuffer(tensor, argument);
    else if (!ImageTensor.isImage(tensor)) throw checks.wrongKind(argument, "an OpenCLImage", tensor);
    tensor.assertUsable(access);
    if (tensor.context === queue.context) continue;
    throw checks.wrong(argument, ofAnother(tensor.name, tensor.context, "the queue", queue.context));
  }
}

/** Throws unless a value is a buffer's tensor. */
export function assertBuffer(value: unknown, argument: string): asserts value is BufferTensor {
  if (!isMade(value, BufferTensor)) throw checks.wrongKind(argument, "an OpenCLTensor", value);
}

/** A command, with the address of the host's bytes. */
export type EnqueueBlocking = (lane: ClLane, address: Address) => number;

/** Runs a command between a tensor and the program's bytes, and blocks until it is done. `copied` bytes are counted. */
export function runBlocking(
  { line, context }: BaseQueue,
  fn: string,
  use: Use,
  bytes: Uint8Array<ArrayBuffer>,
  copied: number,
  enqueue: EnqueueBlocking,
): void {
  const { tensor, access, argument } = use;
  const limits = tensor instanceof BufferTensor ? tensor.limits : tensor.root.limits;
  assertHostMay(access, limits, tensor.name, argument);
  const mark = line.submit([use], {
    fn,
    blocks: true,
    call: (lane) => pinned(bytes, "opencl", (address) => enqueue(lane, address)),
  });
  context.countCopied(copied);
  line.block(mark); // rusticl 22.3 may return early
  line.raise(mark);
}
