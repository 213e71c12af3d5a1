import { NativeKeep, NativeLoans } from "../core/tensors/native_loans.ts";

/** The bytes that consumers of Arrow hold. */
export const loans: NativeLoans = new NativeLoans("Arrow");

/** Lends for reading: Arrow's arrays are immutable. */
export const keep: NativeKeep = new NativeKeep(
  "Have its consumer release the ArrowArray, or dispose what toArrow() returned.",
  true,
);
