import type { Address } from "../../../ffi/address.ts";

export function textAt(address: Address): string | undefined {
  const pointer = Deno.UnsafePointer.create(address);
  return pointer === null ? undefined : new Deno.UnsafePointerView(pointer).getCString();
}

export function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}
