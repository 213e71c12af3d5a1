import { assert, assertEquals } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  type DType,
  Frame,
  host,
  type HostTensor,
  imageInfo,
  isContiguous,
  layout,
  LayoutError,
  NoRouteError,
  region,
} from "@samepage/interop";
import type { KernelArgument, OpenCLTensor } from "@samepage/interop/opencl";
import { layerEnv } from "../layer/mod.ts";
import { assertBytes, bench, filled, random, randomTensor, testEach, thrown } from "./help.ts";
import { testLayered } from "./layered.ts";
import { linesOf } from "./subprocess.ts";

/** A tensor and where it begins, for kernels that take both. */
function baseOf(tensor: OpenCLTensor): KernelArgument[] {
  return [tensor.base, BigInt(tensor.layout.byteOffset)];
}

testEach("the driver's own memory: written, mapped, read", (platform) => {
  using b = bench(platform);
  using own = b.cl.allocate({ shape: [1000], dtype: "u8" });
  const bytes = random(1000);
  {
    using mapped = b.graph.map(own, host, { access: "write" });
    mapped.bytes().set(bytes);
  }
  b.kernels.add.run({ items: [1000] }, [own, 3]);
  {
    using mapped = b.graph.map(own, host, { access: "read" });
    assertBytes(mapped.bytes(), bytes.map((byte) => byte + 3));
    assertEquals(mapped.access, "read");
  }
});

testEach("allocate refuses wrong layouts", (platform) => {
  using b = bench(platform);
  for (const shape of [[-1], [0], [1.5], [NaN], [2 ** 53], [2 ** 30, 2 ** 30]]) {
    thrown(LayoutError, () => b.cl.allocate({ shape, dtype: "u8" }));
  }
  thrown(LayoutError, () => b.cl.allocate({ shape: [4], dtype: "u128" as DType }));
});

testEach("slices: a sub-buffer where one may begin, an offset elsewhere", (platform) => {
  using b = bench(platform);
  const align = b.cl.device.subBufferAlign;
  using own = b.cl.allocate({ shape: [4 * align], dtype: "u8" });
  b.cl.queue.write(own, new Uint8Array(4 * align));
  {
    using aligned = own.slice(region(own.layout, [align], [align]));
    assertEquals([aligned.layout.byteOffset, aligned.origin], [0, align]);
    assert(aligned.handle !== own.rawHandle);
    b.kernels.add.run({ items: [align] }, [aligned, 1]);
    using inner = aligned.slice(region(aligned.layout, [1], [2]));
    assertEquals([inner.layout.byteOffset, inner.handle], [align + 1, own.rawHandle]);
    using deeper = inner.slice(region(inner.layout, [1], [1]));
    assertEquals(deeper.rootOffset, align + 2);
    using seen = b.graph.map(deeper, host);
    seen.view()[0] = 200;
    thrown(AccessError, () => own.handle);
  }
  using twoAligned = own.slice(region(own.layout, [2 * align], [align]));
  using nested = twoAligned.slice(region(twoAligned.layout, [0], [8]));
  b.kernels.add.run({ items: [8] }, [nested, 9]);
  nested[Symbol.dispose]();
  twoAligned[Symbol.dispose]();
  const got = new Uint8Array(4 * align);
  b.cl.queue.read(own, got);
  const expected = Uint8Array.from(got, (_, i) => i < align ? 0 : i < 2 * align ? 1 : i < 2 * align + 8 ? 9 : 0);
  expected[align + 2] = 200;
  assertBytes(got, expected);
});

testEach("slices outside of the tensor are refused", (platform) => {
  using b = bench(platform);
  using own = b.cl.allocate({ shape: [64], dtype: "u8" });
  for (const at of [{ byteOffset: 60 }, { byteOffset: -1 }, { byteLength: 65 }]) {
    thrown(LayoutError, () => own.slice({ ...own.layout, ...at }));
  }
});

