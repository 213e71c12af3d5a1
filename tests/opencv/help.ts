/**
 * What the tests of OpenCV share.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { ledger } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";
import type { Address } from "../../ffi/address.ts";
import { CL_MEM_REFERENCE_COUNT } from "../../ffi/opencl/constants.ts";
import type { ClMem } from "../../ffi/opencl/handles.ts";
import { readUMatData, type UMatData, UMatData as DATA } from "../../ffi/opencv_core/structs.ts";
import { isMachine } from "../../src/guard/machine.ts";
import { opencl } from "../../src/opencl/library.ts";
import { viewAt } from "../../src/opencv/memory.ts";
import { hasDevice } from "../opencl/present.ts";

/** True where there is an OpenCV that samepage knows. */
export const present: boolean = isPresent();

/** True where there is PoCL as well. */
export const withOpenCL: boolean = present && hasDevice("Portable Computing Language");

function isPresent(): boolean {
  try {
    OpenCVContext.open()[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
}

/** A test that needs OpenCV, and leaves the ledger as it was. */
export function testMat(name: string, run: () => void | Promise<void>): void {
  testWhere(present, "OpenCV: apt install libopencv-core406", name, run);
}

/** A test of an exception of OpenCV's, which ends the process where no machine code catches it. */
export function testThrowing(name: string, run: () => void | Promise<void>): void {
  testWhere(present && isMachine(), "OpenCV, and x86-64 to catch its exceptions", name, run);
}

/** A test that needs PoCL as well. */
export function testUMat(name: string, run: () => void | Promise<void>): void {
  testWhere(withOpenCL, "OpenCV and PoCL", name, run);
}

function testWhere(here: boolean, what: string, name: string, run: () => void | Promise<void>): void {
  Deno.test({
    name: here ? name : `${name} (not here: ${what})`,
    ignore: !here,
    fn: async () => {
      const before = ledger.alive;
      await run();
      assertEquals(ledger.alive, before, "alive after the test, and before it");
    },
  });
}

/** The UMatData at an address. */
export function dataAt(u: bigint): UMatData {
  return readUMatData(viewAt(u as Address, DATA.size), 0);
}

/** Bytes that say where they are. */
export function pattern(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let i = 0; i < length; i++) bytes[i] = (state = (state * 1103515245 + 12345) & 0x7fffffff) >> 16;
  return bytes;
}

/** Opens PoCL's device. */
export function openPoCL(): OpenCLContext {
  return OpenCLContext.open({ platform: "portable computing" });
}

/** How many owners a `cl_mem` has. */
export function bufferOwners(mem: bigint): number {
  const count = new Uint32Array(1);
  opencl().clGetMemObjectInfo(mem as ClMem, CL_MEM_REFERENCE_COUNT, 4n, count, null);
  return count[0];
}
