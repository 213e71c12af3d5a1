import type { Allocation, Block } from "../../core/memory/allocation.ts";
import { type Undo, undoAll } from "../../core/life/undo.ts";
import type { Space } from "./space.ts";
import type { RootBuffer } from "./tensor.ts";

export interface DriverBuffer extends RootBuffer {
  readonly start: number;
}

type Known = Pick<DriverBuffer, "mem" | "start" | "limits" | "memoryClass">;

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

/** It lasts as long as the allocation does. */
export function adoptDriverBuffer({ driver }: Space, known: Known, allocation: Allocation): DriverBuffer {
  return allocation.attachment(driver, () => driverBuffer(known));
}

export function driverBuffer(known: Known): DriverBuffer {
  return { ...known, hostAddress: undefined, hostWriters: 0 };
}