testEach("a strided map keeps its padding, shape and strides", (platform) => {
  using b = bench(platform);
  using source = host.allocate({ shape: [3, 5], dtype: "u8", rowAlign: 64 });
  const bytes = random(source.layout.byteLength);
  source.view().set(bytes);
  {
    using mapped = b.graph.map(source, b.cl);
    assertEquals(mapped.layout, source.layout);
    assert(!isContiguous(mapped.layout));
    b.kernels.add.run({ items: [5] }, [mapped, 1]);
    using back = b.graph.map(mapped, host, { access: "read" });
    assertEquals(back.layout.strides, source.layout.strides);
  }
  assertBytes(source.view(), bytes.map((byte, i) => i < 5 ? byte + 1 : byte));
});

testEach("an NV12 frame of 1080 rows: both planes on the device and back", (platform) => {
  using b = bench(platform);
  using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 1920, height: 1080 }));
  const [y, uv] = frame.planes;
  const before = [random(y.layout.byteLength), random(uv.layout.byteLength)];
  frame.planes.forEach((plane, i) => plane.bytes().set(before[i]));
  {
    using mapped = b.graph.map(frame, b.cl);
    assertEquals(mapped.info, frame.info);
    assertEquals(mapped.planes.map((plane) => plane.layout.shape), frame.planes.map((plane) => plane.layout.shape));
    thrown(AccessError, () => y.view());
    thrown(AccessError, () => uv.handle);
    b.kernels.add.run({ items: [y.layout.byteLength] }, [mapped.planes[0], 1]);
    b.kernels.add.run({ items: [uv.layout.byteLength] }, [mapped.planes[1], 2]);
    using back = b.graph.map(mapped, host, { access: "read" });
    assertBytes(back.planes[1].bytes(), before[1].map((byte) => byte + 2), "UV, mapped back");
  }
  assertBytes(y.bytes(), before[0].map((byte) => byte + 1), "Y");
  assertBytes(uv.bytes(), before[1].map((byte) => byte + 2), "UV");
});

testEach("a frame of planes in blocks of their own", (platform) => {
  using b = bench(platform);
  const info = imageInfo({ format: "NV12", width: 16, height: 8 });
  const y = host.allocate({ shape: [8, 16], dtype: "u8" });
  const uv = host.allocate({ shape: [4, 8, 2], dtype: "u8" });
  using frame = Frame.of<HostTensor>([y, uv], info);
  {
    using mapped = b.graph.map(frame, b.cl);
    b.kernels.fill.run({ items: [128] }, [mapped.planes[0], 1]);
    b.kernels.fill.run({ items: [64] }, [mapped.planes[1], 2]);
    using back = b.graph.map(mapped, host, { access: "read" });
    assertBytes(back.planes[1].bytes(), filled(64, 2));
  }
  assertBytes(y.view(), filled(128, 1), "Y");
  assertBytes(uv.view(), filled(64, 2), "UV");
});

testEach("a frame of slices of one block, and a frame that was borrowed", (platform) => {
  using b = bench(platform);
  const info = imageInfo({ format: "NV12", width: 16, height: 8 });
  using block = host.allocate({ shape: [4096], dtype: "u8" });
  {
    const y = block.slice(layout({ shape: [8, 16], dtype: "u8", byteOffset: 1000 }));
    const uv = block.slice(layout({ shape: [4, 8, 2], dtype: "u8", byteOffset: 3 }));
    using frame = Frame.of<HostTensor>([y, uv], info);
    using mapped = b.graph.map(frame, b.cl);
    using again = b.graph.map(mapped, b.cl);
    b.kernels.addAt.run({ items: [128] }, [...baseOf(again.planes[0]), 5]);
    b.kernels.addAt.run({ items: [64] }, [...baseOf(again.planes[1]), 6]);
  }
  const expected = Uint8Array.from({ length: 4096 }, (_, i) => i >= 1000 && i < 1128 ? 5 : i >= 3 && i < 67 ? 6 : 0);
  assertBytes(block.view(), expected);
});

