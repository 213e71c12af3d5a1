// Structs about a GPU's memory that no producer should make: the driver knows what is there.

import { assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, host, InteropError } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { fromDLPack } from "@samepage/interop/dlpack";
import * as dl from "../../ffi/dlpack/constants.ts";
import type { Address } from "../../ffi/address.ts";
import { gpuTest, withCuda } from "../cuda/help.ts";
import { DATA, type Given, structOf } from "./struct.ts";

const address = (at: bigint) => at as Address;

/** What is wrong, given where a block of 1,024 floats of the GPU's lies, and what the message says. */
const BROKEN: readonly (readonly [what: string, given: (at: bigint) => Given, message: RegExp])[] = [
  ["memory of the host", () => ({ data: DATA }), /CUDA does not know/],
  ["memory of the host that is said to be page-locked", () => ({
    ...{ data: DATA, device_type: dl.kDLCUDAHost },
  }), /CUDA does not know/],
  ["memory of the host that is said to be managed", () => ({
    ...{ data: DATA, device_type: dl.kDLCUDAManaged },
  }), /CUDA does not know/],
  ["an address where nothing is", () => ({ data: address(0x1000n) }), /CUDA does not know/],
  ["an offset into nothing", (at) => ({ data: address(at), byte_offset: 1n << 40n }), /CUDA does not know|bytes/],
  [
    "more elements than there are",
    (at) => ({ data: address(at), shape: [1 << 30], strides: [1] }),
    /the memory has 4096/,
  ],
  ["rows far apart", (at) => ({ data: address(at), strides: [1 << 30, 1] }), /the memory has 4096/],
  ["floats at an odd address", (at) => ({ data: address(at), byte_offset: 2n }), /not a multiple of 4/],
  ["another device", (at) => ({ data: address(at), device_id: 1 }), /number 1, and none of them is for that/],
  ["a device that is not there", (at) => ({ data: address(at), device_id: -1 }), /number -1, and none/],
  ["memory of ROCm", (at) => ({ data: address(at), device_type: dl.kDLROCM }), /device type 10/],
  ["memory of the CPU", (at) => ({ data: address(at), device_type: dl.kDLCPU }), /which the CPU cannot reach/],
];

for (const [what, given, message] of BROKEN) {
  gpuTest(`fromDLPack() refuses ${what}`, () =>
    withCuda((cuda) => {
      using block = cuda.allocate({ shape: [1024], dtype: "f32" });
      const struct = structOf({ device_type: dl.kDLCUDA, ...given(block.address) });
      const error = assertThrows(() => fromDLPack(struct, { contexts: [host, cuda] }), InteropError);
      assertEquals([message.test(error.message), error.message], [true, error.message]);
    }));
}

gpuTest("fromDLPack() refuses memory of one GPU that is said to be another's", () =>
  withCuda(async (cuda) => {
    await using second = CudaContext.open({ ordinal: 1 });
    using block = second.allocate({ shape: [1024], dtype: "f32" });
    const struct = structOf({ device_type: dl.kDLCUDA, device_id: 0, data: block.address as Address });
    assertThrows(() => fromDLPack(struct, { contexts: [cuda, second] }), ArgumentError, "memory of device 1");
    const honest = structOf({ device_type: dl.kDLCUDA, device_id: 1, data: block.address as Address });
    using same = fromDLPack(honest, { contexts: [cuda, second] });
    assertEquals(same.target, second);
  }), 2);
