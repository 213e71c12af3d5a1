import { type Address, NULL } from "../../../ffi/address.ts";
import type { Layout } from "../../core/layout/layout.ts";
import type { Undo } from "../../core/life/undo.ts";
import { unfitError } from "../errors.ts";
import { dataIn, fillMat, matDataIn, releaseGrid } from "../header.ts";
import type { MatShape } from "../shape.ts";
import { filledSlot, giveSlot, type Slot } from "../slots.ts";
import { ReallocatedError } from "../tensor.ts";
import type { MatTarget } from "./target.ts";

/** A header over memory. */
export interface MatOver {
  /** Its slot. */
  readonly slot: Slot;
  /** Its description of the elements. */
  readonly shape: MatShape;
}

/**
 * A Mat over memory that OpenCV does not own, which `undo` ends. It takes a native call only for more than two dimensions.
 * @throws {LayoutError} if OpenCV cannot have that layout.
 */
export function matOver(target: MatTarget, at: Layout, address: Address, name: string, undo: Undo): MatOver {
  const shape = target.fit(at, address);
  if ("problem" in shape) throw unfitError(shape);
  const slot = filledSlot((slot) => fillMat(slot, shape, address));
  undo.push(() => endOver(target, slot, address, name));
  return { slot, shape };
}

/** Returns the slot, unless OpenCV has put memory of its own into the header: then the header becomes a tensor. */
function endOver(target: MatTarget, slot: Slot, address: Address, name: string): void {
  const [data, u] = [dataIn(slot), matDataIn(slot)];
  if (u === NULL && (data === address || data === NULL)) {
    releaseGrid(slot, "mat");
    giveSlot(slot);
    return;
  }
  throw new ReallocatedError(name, u === NULL ? undefined : target.resultIn(slot));
}
