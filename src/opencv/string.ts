import type { Address } from "../../ffi/address.ts";
import { std_string, writeStdString } from "../../ffi/opencv_core/structs.ts";
import { pinned } from "../core/native/pin.ts";

/** Calls `use` with a `const std::string&` of a text. */
export function withString<R>(text: string, use: (string: Address) => R): R {
  const bytes = new TextEncoder().encode(`${text}\0`);
  const string = new DataView(new ArrayBuffer(std_string.size));
  return pinned(bytes, "opencv", (pointer) => {
    const length = BigInt(bytes.length - 1);
    writeStdString(string, 0, { pointer, length, capacity: length });
    return pinned(string, "opencv", use);
  });
}
