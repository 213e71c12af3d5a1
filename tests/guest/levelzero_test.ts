// Level Zero's driver of the tests, where its dma-bufs are the kernel's: the chain from host memory to the device and back.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { host, LayoutError, MapperGraph } from "../../mod.ts";
import { dmabuf } from "../../src/dmabuf/mod.ts";
import { LevelZeroContext } from "../../src/levelzero/mod.ts";
import { openFds } from "../gc.ts";
import { behave, buildDriver, counts, DEVICE, setDrivers } from "../levelzero/drivers.ts";
import { spirvOf } from "../levelzero/spirv.ts";
import { guestTest } from "./needs.ts";

const missing = await buildDriver();
if (missing === undefined) setDrivers();

function test(name: string, run: () => void | Promise<void>): void {
  guestTest(`levelzero: ${name}`, async () => {
    assertEquals(missing, undefined);
    behave();
    const before = counts();
    const fds = openFds();
    await run();
    assertEquals(counts(), before);
    assert(openFds() <= fds, `${openFds() - fds} more fds`);
  });
}

test("host memory → udmabuf → Level Zero → host: one block, and no byte is copied", async () => {
  using context = LevelZeroContext.open({ device: DEVICE });
  using graph = new MapperGraph([host, dmabuf, context]);
  using program = context.program(spirvOf());
  using add = program.kernel("add");
  using numbers = host.allocate({ shape: [1024], dtype: "u32", sharable: true });
  numbers.view().fill(41);
  const transfers = graph.explain(numbers, context.usm).steps.map(({ transfer }) => transfer);
  assertEquals(transfers, ["alias", "alias"]); // by way of a dma-buf
  {
    using buffer = graph.map(numbers, dmabuf);
    using part = buffer.slice({ shape: [512], dtype: "u32", byteOffset: 2048 });
    using onDevice = graph.map(part, context.usm);
    assertEquals(onDevice.route.steps.map(({ transfer }) => transfer), ["alias"]);
    add.run({ groups: [8], groupSize: [64] }, [onDevice, 1]);
    await onDevice.finished();
  }
  assertEquals(numbers.view(), new Uint32Array(1024).map((_, i) => i < 512 ? 41 : 42));
  numbers.view().fill(6);
  {
    using onDevice = graph.map(numbers, context.usm);
    add.run({ groups: [16], groupSize: [64] }, [onDevice, 1]);
  }
  assertEquals(numbers.view(), new Uint32Array(1024).fill(7)); // the device saw what the host wrote, and the host the sum
  assertEquals(context.bytesCopied, 0);
});

test("device memory → dmabuf → host: the CPU sees what a kernel wrote, and the device what the CPU wrote", () => {
  using context = LevelZeroContext.open({ device: DEVICE });
  using graph = new MapperGraph([host, dmabuf, context]);
  using memory = context.usm.allocate({ kind: "device", shape: [4096], dtype: "u32" });
  context.queue.fill(memory, 7);
  {
    using part = memory.slice({ shape: [1024], dtype: "u32", byteOffset: 4096 });
    using buffer = graph.map(part, dmabuf);
    using onHost = graph.map(buffer, host);
    assertEquals(onHost.view(), new Uint32Array(1024).fill(7));
    (onHost.view() as Uint32Array).fill(9);
  }
  const seen = new Uint32Array(4096);
  context.queue.read(memory, seen);
  assertEquals(seen, new Uint32Array(4096).map((_, i) => i >= 1024 && i < 2048 ? 9 : 7));
  assertThrows(() => memory.slice({ shape: [4097], dtype: "u32" }), LayoutError);
});
