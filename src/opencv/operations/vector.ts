import { type Address, NULL } from "../../../ffi/address.ts";
import { readStdVector, std_vector, writeStdVector } from "../../../ffi/opencv_core/structs.ts";
import { libc } from "../../core/native/libc.ts";
import { pinned } from "../../core/native/pin.ts";
import { viewAt } from "../memory.ts";

/** Calls `use` with a `const std::vector<int>&` of numbers. */
export function withInts<R>(numbers: Int32Array<ArrayBuffer>, use: (vector: Address) => R): R {
  const vector = new DataView(new ArrayBuffer(std_vector.size));
  return pinned(numbers, "opencv", (begin) => {
    const end = begin + BigInt(numbers.byteLength) as Address;
    writeStdVector(vector, 0, { begin, end, capacity: end });
    return pinned(vector, "opencv", use);
  });
}

/** The bytes that `fill` puts into a `std::vector<uchar>&`, copied: their memory is C++'s, and is given back. */
export function bytesFrom(fill: (vector: Address) => void): Uint8Array<ArrayBuffer> {
  const vector = new DataView(new ArrayBuffer(std_vector.size)); // three null pointers: what its constructor makes
  try {
    pinned(vector, "opencv", fill);
    const { begin, end } = readStdVector(vector, 0);
    if (begin === end) return new Uint8Array(0);
    return new Uint8Array(viewAt(begin, Number(end - begin)).buffer as ArrayBuffer).slice();
  } finally {
    const { begin } = readStdVector(vector, 0);
    if (begin !== NULL) libc().free(begin); // what operator delete does, in GNU's C++ library
  }
}
