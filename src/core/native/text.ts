import type { Address } from "../../../ffi/address.ts";

/** The C string at an address; undefined for NULL. */
export function textAt(address: Address): string | undefined {
  const pointer = Deno.UnsafePointer.create(address);
  return pointer === null ? undefined : new Deno.UnsafePointerView(pointer).getCString();
}

/** The bytes of a C string: UTF-8 with a zero at the end. */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}
