// What a device says of sharing, where it says more than those of this machine do: the table is asked by itself.

import { assertEquals } from "@std/assert";
import {
  CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR,
  CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR,
  CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR,
  CL_DEVICE_SEMAPHORE_TYPES_KHR,
} from "../../ffi/opencl/constants.ts";
import { CL_INVALID_VALUE } from "../../ffi/opencl/errors.ts";
import type { ClDeviceId } from "../../ffi/opencl/handles.ts";
import { type QueriedDevice, queryAll } from "../../src/opencl/devices/queries.ts";
import { SHARING } from "../../src/opencl/devices/sharing.ts";

/** A device that lists these extensions, reports these numbers, and refuses every other question. */
function device(extensions: readonly string[], told: ReadonlyMap<number, readonly number[]>): QueriedDevice {
  return {
    handle: 1n as ClDeviceId,
    extensions,
    query: (name, _size, value, written) => {
      const numbers = told.get(name);
      if (numbers === undefined) return CL_INVALID_VALUE;
      if (value === null) {
        new BigUint64Array((written as BigUint64Array<ArrayBuffer>).buffer)[0] = 4n * BigInt(numbers.length);
      } else new Uint32Array((value as Uint8Array<ArrayBuffer>).buffer).set(numbers);
      return 0;
    },
  };
}

Deno.test("sharing: handle types go by their names, unknown ones by their numbers", () => {
  const told = new Map([
    [CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR, [0x2060, 0x2067, 0x2f00]],
    [CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR, [0x2055, 0x2058]],
    [CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR, []],
    [CL_DEVICE_SEMAPHORE_TYPES_KHR, [1]],
  ]);
  const extensions = ["cl_khr_fp64", "cl_khr_semaphore", "cl_khr_external_semaphore", "cl_khr_external_memory"];
  assertEquals(queryAll(SHARING, device(extensions, told)), {
    extensions: ["cl_khr_external_memory", "cl_khr_external_semaphore", "cl_khr_semaphore"],
    memoryImports: ["opaque_fd", "dma_buf", "0x2f00"],
    semaphoreImports: ["opaque_fd", "sync_fd"],
    semaphoreExports: [],
    semaphores: ["binary"],
  });
});

Deno.test("sharing: what is not listed is not asked for, what is refused is not there", () => {
  const nothing = { memoryImports: [], semaphoreImports: [], semaphoreExports: [], semaphores: [] };
  const told = new Map([[CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR, [0x2060]]]);
  assertEquals(queryAll(SHARING, device(["cl_khr_egl_image"], told)), { extensions: ["cl_khr_egl_image"], ...nothing });
  assertEquals(queryAll(SHARING, device(["cl_khr_external_memory"], new Map())), {
    extensions: ["cl_khr_external_memory"],
    ...nothing,
  });
});
