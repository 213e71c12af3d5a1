import type { Address } from "../../../ffi/address.ts";

/** The C string at an address; undefined for NULL. */
export function textAt(address: Address): string | undefined {
  const pointer = Deno.UnsafePointer.create(address);
  return pointer === null ? undefined : new Deno.UnsafePointerView(pointer).getCString();
}
