import { Allocation } from "../../core/memory/allocation.ts";
import type { MemoryClass } from "../../core/device/proofs.ts";
import { bytesAt } from "../../core/native/pin.ts";
import { blockClass } from "../alias/memory.ts";
import type { OpenCLContext } from "../context.ts";
import { usmBlock, type UsmKind } from "./block.ts";
import { setUsmPointer } from "./tensor.ts";

/** The classes of unified shared memory that the host reaches. */
export const USM_MEMORY: { readonly [K in Exclude<UsmKind, "device">]: MemoryClass<OpenCLContext> } = {
  host: classOf("host"),
  shared: classOf("shared"),
};

function classOf(usm: Exclude<UsmKind, "device">): MemoryClass<OpenCLContext> {
  return blockClass(`${usm} memory, unified`, (context, byteLength, undo) => {
    const block = usmBlock(context, usm, byteLength, 0);
    new Allocation(block).joinUntil(undo);
    const { address } = block;
    return {
      bytes: bytesAt(address, byteLength, "opencl", undo),
      bind: (kernel, index) => setUsmPointer(context, kernel, index, address),
    };
  });
}
