import { Allocation } from "../../core/memory/allocation.ts";
import { bytesAt, MemoryKind } from "../alias/memory.ts";
import { usmBlock, type UsmKind } from "./block.ts";
import { setUsmPointer } from "./tensor.ts";

/** Unified shared memory that the host can reach, as a proof of aliasing tries it. */
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
