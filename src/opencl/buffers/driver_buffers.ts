import { Allocation } from "../../core/memory/allocation.ts";
import { throwAll } from "../../core/errors.ts";
import { tellByHandle } from "../../core/memory/peers.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import type { RootBuffer } from "../tensor.ts";

/** A `cl_mem` whose memory is the driver's own, and the block that it is to all tensors over it. */
export interface DriverBuffer extends RootBuffer {
  /** What is lent of it, whoever has it. */
  readonly allocation: Allocation;
}

/** What is known of a buffer beside its allocation. */
type Known = Pick<RootBuffer, "mem" | "limits" | "kind">;

/** Where that is kept, for those who have its allocation. */
const KNOWN = {};

/** The buffer that an allocation is the block of. */
export function driverBufferOf(allocation: Allocation): DriverBuffer | undefined {
  return allocation.findAttachment<DriverBuffer>(KNOWN);
}

/** A buffer that no tensor is over yet. Its allocation takes `undo` over: it is released with the last of them. */
export function addDriverBuffer(known: Known & { readonly byteLength: number }, undo: Undo): DriverBuffer {
  const { byteLength, ...rest } = known;
  const allocation = new Allocation({
    kind: "opencl.buffer",
    byteLength,
    // A view of it that has escaped would be used after the driver has freed the memory.
    free: (fate) => fate === "unused" ? throwAll(unwind(undo), "releasing a buffer") : undefined,
  });
  tellByHandle("cl_mem", known.mem, allocation);
  return adoptDriverBuffer(rest, allocation);
}

/** The buffer that an allocation is, whoever made that. */
export function adoptDriverBuffer(known: Known, allocation: Allocation): DriverBuffer {
  return allocation.attachment(KNOWN, () => ({ ...known, hostAddress: undefined, hostWriters: 0, allocation }));
}
