import { type Address, NULL } from "../../ffi/address.ts";
import { addressInPointer } from "../core/native/pin.ts";
import { wrong } from "./errors.ts";

/** The address that a program gave for an object of OpenCV's. @throws {ArgumentError} for anything else, and null. */
export function addressIn(given: bigint | Deno.PointerValue, argument: string = "handle"): Address {
  if (typeof given === "bigint" && given > 0n && given < 2n ** 64n) return given as Address;
  const pointed = addressInPointer(given, "opencv");
  if (pointed !== undefined && pointed !== NULL) return pointed;
  const what = given === null || given === 0n ? "it is null" : `${typeof given} is no address`;
  throw wrong(argument, `${what}.`, "Pass the address of the object, as a bigint or a Deno pointer.");
}