testEach("memory at odd addresses", (platform) => {
  using b = bench(platform);
  for (const offset of [1, 2, 3, 5, 7, 63, 65, 127]) {
    const room = new Uint8Array(1000);
    using source = host.wrap(room.subarray(offset, offset + 333));
    const bytes = random(333);
    source.bytes().set(bytes);
    {
      using mapped = b.graph.map(source, b.cl);
      b.kernels.add.run({ items: [333] }, [mapped, 1]);
    }
    const whole = new Uint8Array(source.release());
    const expected = new Uint8Array(1000);
    expected.set(bytes.map((byte) => byte + 1), offset);
    assertBytes(whole, expected, `offset ${offset}`);
  }
});

testEach("queue.read and queue.write copy, and count what they copy", (platform) => {
  using b = bench(platform);
  const { cl } = b;
  using own = cl.allocate({ shape: [100], dtype: "u16" });
  const words = Uint16Array.from({ length: 100 }, (_, i) => i * 500);
  cl.queue.write(own, words);
  assertEquals(cl.bytesCopied, 200);
  const got = new Uint8Array(208);
  cl.queue.read(own, got.subarray(5, 205));
  assertEquals(cl.bytesCopied, 400);
  assertBytes(got.subarray(5, 205), new Uint8Array(words.buffer));
  assertBytes(got.subarray(0, 5), new Uint8Array(5));
  {
    using part = own.slice(region(own.layout, [3], [7]));
    cl.queue.write(part, new Uint16Array(7).fill(1));
    using queue = cl.createQueue();
    const words7 = new Uint16Array(7);
    queue.read(part, words7);
    assertEquals([...words7], Array(7).fill(1));
    thrown(AccessError, () => cl.queue.read(own, got.subarray(0, 200)));
  }
  cl.queue.read(own, words);
  assertEquals([...words.subarray(1, 12)], [500, 1000, 1, 1, 1, 1, 1, 1, 1, 5000, 5500]);
});

testEach("queue.read and queue.write refuse what does not fit", (platform) => {
  using b = bench(platform);
  const { cl } = b;
  using own = cl.allocate({ shape: [64], dtype: "u8" });
  const copied = cl.bytesCopied;
  for (const bytes of [new Uint8Array(63), new Uint8Array(65), new Uint8Array(0)]) {
    thrown(LayoutError, () => cl.queue.write(own, bytes));
    thrown(LayoutError, () => cl.queue.read(own, bytes));
  }
  const shared = new Uint8Array(new SharedArrayBuffer(64)).fill(7);
  cl.queue.write(own, shared);
  const view = new DataView(new ArrayBuffer(64));
  cl.queue.read(own, view);
  assertEquals(view.getUint8(63), 7);
  assertEquals(cl.bytesCopied, copied + 128);
  const { tensor } = randomTensor(64);
  using source = tensor;
  using readOnly = b.graph.map(source, cl, { access: "read" });
  thrown(AccessError, () => cl.queue.write(readOnly, new Uint8Array(64)));
  const gone = cl.createQueue();
  gone[Symbol.dispose]();
  thrown(Error, () => gone.read(own, new Uint8Array(64)));
});

testEach("a map that overlaps another in part is refused, with the reason", (platform) => {
  using b = bench(platform);
  const { tensor } = randomTensor(4096);
  using source = tensor;
  using first = source.slice(region(source.layout, [0], [100]), { access: "read" });
  using second = source.slice(region(source.layout, [50], [100]), { access: "read" });
  using mapped = b.graph.map(first, b.cl);
  const error = thrown(NoRouteError, () => b.graph.map(second, b.cl));
  assert(error.message.includes("in part"), error.message);
  const explained = b.graph.explain(second, b.cl);
  assertEquals(explained.open, false);
  mapped[Symbol.dispose]();
  using _ = b.graph.map(second, b.cl);
});

