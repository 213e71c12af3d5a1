import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { Allocation } from "../../core/allocation.ts";
import { throwAll } from "../../core/errors.ts";
import { type Undo, unwind } from "../../core/undo.ts";
import type { RootBuffer } from "../tensor.ts";

/** A `cl_mem` whose memory is the driver's own, and the block that it is to all tensors over it. */
export interface DriverBuffer extends RootBuffer {
  /** What is lent of it, whoever has it. */
  readonly allocation: Allocation;
  /** Where it stands in the list of them. */
  place: number;
}

/** Those that tensors are over. A list: who attaches to one looks through it, and nobody else does. */
const live: DriverBuffer[] = [];

/** What is known of a buffer, for those who have its allocation. */
const KNOWN = {};

/** The buffer of a `cl_mem` that tensors are over already: they and new ones are peers. */
export function findDriverBuffer(mem: ClMem): DriverBuffer | undefined {
  return live.find((buffer) => buffer.mem === mem);
}

/** The buffer that an allocation is the block of. */
export function driverBufferOf(allocation: Allocation): DriverBuffer | undefined {
  return allocation.findAttachment<DriverBuffer>(KNOWN);
}

/** What is known of a buffer beside its allocation. */
type Known = Pick<RootBuffer, "mem" | "limits" | "kind">;

/** A buffer that no tensor is over yet. Its allocation takes `undo` over: it is released with the last of them. */
export function addDriverBuffer(known: Known & { readonly byteLength: number }, undo: Undo): DriverBuffer {
  const { byteLength, ...rest } = known;
  const allocation = new Allocation({
    kind: "opencl.buffer",
    byteLength,
    // A view of it that has escaped would be used after the driver has freed the memory.
    free: (fate) => fate === "unused" ? throwAll(unwind(undo), "releasing a buffer") : undefined,
  });
  return adoptDriverBuffer(rest, allocation);
}

/** The buffer that an allocation is, whoever made that; until it is freed. */
export function adoptDriverBuffer(known: Known, allocation: Allocation): DriverBuffer {
  const buffer: DriverBuffer = {
    ...known,
    hostAddress: undefined,
    hostWriters: 0,
    allocation,
    place: live.length,
  };
  allocation.attachment(KNOWN, () => buffer);
  allocation.beforeFree(() => remove(buffer));
  live.push(buffer);
  return buffer;
}

function remove(buffer: DriverBuffer): void {
  const last = live.pop()!;
  if (last === buffer) return;
  live[buffer.place] = last;
  last.place = buffer.place;
}
