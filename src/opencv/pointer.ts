import type { Address } from "../../ffi/address.ts";
import { ArgumentError } from "../core/errors.ts";
import { permitted } from "../core/library.ts";

/** The address that a program gave for an object of OpenCV's. @throws {ArgumentError} for anything else, and null. */
export function addressIn(given: bigint | Deno.PointerValue, argument: string = "handle"): Address {
  if (typeof given === "bigint" && given > 0n && given < 2n ** 64n) return given as Address;
  if (typeof given === "object" && given !== null) {
    try {
      return BigInt(permitted("to look at a pointer", "opencv", () => Deno.UnsafePointer.value(given))) as Address;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }
  const what = given === null || given === 0n ? "it is null" : `${typeof given} is no address`;
  throw new ArgumentError(`${argument}: ${what}.`, {
    api: "opencv",
    argument,
    hint: "Pass the address of the object, as a bigint or a Deno pointer.",
  });
}
