import type { Address } from "../../../ffi/address.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import { mapBlock, PAGE } from "../../core/native/blocks.ts";
import { throwAll } from "../../core/errors.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import type { CudaContext } from "../context.ts";
import type { CudaMemoryKind } from "../memory/block.ts";
import { aliasOf } from "../memory/pinned_block.ts";
import { register } from "../memory/registered.ts";

/** Memory to experiment on, as the host and as kernels call it, and what was learned by making it. */
export interface Scratch {
  /** What the host calls it. */
  readonly host: Address;
  /** What kernels call it. */
  readonly device: Address;
  /** What making it has cost, in words. */
  readonly price?: string;
}

/** Bytes of memory that is registered, so that the price of it can be told. */
const REGISTERED_BYTES = 4 * 1024 * 1024;

/** How each kind is made that host and kernels reach at once; what it takes goes on the undo list. */
export const SCRATCH: Partial<Record<CudaMemoryKind, (context: CudaContext, bytes: number, undo: Undo) => Scratch>> = {
  pinned(context, bytes, undo) {
    return owned(context.pinned.allocate({ shape: [bytes], dtype: "u8" }), undo);
  },
  managed(context, bytes, undo) {
    return owned(context.managed.allocate({ shape: [bytes], dtype: "u8" }), undo);
  },
  registered(context, _bytes, undo) {
    const host = hostBlock(REGISTERED_BYTES, undo);
    const once: Undo = [];
    register(context, host.allocation, once); // every page is there then
    throwAll(unwind(once), "unregistering host memory");
    const began = performance.now();
    register(context, host.allocation, undo);
    const price = (performance.now() - began) / (REGISTERED_BYTES / 2 ** 20);
    const { address } = host;
    const told = `registering cost ${price.toFixed(3)} ms per MiB here`;
    return { host: address, device: aliasOf(context, address), price: told };
  },
  virtual(context, bytes, undo) {
    return owned(context.virtual.allocate({ shape: [bytes], dtype: "u8", location: "host", sharable: false }), undo);
  },
  pageable(_context, bytes, undo) {
    const { address } = hostBlock(bytes, undo);
    return { host: address, device: address };
  },
};

/** A block of plain memory. */
function hostBlock(byteLength: number, undo: Undo): { readonly address: Address; readonly allocation: Allocation } {
  const block = mapBlock({ byteLength, align: PAGE, sharable: false, guard: false });
  const allocation = new Allocation(block);
  allocation.join();
  undo.push(() => allocation.leave());
  return { address: block.address, allocation };
}

function owned(
  tensor: { readonly hostHandle: Address | undefined; readonly address: Address } & Disposable,
  undo: Undo,
): Scratch {
  undo.push(() => tensor[Symbol.dispose]());
  return { host: tensor.hostHandle!, device: tensor.address };
}
