import type { Allocation, Block } from "../../core/memory/allocation.ts";
import { type Undo, undoAll } from "../../core/life/undo.ts";
import type { RootBuffer } from "./tensor.ts";

/** A `cl_mem` whose memory is the driver's own, and the block that it is to all tensors over it. */
export interface DriverBuffer extends RootBuffer {
  /** What is lent of it, whoever has it. */
  readonly allocation: Allocation;
}

/** A buffer without its allocation. */
type Known = Pick<RootBuffer, "mem" | "limits" | "memoryClass">;

/** The key of an allocation's attachment. */
const KNOWN = {};

/** The buffer of an allocation. */
export function driverBufferOf(allocation: Allocation): DriverBuffer | undefined {
  return allocation.findAttachment<DriverBuffer>(KNOWN);
}

/** The block of a `cl_mem`. It takes `undo` over, and runs it when the last tensor ends. */
export function driverBlock(byteLength: number, undo: Undo): Block {
  return {
    kind: "opencl.buffer",
    byteLength,
    // An escaped view may be used for ever: then the memory must not be freed.
    free: (fate) => fate === "unused" ? undoAll(undo, "releasing a buffer") : undefined,
  };
}

/** The buffer of an allocation of any owner. */
export function adoptDriverBuffer(known: Known, allocation: Allocation): DriverBuffer {
  return allocation.attachment(KNOWN, () => ({ ...known, hostAddress: undefined, hostWriters: 0, allocation }));
}