testEach("maps of neighbours do not write into each other", (platform) => {
  using b = bench(platform);
  using source = host.allocate({ shape: [256], dtype: "u8" });
  {
    const parts = Array.from({ length: 16 }, (_, i) => source.slice(region(source.layout, [16 * i + 3], [13])));
    const maps = parts.map((part) => b.graph.map(part, b.cl));
    maps.forEach((mapped, i) => b.kernels.add.run({ items: [13] }, [mapped, i + 1]));
    for (const one of [...maps, ...parts].reverse()) one[Symbol.dispose]();
  }
  const expected = Uint8Array.from({ length: 256 }, (_, i) => i % 16 < 3 ? 0 : Math.floor(i / 16) + 1);
  assertBytes(source.view(), expected);
});

testEach("maps for reading that begin at the same byte end in any order", (platform) => {
  using b = bench(platform);
  const { tensor, bytes } = randomTensor(8192);
  using source = tensor;
  for (const lengths of [[8192, 8192, 8192], [8192, 40], [40, 8192], [11, 40]]) {
    for (const newestFirst of [false, true]) {
      using onDevice = b.graph.map(source, b.cl, { access: "read" });
      const parts = lengths.map((length) => onDevice.slice(region(onDevice.layout, [0], [length])));
      const maps = parts.map((part) => b.graph.map(part, host, { access: "read" }));
      for (const map of newestFirst ? maps.toReversed() : maps) {
        assertBytes(map.bytes(), bytes.subarray(0, map.layout.byteLength));
        map[Symbol.dispose]();
      }
    }
  }
  using onDevice = b.graph.map(source, b.cl);
  b.kernels.add.run({ items: [8192] }, [onDevice, 1]);
  using seen = b.graph.map(onDevice, host, { access: "read" });
  assertBytes(seen.bytes(), bytes.map((byte) => byte + 1));
});

testEach("a graph knows only its own contexts", (platform) => {
  using b = bench(platform);
  using other = bench(platform);
  const { tensor } = randomTensor(64);
  using source = tensor;
  const error = thrown(ArgumentError, () => b.graph.map(source, other.cl));
  assertEquals(error.argument, "target");
});

testLayered("a device with copies of its own does not share a buffer that the host is writing", async () => {
  const lines = await linesOf(
    `
    const { cl, graph } = help.bench("pocl");
    const source = host.allocate({ shape: [64], dtype: "u8" });
    const onDevice = graph.map(source, cl);
    const back = graph.map(onDevice, host);
    back.bytes().fill(9);
    try {
      graph.map(back, cl, { access: "read" });
    } catch (error) {
      console.log(error.name, error.refused[0].reason.includes("copy of its own"));
    }
    back[Symbol.dispose]();
    const got = new Uint8Array(64);
    cl.queue.read(onDevice, got);
    console.log(got.every((byte) => byte === 9));
    source[Symbol.dispose]();
    cl[Symbol.dispose]();
    console.log(JSON.stringify(ledger.alive));
  `,
    { env: layerEnv("map") },
  );
  assertEquals(lines, ["NoRouteError true", "true", "{}"]);
});

testEach("two columns mapped for writing: the others are what the device wrote last", (platform) => {
  using b = bench(platform);
  const init = { shape: [4, 8], dtype: "u8" } as const;
  using buffer = b.cl.allocate(init);
  b.cl.queue.fill(buffer, 1);
  b.graph.map(buffer, host)[Symbol.dispose](); // a driver that keeps a copy for the host has one from now on
  b.cl.queue.fill(buffer, 2);
  {
    using columns = buffer.slice(region(buffer.layout, [0, 3], [4, 2]));
    using seen = b.graph.map(columns, host, { access: "write" });
    for (let row = 0; row < 4; row++) seen.bytes().set([9, 9], row * 8);
  }
  const bytes = new Uint8Array(32);
  b.cl.queue.read(buffer, bytes);
  assertEquals(bytes, Uint8Array.from(bytes, (_, i) => i % 8 === 3 || i % 8 === 4 ? 9 : 2));
});
