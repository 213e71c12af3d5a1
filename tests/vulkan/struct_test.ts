import { assert, assertEquals } from "@std/assert";
import {
  VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_WIN32_BIT,
  VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT,
  VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE_BIT,
} from "../../ffi/vulkan/constants.ts";
import * as layouts from "../../ffi/vulkan/structs.ts";
import type { StructLayout } from "../../ffi/layout.ts";
import { chain, pointers, struct, structs, structType } from "../../src/vulkan/struct.ts";

const ALL = Object.entries(layouts as Readonly<Record<string, unknown>>)
  .filter((entry): entry is [string, StructLayout] => typeof entry[1] === "object");

Deno.test("vulkan: every struct that a chain links has its sType", () => {
  const linked = ALL.filter(([, { fields }]) => fields.sType !== undefined).map(([name]) => name);
  assert(linked.length > 50);
  assertEquals(linked.filter((name) => !Number.isInteger(structType(name))), []);
  const types = linked.map(structType);
  assertEquals(types.length, new Set(types).size, "two structs have one sType");
  assertEquals(structType("VkPhysicalDeviceVulkan12Features"), 51);
  assertEquals(structType("VkPhysicalDeviceIDProperties"), 1000071004);
});

Deno.test("vulkan: a struct's words lie where C has them, and point to what it was given", () => {
  const words = new Uint32Array([7, 8]);
  const inner = struct("VkExportMemoryAllocateInfo", { handleTypes: 0x201 });
  const outer = chain(struct("VkMemoryAllocateInfo", { allocationSize: 4096, memoryTypeIndex: 3 }), inner);
  assertEquals(new Uint32Array(outer.buffer), new Uint32Array([5, 0, ...halves(inner.address), 4096, 0, 3, 0]));
  const list = structs("VkBufferCopy", [{ srcOffset: 1, dstOffset: 2, size: 3 }, { size: 2n ** 40n }]);
  assertEquals(new BigUint64Array(list.buffer), new BigUint64Array([1n, 2n, 3n, 0n, 0n, 2n ** 40n]));
  const info = struct("VkShaderModuleCreateInfo", { codeSize: 8, pCode: words });
  const at = info.word(layouts.VkShaderModuleCreateInfo.fields.pCode);
  assertEquals(new Deno.UnsafePointerView(Deno.UnsafePointer.create(at)!).getUint32(4), 8);
  assertEquals(pointers([outer, inner]).getBigUint64(8, true), inner.address);
});

Deno.test("vulkan: handles of Windows fill their structs too, which only a driver there takes", () => {
  const handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT;
  const taken = struct("VkImportMemoryWin32HandleInfoKHR", { handleType, handle: 0x1_2345n });
  assertEquals(new Uint32Array(taken.buffer), new Uint32Array([1000073000, 0, 0, 0, 2, 0, 0x1_2345, 0, 0, 0]));
  const info = chain(struct("VkMemoryAllocateInfo", { allocationSize: 64 }), taken);
  assertEquals(info.getBigUint64(8, true), taken.address);
  const types = [
    [VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE_BIT, "VkImportSemaphoreWin32HandleInfoKHR", 1000078000],
    [VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_WIN32_BIT, "VkImportFenceWin32HandleInfoKHR", 1000114000],
  ] as const;
  for (const [handleType, name, sType] of types) {
    const { fields } = layouts[name];
    const filled = struct(name, { handleType, handle: 9n });
    assertEquals([filled.number(fields.sType), filled.number(fields.handleType)], [sType, handleType]);
    assertEquals(filled.word(fields.handle), 9n);
  }
});

function halves(word: bigint): number[] {
  return [Number(word & 0xffff_ffffn), Number(word >> 32n)];
}
