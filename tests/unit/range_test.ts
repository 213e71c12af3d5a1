// A launch says what its numbers count: work-items or groups.

import { ArgumentError } from "@samepage/interop";
import type { CudaKernel } from "@samepage/interop/cuda";
import type { OpenCLKernel } from "@samepage/interop/opencl";
import type { VulkanKernel } from "@samepage/interop/vulkan";
import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { rangeIn } from "../../src/core/device/grid.ts";

const launch = { api: "fake", fn: "fakeLaunch", kernel: "invert" };
const NAMES = { items: true, groupSize: true };

Deno.test("rangeIn() returns the range itself", () => {
  const range = { items: [64] };
  assertStrictEquals(rangeIn(range, "items", NAMES, launch), range);
});

Deno.test("rangeIn() refuses what does not say what it counts", () => {
  const said = (given: unknown) =>
    assertThrows(() => rangeIn(given as typeof NAMES, "items", NAMES, launch), ArgumentError).message;
  assertEquals(
    [[64], 64, null, { groups: [1] }].map(said),
    ["an Array", "a number", "null"].map((kind) =>
      `invert: range: expected an object such as { items: [64] }, got ${kind}. Use items, groupSize.`
    ).concat("invert: range: unknown property groups. Use items, groupSize."),
  );
});

Deno.test("run() takes the unit of its API by its type, and no other", () => {
  ((cl: OpenCLKernel, cuda: CudaKernel, vulkan: VulkanKernel) => {
    cl.run({ items: [64] }, []);
    cuda.run({ groups: [1], groupSize: [64] }, []);
    vulkan.run({ groups: [1] }, []);
    // @ts-expect-error -- an array does not say what it counts
    cl.run([64], []);
    // @ts-expect-error -- the same
    vulkan.run([1], []);
    // @ts-expect-error -- OpenCL counts work-items
    cl.run({ groups: [1] }, []);
    // @ts-expect-error -- Vulkan counts groups
    vulkan.run({ items: [64] }, []);
    // @ts-expect-error -- CUDA has no default size of groups
    cuda.run({ groups: [1] }, []);
  });
});
