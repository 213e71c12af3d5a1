/** Handles of other APIs' memory and semaphores, as bytes: those of Windows too, which only a driver there takes. */
import { assertEquals } from "@std/assert";
import * as cl from "../../../ffi/opencl/constants.ts";
import type { ClDeviceId } from "../../../ffi/opencl/handles.ts";
import type { OpenCLDevice } from "@samepage/interop/opencl";
import {
  lackingForMemory,
  MEMORY_HANDLES,
  memoryProperties,
  semaphoreProperties,
} from "../../../src/opencl/external/handles.ts";

const DEVICE = {
  handle: 0x5000n as ClDeviceId,
  extensions: ["cl_khr_external_memory_opaque_fd", "cl_khr_external_memory_dma_buf"],
};
const HANDLE = 0x1234_5678_9abcn;

Deno.test("opencl: memory by a handle is for one device, and its list ends twice", () => {
  const types = [
    [cl.CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR, 0x2060n],
    [cl.CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_WIN32_KHR, 0x2061n],
    [cl.CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_WIN32_KMT_KHR, 0x2062n],
    [cl.CL_EXTERNAL_MEMORY_HANDLE_D3D11_TEXTURE_KHR, 0x2063n],
    [cl.CL_EXTERNAL_MEMORY_HANDLE_D3D12_HEAP_KHR, 0x2065n],
    [cl.CL_EXTERNAL_MEMORY_HANDLE_D3D12_RESOURCE_KHR, 0x2066n],
    [cl.CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR, 0x2067n],
  ] as const;
  for (const [type, word] of types) {
    assertEquals([...memoryProperties(type, HANDLE, DEVICE)], [word, HANDLE, 0x2051n, 0x5000n, 0n, 0n]);
  }
  assertEquals(memoryProperties(0x2060, 7, DEVICE)[1], 7n);
  // Intel's driver takes a dma-buf, and no list.
  const intel = { ...DEVICE, extensions: ["cl_khr_external_memory"] };
  assertEquals([...memoryProperties(cl.CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR, 7, intel)], [0x2067n, 7n, 0n]);
});

Deno.test("opencl: a semaphore by a handle is binary", () => {
  const types = [
    [cl.CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR, 0x2055n],
    [cl.CL_SEMAPHORE_HANDLE_OPAQUE_WIN32_KHR, 0x2056n],
    [cl.CL_SEMAPHORE_HANDLE_OPAQUE_WIN32_KMT_KHR, 0x2057n],
    [cl.CL_SEMAPHORE_HANDLE_SYNC_FD_KHR, 0x2058n],
    [cl.CL_SEMAPHORE_HANDLE_D3D12_FENCE_KHR, 0x2059n],
  ] as const;
  for (const [type, word] of types) {
    assertEquals([...semaphoreProperties([type, HANDLE])], [0x203dn, 1n, word, HANDLE, 0n]);
  }
});

Deno.test("opencl: memory by a handle needs its extension, or a driver that names the handle", () => {
  const context = (extensions: string[], memoryImports: string[]) => {
    const device = { extensions, sharing: { memoryImports }, platform: "Its platform" } as never as OpenCLDevice;
    return { devices: [device], name: "its GPU" };
  };
  const dmaBuf = MEMORY_HANDLES.find(({ kind }) => kind === "dma-buf")!;
  const [memory, own] = ["cl_khr_external_memory", "cl_khr_external_memory_dma_buf"];
  assertEquals(lackingForMemory(context([memory, own], []), dmaBuf), undefined);
  assertEquals(lackingForMemory(context([memory], ["dma_buf"]), dmaBuf), undefined);
  assertEquals(lackingForMemory(context([memory], ["opaque_fd"]), dmaBuf), `Its platform has no ${own} on its GPU.`);
  assertEquals(lackingForMemory(context([own], ["dma_buf"]), dmaBuf), `Its platform has no ${memory} on its GPU.`);
});
