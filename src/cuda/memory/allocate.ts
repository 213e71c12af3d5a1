import type { Address } from "../../../ffi/address.ts";
import type { Fate } from "../../core/memory/allocation.ts";
import { throwAll } from "../../core/errors.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import type { CudaContext } from "../context.ts";
import { check, checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";

const out = new BigUint64Array(1);

/** A pointer that a function of CUDA's puts where it is told. @throws {NativeCallError} where it answers a code. */
export function allocatedBy(
  { within }: CudaContext,
  fn: string,
  call: (out: BigUint64Array<ArrayBuffer>) => number,
): Address {
  within(() => check(call(out), fn));
  return out[0] as Address;
}

/** How device memory and managed memory are freed: by cudaFree. */
export function freeDevice(context: CudaContext, address: Address): (fate: Fate) => void {
  return freeBy(context, "cudaFree", () => cudart().cudaFree(address));
}

/** How pinned memory is freed: by cudaFreeHost. */
export function freeHost(context: CudaContext, address: Address): (fate: Fate) => void {
  return freeBy(context, "cudaFreeHost", () => cudart().cudaFreeHost(address));
}

/** How memory of another process is given up: by cudaIpcCloseMemHandle. */
export function closeImported(context: CudaContext, address: Address): (fate: Fate) => void {
  return freeBy(context, "cudaIpcCloseMemHandle", () => cudart().cudaIpcCloseMemHandle(address));
}

/**
 * Frees by a function of CUDA's, unless a view has escaped: it would be used after the driver had freed the memory. The
 * device's primary context, whose end frees all of its memory, is one's own until then: the host may hold the memory for
 * longer than our context is open, and for good where a view has escaped.
 */
function freeBy(context: CudaContext, fn: string, call: () => number): (fate: Fate) => void {
  const { within } = context;
  const free = () => within(() => checkRelease(call(), fn));
  let letGo: () => void;
  try {
    letGo = context.keepPrimary();
  } catch (error) {
    throwAll([error, ...unwind([free])], "allocating memory");
    throw error;
  }
  const undo: Undo = [letGo, free];
  return (fate) => fate === "unused" ? throwAll(unwind(undo), "freeing memory") : undefined; // once, even if it failed
}
