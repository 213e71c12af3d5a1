import type { Address } from "../../../ffi/address.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import { mapBlock, PAGE } from "../../core/native/blocks.ts";
import { type Undo, undoAll } from "../../core/life/undo.ts";
import type { CudaMemoryKind } from "../memory/block.ts";
import type { CudaManaged } from "../memory/managed.ts";
import type { CudaPinned } from "../memory/pinned.ts";
import { aliasOf } from "../memory/pinned_block.ts";
import { register } from "../memory/registered.ts";
import type { CudaVirtual } from "../memory/virtual.ts";
import type { CudaStreamContext } from "../stream.ts";

/** A context whose kinds of memory can be tried. */
export interface SampleContext extends CudaStreamContext {
  /** Pinned memory. */
  readonly pinned: CudaPinned;
  /** Managed memory. */
  readonly managed: CudaManaged;
  /** Virtual memory. */
  readonly virtual: CudaVirtual;
}

export interface Sample {
  readonly host: Address;
  readonly device: Address;
  readonly price?: string;
}

/** The bytes that are registered to measure the cost of that. */
const REGISTERED_BYTES = 4 * 1024 * 1024;

export type MakeSample = (context: SampleContext, bytes: number, undo: Undo) => Sample;

/** Makers of samples, for each kind of memory that host and kernels can use at the same time. */
export const SAMPLES: { readonly [K in CudaMemoryKind]?: MakeSample } = {
  pinned(context, bytes, undo) {
    return owned(context.pinned.allocate({ shape: [bytes], dtype: "u8" }), undo);
  },
  managed(context, bytes, undo) {
    return owned(context.managed.allocate({ shape: [bytes], dtype: "u8" }), undo);
  },
  registered(context, _bytes, undo) {
    const host = hostBlock(REGISTERED_BYTES, undo);
    const once: Undo = [];
    register(context, host.allocation, once); // brings in every page
    undoAll(once, "unregistering host memory");
    const began = performance.now();
    register(context, host.allocation, undo);
    const perMiB = (performance.now() - began) / (REGISTERED_BYTES / 2 ** 20);
    const { address } = host;
    const price = `registering cost ${perMiB.toFixed(3)} ms per MiB here`;
    return { host: address, device: aliasOf(context, address), price };
  },
  virtual(context, bytes, undo) {
    return owned(context.virtual.allocate({ shape: [bytes], dtype: "u8", location: "host", sharable: false }), undo);
  },
  pageable(_context, bytes, undo) {
    const { address } = hostBlock(bytes, undo);
    return { host: address, device: address };
  },
};

function hostBlock(byteLength: number, undo: Undo): { readonly address: Address; readonly allocation: Allocation } {
  const block = mapBlock({ byteLength, align: PAGE, sharable: false, guard: false });
  return { address: block.address, allocation: new Allocation(block).joinUntil(undo) };
}

function owned(
  tensor: { readonly hostHandle: Address | undefined; readonly address: Address } & Disposable,
  undo: Undo,
): Sample {
  undo.push(() => tensor[Symbol.dispose]());
  return { host: tensor.hostHandle!, device: tensor.address };
}
