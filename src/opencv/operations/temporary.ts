import type { Address } from "../../../ffi/address.ts";
import { pinned } from "../../core/native/pin.ts";
import { fillMat } from "../header.ts";
import type { MatShape } from "../shape.ts";
import { giveSlot, takeSlot } from "../slots.ts";

/** Calls `use` with an InputArray of a Mat of two dimensions over a typed array, without gaps. */
export function withMat<R>(
  values: ArrayBufferView<ArrayBuffer>,
  { type, sizes: [rows, columns] }: Pick<MatShape, "type" | "sizes">,
  use: (input: Address) => R,
): R {
  const slot = takeSlot();
  try {
    return pinned(values, "opencv", (data) => {
      const step = values.byteLength / rows;
      fillMat(slot, { type, sizes: [rows, columns], steps: [step, step / columns] }, data);
      return use(slot.input);
    });
  } finally {
    giveSlot(slot);
  }
}
