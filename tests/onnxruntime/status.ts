import { ORT_API_VERSION } from "../../ffi/onnxruntime/constants.ts";
import { ORT_FAIL } from "../../ffi/onnxruntime/errors.ts";
import { LIBRARY } from "./open.ts";

let create: ((message: Uint8Array<ArrayBuffer>) => bigint) | undefined;

/** A new `OrtStatus`. The code that reads it releases it. */
export function newStatus(): bigint {
  create ??= creator();
  return create(new TextEncoder().encode("a fault of the tests\0"));
}

/** `OrtStatus *CreateStatus(OrtErrorCode code, const char *msg)`, the first function of OrtApi. */
function creator(): (message: Uint8Array<ArrayBuffer>) => bigint {
  const { OrtGetApiBase } = Deno.dlopen(LIBRARY!, { OrtGetApiBase: { parameters: [], result: "pointer" } }).symbols;
  const getApi = { parameters: ["u32"], result: "pointer" } as const;
  const createStatus = { parameters: ["u32", "buffer"], result: "u64" } as const;
  const api = new Deno.UnsafeFnPointer(firstOf(OrtGetApiBase()), getApi).call(ORT_API_VERSION);
  const fn = new Deno.UnsafeFnPointer(firstOf(api), createStatus);
  return (message) => fn.call(ORT_FAIL, message);
}

function firstOf<T>(table: Deno.PointerValue): Deno.PointerObject<T> {
  const [address] = new BigUint64Array(Deno.UnsafePointerView.getArrayBuffer(table!, 8));
  return Deno.UnsafePointer.create<T>(address)!;
}
