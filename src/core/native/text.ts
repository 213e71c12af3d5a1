import type { Address } from "../../../ffi/address.ts";
import { literal } from "../argument.ts";
import { ArgumentError } from "../errors.ts";

export function textAt(address: Address): string | undefined {
  const pointer = Deno.UnsafePointer.create(address);
  return pointer === null ? undefined : new Deno.UnsafePointerView(pointer).getCString();
}

/** What is wrong with a text of which C would read only a part. */
export const HAS_ZERO = "it has a zero inside, where C would take it to end.";

/** The text as C has it. @throws {ArgumentError} for a zero in it: C would read it no further. */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  if (text.includes("\0")) {
    throw new ArgumentError(`${literal(text)}: ${HAS_ZERO}`, { api: "core", hint: "Remove it." });
  }
  return new TextEncoder().encode(`${text}\0`);
}
