// The verbs of all queues are the core's.

import { DeviceQueue } from "@samepage/interop/backend";
import { CudaStream } from "@samepage/interop/cuda";
import { EglQueue } from "../../src/egl/queue.ts";
import { OpenCLQueue } from "@samepage/interop/opencl";
import { VulkanQueue } from "@samepage/interop/vulkan";
import { assertEquals, assertStrictEquals } from "@std/assert";

const QUEUES = [OpenCLQueue, CudaStream, VulkanQueue, EglQueue];

Deno.test("fill(), copy(), read() and write() are the core's own on every queue", () => {
  for (const { prototype, name } of QUEUES) {
    for (const verb of ["fill", "copy", "read", "write"] as const) {
      assertStrictEquals(prototype[verb] as unknown, DeviceQueue.prototype[verb], `${name}.${verb}`);
    }
  }
});

Deno.test("a queue has no second name for a verb", () => {
  const others = QUEUES.flatMap(({ prototype, name }) =>
    Object.getOwnPropertyNames(prototype)
      .filter((member) => /^(fill|clear|copy|read|write)/.test(member))
      .map((member) => `${name}.${member}`)
  );
  assertEquals(others, []);
});
