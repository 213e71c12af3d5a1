import type { Allocation, Block } from "../../core/memory/allocation.ts";
import { type Undo, undoAll } from "../../core/life/undo.ts";
import type { Space } from "./space.ts";
import type { RootBuffer } from "./tensor.ts";

/** A `cl_mem` whose memory is the driver's own. */
export interface DriverBuffer extends RootBuffer {
  /** Where it begins in its allocation. */
  readonly start: number;
}

/** What is known of a buffer before it is used. */
type Known = Pick<DriverBuffer, "mem" | "start" | "limits" | "memoryClass">;

/** The buffer that a `cl_context` has of an allocation. */
export function driverBufferOf({ driver }: Space, allocation: Allocation): DriverBuffer | undefined {
  return allocation.findAttachment<DriverBuffer>(driver);
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

/** The buffer of an allocation of any owner; it lasts as long as the allocation does. */
export function adoptDriverBuffer({ driver }: Space, known: Known, allocation: Allocation): DriverBuffer {
  return allocation.attachment(driver, () => driverBuffer(known));
}

/** A buffer that the allocation does not know. */
export function driverBuffer(known: Known): DriverBuffer {
  return { ...known, hostAddress: undefined, hostWriters: 0 };
}
