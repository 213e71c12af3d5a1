import { NativeKeep, NativeLoans } from "../core/tensors/native_loans.ts";

/** What consumers have of memory here. */
export const loans: NativeLoans = new NativeLoans("Arrow");

/** It is read by them, and not written. */
export const keep: NativeKeep = new NativeKeep(
  "Have its consumer release the ArrowArray, or dispose what toArrow() returned.",
  true,
);
