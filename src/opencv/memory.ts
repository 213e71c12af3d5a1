import type { Address } from "../../ffi/address.ts";
import { permitted } from "../core/native/library.ts";

/** Native memory, to be looked at now. */
export function viewAt(address: Address, byteLength: number): DataView {
  return permitted("to look at memory", "opencv", () => {
    const pointer = Deno.UnsafePointer.create(address)!;
    return new DataView(Deno.UnsafePointerView.getArrayBuffer(pointer, byteLength));
  });
}
