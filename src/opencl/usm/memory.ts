import { Allocation } from "../../core/memory/allocation.ts";
import { bytesAt, MemoryKind } from "../alias/memory.ts";
import { usmBlock, type UsmKind } from "./block.ts";
import { setUsmPointer } from "./tensor.ts";

/** The kinds of unified shared memory that the host reaches, for proofs of aliasing. */
export const USM_MEMORY: { readonly [K in Exclude<UsmKind, "device">]: MemoryKind } = {
  host: kindOf("host"),
  shared: kindOf("shared"),
};

function kindOf(usm: Exclude<UsmKind, "device">): MemoryKind {
  return new MemoryKind(`${usm} memory, unified`, (context, byteLength, undo) => {
    const block = usmBlock(context, usm, byteLength, 0);
    const allocation = new Allocation(block);
    allocation.join();
    undo.push(() => allocation.leave());
    const { address } = block;
    return {
      bytes: bytesAt(address, byteLength),
      bind: (kernel, index) => setUsmPointer(context, kernel, index, address),
    };
  });
}
