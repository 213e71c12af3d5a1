import type { CudaStream as StreamHandle } from "../../../ffi/cuda_runtime/handles.ts";
import type { Address } from "../../../ffi/address.ts";
import type { Fate } from "../../core/memory/allocation.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import { layout, type LayoutInit } from "../../core/layout/layout.ts";
import { keepFor } from "../../core/life/finalizers.ts";
import type { GiveBack } from "../../core/life/resource.ts";
import { checks } from "../check.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";
import type { CudaStream } from "../stream.ts";
import { onStream } from "../stream_lane.ts";
import type { CudaTensor } from "../tensor.ts";
import type { CudaBlock } from "./block.ts";
import { onDevice } from "./device.ts";
import { assertPools, CudaMemoryPool } from "./device_pool.ts";
import { ownedTensor } from "./memory.ts";

/** Options of {@link CudaStream.allocate}. */
export interface OrderedAllocation {
  /** The pool of the memory; the device's own by default. */
  readonly pool?: CudaMemoryPool;
}

const OPTIONS: Names<OrderedAllocation> = { pool: true };

/** A tensor whose memory is allocated and freed in the order of a stream. */
export function allocateInOrder(stream: CudaStream, init: LayoutInit, options: OrderedAllocation): CudaTensor {
  const { pool } = optionsIn(options, OPTIONS);
  const { context } = stream;
  const at = layout(init);
  if (pool !== undefined) {
    checks.assertInstance(pool, CudaMemoryPool, "pool");
    checks.assertHere(pool.context, context, "pool");
    pool.resource.assertLive();
  }
  stream.resource.assertLive();
  assertPools(context);
  const byteLength = at.byteOffset + at.byteLength;
  const out = new BigUint64Array(1);
  const size = BigInt(byteLength);
  const call = pool === undefined
    ? onStream("cudaMallocAsync", (order) => cudart().cudaMallocAsync(out, size, order))
    : onStream(
      "cudaMallocFromPoolAsync",
      (order) => cudart().cudaMallocFromPoolAsync(out, size, pool.rawHandle, order),
    );
  const fence = stream.line.submitRaw(call);
  const { block, giveBack } = orderedBlock(stream, out[0] as Address, byteLength, call.fn);
  const owners = pool === undefined ? [stream.resource] : [stream.resource, pool.resource];
  const tensor = ownedTensor(context, block, at, { owners, giveBack });
  tensor.resource.inherit([fence]);
  if (pool !== undefined) keepFor(tensor, pool);
  return tensor;
}

/** A block that is freed by cudaFreeAsync, or by cudaFree if the stream cannot wait for its work. */
function orderedBlock(
  stream: CudaStream,
  address: Address,
  byteLength: number,
  fn: string,
): { readonly block: CudaBlock; readonly giveBack: (leave: () => void) => GiveBack } {
  const { context } = stream;
  let order: StreamHandle | undefined;
  const free = (fate: Fate) => {
    if (fate !== "unused") return;
    if (order === undefined) freeNow(context, address);
    else checkRelease(cudart().cudaFreeAsync(address, order), "cudaFreeAsync");
  };
  const giveBack = (leave: () => void): GiveBack => {
    // Once this is submitted, the next allocation may get the same address, so the block is forgotten now.
    const call = onStream("cudaFreeAsync", (handle) => {
      order = handle;
      leave();
      return 0;
    });
    return { line: stream.line, once: true, step: () => call };
  };
  return { block: { ...onDevice(context, address, byteLength, [fn]), free }, giveBack };
}

function freeNow({ within }: CudaPrimaryContext, address: Address): void {
  within(() => checkRelease(cudart().cudaFree(address), "cudaFree"));
}
