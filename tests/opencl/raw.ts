/**
 * OpenCL without samepage, as a user's own code would call it: what somebody else has made, to attach to.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { OpenCLContext } from "@samepage/interop/opencl";
import { CL_MEM_READ_WRITE } from "../../ffi/opencl/constants.ts";
import { SYMBOLS } from "../../ffi/opencl/symbols.ts";

let library: Deno.DynamicLibrary<typeof SYMBOLS>["symbols"] | undefined;
const code = new Int32Array(1);

/** The loader's functions; opened on the first call. */
export function raw(): Deno.DynamicLibrary<typeof SYMBOLS>["symbols"] {
  return library ??= Deno.dlopen("libOpenCL.so.1", SYMBOLS).symbols;
}

/** What a clCreate… made; the test fails where it made nothing. */
export function made(create: (code: Int32Array<ArrayBuffer>) => bigint): bigint {
  const handle = create(code);
  assertEquals(code[0], 0);
  return handle;
}

/** A `cl_uint` of a clGet…Info, by its query. */
export function told(
  fn: "clGetContextInfo" | "clGetMemObjectInfo" | "clGetProgramInfo",
  handle: bigint,
  name: number,
): number {
  const value = new Uint32Array(1);
  assertEquals(raw()[fn](handle, name, 4n, value, null), 0);
  return value[0];
}

/** Text as C has it. */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}

/** The address of a view's first byte. */
export function addressOf(bytes: Uint8Array<ArrayBuffer>): bigint {
  return BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes)));
}

/** A program of OpenCL C, not built. */
export function programOf(context: bigint, source: string): bigint {
  const text = cString(source);
  const strings = BigUint64Array.of(addressOf(text));
  const lengths = BigUint64Array.of(BigInt(text.length - 1));
  return made((code) => raw().clCreateProgramWithSource(context, 1, strings, lengths, code));
}

/** Builds it for one device. */
export function built(program: bigint, device: bigint, options = ""): bigint {
  assertEquals(raw().clBuildProgram(program, 1, BigUint64Array.of(device), cString(options), 0n, null), 0);
  return program;
}

/** A buffer of 4096 bytes, as somebody else would make it. */
export function bufferOf(cl: OpenCLContext, flags: bigint = CL_MEM_READ_WRITE, hostPtr = 0n): bigint {
  return made((code) => raw().clCreateBuffer(cl.handle, flags, 4096n, hostPtr, code));
}

/** Releases buffers. */
export function release(...mems: bigint[]): void {
  for (const mem of mems) assertEquals(raw().clReleaseMemObject(mem), 0);
}
