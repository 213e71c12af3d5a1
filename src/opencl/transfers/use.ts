import type { Address } from "../../../ffi/address.ts";
import type { Use as LineUse } from "../../core/device/line.ts";
import { ArgumentError } from "../../core/errors.ts";
import { pinned } from "../../core/native/pin.ts";
import { assertHostMay } from "../buffers/limits.ts";
import { assertInstance, ofAnother, wrongKind } from "../check.ts";
import { OpenCLImage } from "../image.ts";
import type { ClLane } from "../lane.ts";
import type { OpenCLQueue } from "../queue.ts";
import { OpenCLTensor } from "../tensor.ts";

/** A tensor or an image that a transfer uses. */
export interface Use<T extends OpenCLTensor | OpenCLImage = OpenCLTensor | OpenCLImage> extends LineUse<T> {
  /** The expected kind; a buffer's tensor by default. */
  readonly type?: "image";
}

/** Throws unless a queue can use these tensors. Makes no native call. */
export function assertUsable(queue: OpenCLQueue, uses: readonly Use[]): void {
  queue.resource.assertLive();
  for (const { tensor, type, access, argument } of uses) {
    if (type === undefined) assertInstance<unknown>(tensor, OpenCLTensor, argument);
    else if (!OpenCLImage.isImage(tensor)) throw wrongKind(argument, "an OpenCLImage", tensor);
    tensor.assertUsable(access);
    if (tensor.context === queue.context) continue;
    const what = ofAnother(tensor.name, tensor.context, "the queue", queue.context);
    throw new ArgumentError(`${argument}: ${what}`, { api: "opencl", argument });
  }
}

/** A command, with the address of the host's bytes. */
export type EnqueueBlocking = (lane: ClLane, address: Address) => number;

/** Runs a command between a tensor and the program's bytes, and blocks until it is done. `copied` bytes are counted. */
export function runBlocking(
  { line, context }: OpenCLQueue,
  fn: string,
  use: Use,
  bytes: Uint8Array<ArrayBuffer>,
  copied: number,
  enqueue: EnqueueBlocking,
): void {
  const { tensor, access, argument } = use;
  const limits = tensor instanceof OpenCLTensor ? tensor.limits : tensor.root.limits;
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
