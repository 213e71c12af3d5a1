import { type Address, NULL } from "../../ffi/address.ts";
import { aKind, shown } from "../core/argument.ts";
import {
  readStdVector,
  std_string,
  std_vector,
  writeStdString,
  writeStdVector,
} from "../../ffi/opencv_core/structs.ts";
import { libc } from "../core/native/libc.ts";
import { addressInPointer, pinned, viewAt as structAt } from "../core/native/pin.ts";
import { cString } from "../core/native/text.ts";
import { wrong } from "./errors.ts";

/** A view that is valid as long as the memory. */
export function viewAt(address: Address, byteLength: number): DataView {
  return structAt(address, byteLength, "opencv");
}

export function withString<R>(text: string, use: (string: Address) => R): R {
  const bytes = cString(text);
  const string = new DataView(new ArrayBuffer(std_string.size));
  return pinned(bytes, "opencv", (pointer) => {
    const length = BigInt(bytes.length - 1);
    writeStdString(string, 0, { pointer, length, capacity: length });
    return pinned(string, "opencv", use);
  });
}

export function withInts<R>(numbers: Int32Array<ArrayBuffer>, use: (vector: Address) => R): R {
  const vector = new DataView(new ArrayBuffer(std_vector.size));
  return pinned(numbers, "opencv", (begin) => {
    const end = begin + BigInt(numbers.byteLength) as Address;
    writeStdVector(vector, 0, { begin, end, capacity: end });
    return pinned(vector, "opencv", use);
  });
}

/** A copy of the bytes that `fill` puts into a `std::vector<uchar>&`, whose own memory is freed. */
export function bytesFrom(fill: (vector: Address) => void): Uint8Array<ArrayBuffer> {
  const vector = new DataView(new ArrayBuffer(std_vector.size)); // three null pointers, like an empty vector
  try {
    pinned(vector, "opencv", fill);
    const { begin, end } = readStdVector(vector, 0);
    if (begin === end) return new Uint8Array(0);
    return new Uint8Array(viewAt(begin, Number(end - begin)).buffer as ArrayBuffer).slice();
  } finally {
    const { begin } = readStdVector(vector, 0);
    if (begin !== NULL) libc().free(begin); // as operator delete does in GNU's C++ library
  }
}

/** Checks a program's address of an OpenCV object. @throws {ArgumentError} for null, and anything but an address. */
export function addressIn(given: bigint | Deno.PointerValue, argument: string = "handle"): Address {
  if (typeof given === "bigint" && given > 0n && given < 2n ** 64n) return given as Address;
  const pointed = addressInPointer(given, "opencv");
  if (pointed !== undefined && pointed !== NULL) return pointed;
  const got = given === null || given === 0n ? "null" : typeof given === "bigint" ? shown(given) : aKind(given);
  throw wrong(
    argument,
    `expected an address, got ${got}.`,
    "Pass it as a bigint or a Deno pointer.",
  );
}
