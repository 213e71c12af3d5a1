import { type Address, NULL } from "../../ffi/address.ts";
import { permitted } from "../core/native/library.ts";
import { std_string, writeStdString } from "../../ffi/opencv_core/structs.ts";
import { addressInPointer, pinned } from "../core/native/pin.ts";
import { wrong } from "./errors.ts";

/** A view of native memory. It is valid as long as the memory is. */
export function viewAt(address: Address, byteLength: number): DataView {
  return permitted("to look at memory", "opencv", () => {
    const pointer = Deno.UnsafePointer.create(address)!;
    return new DataView(Deno.UnsafePointerView.getArrayBuffer(pointer, byteLength));
  });
}

/** Calls `use` with a text as `const std::string&`. */
export function withString<R>(text: string, use: (string: Address) => R): R {
  const bytes = new TextEncoder().encode(`${text}\0`);
  const string = new DataView(new ArrayBuffer(std_string.size));
  return pinned(bytes, "opencv", (pointer) => {
    const length = BigInt(bytes.length - 1);
    writeStdString(string, 0, { pointer, length, capacity: length });
    return pinned(string, "opencv", use);
  });
}

/** The address that a program gave for an object of OpenCV's. @throws {ArgumentError} for anything else, and null. */
export function addressIn(given: bigint | Deno.PointerValue, argument: string = "handle"): Address {
  if (typeof given === "bigint" && given > 0n && given < 2n ** 64n) return given as Address;
  const pointed = addressInPointer(given, "opencv");
  if (pointed !== undefined && pointed !== NULL) return pointed;
  const what = given === null || given === 0n ? "it is null" : `${typeof given} is no address`;
  throw wrong(argument, `${what}.`, "Pass the address of the object, as a bigint or a Deno pointer.");
}
