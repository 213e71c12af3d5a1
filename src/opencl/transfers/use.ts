import type { Address } from "../../../ffi/address.ts";
import type { Access } from "../../core/memory/access.ts";
import { ArgumentError } from "../../core/errors.ts";
import type { Fence } from "../../core/life/fence.ts";
import { pinned } from "../../core/native/pin.ts";
import { assertHostMay } from "../buffers/limits.ts";
import { assertInstance, ofAnother, wrongKind } from "../check.ts";
import { OpenCLFence } from "../event.ts";
import { assertNoGates } from "../queues/gate.ts";
import { OpenCLImage } from "../image.ts";
import type { Point } from "../queues/point.ts";
import type { Enqueue, OpenCLQueue } from "../queue.ts";
import { OpenCLTensor } from "../tensor.ts";

/** A tensor or an image that a transfer uses, and what for. */
export interface Use<T extends OpenCLTensor | OpenCLImage = OpenCLTensor | OpenCLImage> {
  /** What it uses. */
  readonly tensor: T;
  /** What that is to be; a buffer's tensor by default. */
  readonly type?: "image";
  /** What is done to it. */
  readonly access: Access;
  /** What the caller knows it as. */
  readonly argument: string;
}

/** May a queue use these tensors so? All that can be known before a native call. */
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

/**
 * Submits a command behind the work on the tensors that it uses, and `after`, and takes away the views of their peers that
 * may not be used beside it. It is not recorded on the tensors yet.
 */
export function submitUse(
  queue: OpenCLQueue,
  fn: string,
  uses: readonly Use[],
  enqueue: Enqueue,
  after?: Fence,
): Point {
  return queue.submit(fn, after === undefined ? [] : [after], (n, list, event) => {
    assertUsable(queue, uses); // waiting may have run code of the program's: it may have disposed a tensor
    for (const { tensor, access } of uses) tensor.grant.revokeConflicting(access); // as a kernel does
    return enqueue(n, list, event);
  }, uses.map(({ tensor }) => tensor));
}

/** Records a command on the tensors that it uses. */
export function recordUse(queue: OpenCLQueue, uses: readonly Use[], point: Point): void {
  for (const { tensor } of uses) tensor.resource.record(new OpenCLFence(queue.context, queue, point));
}

/** An enqueue that blocks, with the address of the host's bytes in front. */
export type EnqueueBlocking = (address: Address, ...rest: Parameters<Enqueue>) => number;

/** Runs a command between a tensor and the program's bytes, and blocks until it is done. `copied` bytes are counted. */
export function runBlocking(
  queue: OpenCLQueue,
  fn: string,
  use: Use,
  bytes: Uint8Array<ArrayBuffer>,
  copied: number,
  enqueue: EnqueueBlocking,
): void {
  const { tensor, access, argument } = use;
  const limits = tensor instanceof OpenCLTensor ? tensor.limits : tensor.root.limits;
  assertHostMay(access, limits, tensor.name, argument);
  const what = `${access}()`;
  // The whole queue's: PoCL 3.1 finishes it in a blocking call.
  queue.assertUnblocked(what);
  const work: Fence[] = [];
  tensor.workBeside(queue, work);
  for (const fence of work) {
    assertNoGates(OpenCLFence.pointOf(fence)?.gates ?? [], what);
  }
  const { byteLength } = bytes;
  const point = submitUse(queue, fn, [use], (n, list, event) => {
    if (bytes.byteLength !== byteLength) {
      throw new ArgumentError("bytes: their buffer was moved away.", { api: "opencl", fn, argument: "bytes" });
    }
    return pinned(bytes, "opencl", (address) => enqueue(address, n, list, event));
  });
  queue.context.countCopied(copied);
  using fence = new OpenCLFence(queue.context, queue, point);
  fence.waitSync();
}
