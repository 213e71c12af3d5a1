// Buffers of devices, by the handles of their APIs. The program itself is their consumer.

import { assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, host, type Tensor } from "@samepage/interop";
import { fromDLPack, toDLPack } from "@samepage/interop/dlpack";
import { OpenCLContext } from "@samepage/interop/opencl";
import { VulkanContext } from "@samepage/interop/vulkan";
import { missing } from "../vulkan/help.ts";

/** A device's context, as far as these tests go. */
interface Opened extends Disposable {
  allocate(init: { shape: number[]; dtype: "f32"; byteOffset?: number }): Tensor;
  readonly queue: {
    fill(tensor: never, value: number): void;
    read(tensor: never, into: Float32Array): Promise<unknown>;
  };
}

const OPEN: { readonly [api: string]: () => Opened } = {
  OpenCL: () => OpenCLContext.open() as unknown as Opened,
  Vulkan: () => VulkanContext.open() as unknown as Opened,
};

for (const [api, open] of Object.entries(OPEN)) {
  const reason = api === "Vulkan" ? missing() : undefined;
  const name = `toDLPack() and fromDLPack() share a part of a buffer of ${api}'s`;
  const fn = async () => {
    using context = open();
    using tensor = context.allocate({ shape: [1024], dtype: "f32" });
    context.queue.fill(tensor as never, 1);
    using part = tensor.slice({ shape: [2, 3], dtype: "f32", byteOffset: 1024 }, { access: "read" });
    const loan = toDLPack(part, { access: "read" });
    using same = fromDLPack(loan.handOver(), { contexts: [host, context as never] });
    assertEquals([same.target, same.shape, same.access], [tensor.target, [2, 3], "read"]);
    assertEquals(same.grant.allocation, tensor.grant.allocation);
    assertEquals(same.grant.start, 1024);
    const words = new Float32Array(6);
    await context.queue.read(same as never, words);
    assertEquals([...words], [1, 1, 1, 1, 1, 1]);
  };
  Deno.test({ name: reason === undefined ? name : `${name} (not here: ${reason})`, ignore: reason !== undefined, fn });
}

Deno.test("toDLPack() refuses memory that DLPack has no name for", () => {
  using cl = OpenCLContext.open();
  using image = cl.image({ order: "RGBA", type: "UNORM_INT8" }).allocate({ shape: [4, 4, 4] } as never);
  const { argument, hint } = assertThrows(() => toDLPack(image as unknown as Tensor), ArgumentError, "has no device");
  assertEquals([argument, hint], ["tensor", "Map it to the host: graph.map(tensor, host)."]);
});
