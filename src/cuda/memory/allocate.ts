import type { Address } from "../../../ffi/address.ts";
import type { Fate } from "../../core/memory/allocation.ts";
import { allOrNothing, type Undo, undoAll } from "../../core/life/undo.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { check, checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";

const out = new BigUint64Array(1);

export function allocatedBy(
  { within }: CudaPrimaryContext,
  fn: string,
  call: (out: BigUint64Array<ArrayBuffer>) => number,
): Address {
  within(() => check(call(out), fn));
  return out[0] as Address;
}

export function freeDevice(context: CudaPrimaryContext, address: Address): (fate: Fate) => void {
  return freeBy(context, "cudaFree", () => cudart().cudaFree(address));
}

export function freeHost(context: CudaPrimaryContext, address: Address): (fate: Fate) => void {
  return freeBy(context, "cudaFreeHost", () => cudart().cudaFreeHost(address));
}

export function closeImported(context: CudaPrimaryContext, address: Address): (fate: Fate) => void {
  return freeBy(context, "cudaIpcCloseMemHandle", () => cudart().cudaIpcCloseMemHandle(address));
}

/**
 * Frees by a CUDA function, unless a view has escaped and may still be used. Retains the device's primary context until then,
 * because its end frees all of its memory, and the host may hold this memory after our context has ended.
 */
function freeBy(context: CudaPrimaryContext, fn: string, call: () => number): (fate: Fate) => void {
  const { within } = context;
  const free = () => within(() => checkRelease(call(), fn));
  const letGo = allOrNothing("allocating memory", () => context.keepPrimary(), [free]);
  const undo: Undo = [letGo, free];
  return (fate) => fate === "unused" ? undoAll(undo, "freeing memory") : undefined; // once, even if it failed
}
