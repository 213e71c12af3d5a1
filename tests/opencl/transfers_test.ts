import { assert, assertEquals } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  type DType,
  host,
  type Layout,
  LayoutError,
  type LayoutInit,
  region,
} from "@samepage/interop";
import { sizeOf } from "../../src/core/layout/dtype.ts";
import type { OpenCLContext, OpenCLTensor } from "@samepage/interop/opencl";
import { assertBytes, bench, gate, LONG, open, random, testEach, thrown } from "./help.ts";

/** A tensor of random bytes, padding included, and a copy of them. */
function randomly(cl: OpenCLContext, init: LayoutInit): { tensor: OpenCLTensor; bytes: Uint8Array<ArrayBuffer> } {
  const tensor = cl.allocate(init);
  const bytes = random(tensor.layout.byteLength);
  cl.queue.write(tensor, bytes);
  return { tensor, bytes };
}

function contents(cl: OpenCLContext, tensor: OpenCLTensor): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(tensor.layout.byteLength);
  cl.queue.read(tensor, bytes);
  return bytes;
}

/** Where each element begins, counted from the first, in the order of the shape. */
function elements({ shape, strides }: Pick<Layout, "shape" | "strides">): number[] {
  let offsets = [0];
  shape.forEach((count, i) => {
    offsets = offsets.flatMap((offset) => Array.from({ length: count }, (_, n) => offset + n * strides[i]));
  });
  return offsets;
}

/** What copying each element by itself makes of `to`. */
function copied(from: Layout, source: Uint8Array, to: Layout, target: Uint8Array, size: number): Uint8Array {
  const expected = target.slice();
  const [begin, end] = [elements(from), elements(to)];
  begin.forEach((at, i) => expected.set(source.subarray(at, at + size), end[i]));
  return expected;
}

/** Layouts of one shape, of which any pair makes a box. */
const BOXES: readonly (readonly LayoutInit[])[] = [
  [{ shape: [100], dtype: "u8" }, { shape: [100], dtype: "u8", strides: [3] }],
  [
    { shape: [7, 30], dtype: "i16" },
    { shape: [7, 30], dtype: "i16", rowAlign: 64 },
    { shape: [7, 30], dtype: "i16", strides: [200, 4] },
  ],
  [
    { shape: [4, 5, 6], dtype: "f32" },
    { shape: [4, 5, 6], dtype: "f32", strides: [1000, 100, 4] },
    { shape: [4, 5, 6], dtype: "f32", strides: [320, 32, 4] },
    { shape: [4, 5, 6], dtype: "f32", rowAlign: 960 },
  ],
  [{ shape: [3, 1, 5, 2], dtype: "u64" }, { shape: [3, 1, 5, 2], dtype: "u64", strides: [400, 8, 40, 8] }],
];

testEach("copy: every pair of layouts, byte by byte", (platform) => {
  using b = bench(platform);
  for (const layouts of BOXES) {
    for (const one of layouts) {
      for (const other of layouts) {
        const [from, to] = [randomly(b.cl, one), randomly(b.cl, other)];
        b.cl.queue.copy(from.tensor, to.tensor);
        const size = sizeOf(one.dtype);
        const expected = copied(from.tensor.layout, from.bytes, to.tensor.layout, to.bytes, size);
        assertBytes(contents(b.cl, to.tensor), expected, `${JSON.stringify(one)} to ${JSON.stringify(other)}`);
        assertBytes(contents(b.cl, from.tensor), from.bytes, "the source");
        from.tensor[Symbol.dispose]();
        to.tensor[Symbol.dispose]();
      }
    }
  }
});

testEach("read and write with `at`: every pair of layouts, byte by byte", (platform) => {
  using b = bench(platform);
  let counted = b.cl.bytesCopied;
  for (const layouts of BOXES) {
    for (const one of layouts) {
      for (const other of layouts) {
        const size = sizeOf(one.dtype);
        const { tensor, bytes } = randomly(b.cl, one);
        using scratch = b.cl.allocate(other);
        const byteOffset = 3 * size;
        const at = { ...scratch.layout, byteOffset };
        const inHost = random(byteOffset + at.byteLength + 5);
        counted = b.cl.bytesCopied;
        const got = inHost.slice();
        b.cl.queue.read(tensor, got, { at });
        const there = copied(tensor.layout, bytes, at, inHost.subarray(byteOffset), size);
        assertBytes(got.subarray(byteOffset), there, "read");
        assertBytes(got.subarray(0, byteOffset), inHost.subarray(0, byteOffset), "in front of it");
        b.cl.queue.write(tensor, inHost, { at });
        assertEquals(b.cl.bytesCopied - counted, 2 * size * elements(at).length);
        assertBytes(
          contents(b.cl, tensor),
          copied(at, inHost.subarray(byteOffset), tensor.layout, bytes, size),
          "written",
        );
        tensor[Symbol.dispose]();
      }
    }
  }
});

testEach('read with `at: "dense"`: the elements without their padding', (platform) => {
  using b = bench(platform);
  const { tensor, bytes } = randomly(b.cl, { shape: [3, 10], dtype: "u8", rowAlign: 64 });
  const got = new Uint8Array(30);
  b.cl.queue.read(tensor, got, { at: "dense" });
  for (let row = 0; row < 3; row++) {
    assertBytes(got.subarray(row * 10, row * 10 + 10), bytes.subarray(row * 64, row * 64 + 10));
  }
  b.cl.queue.write(tensor, new DataView(new ArrayBuffer(30)), { at: "dense" });
  assertEquals(contents(b.cl, tensor).filter((byte, i) => i % 64 < 10 && byte !== 0).length, 0);
  assertBytes(contents(b.cl, tensor).subarray(10, 64), bytes.subarray(10, 64), "padding");
  tensor[Symbol.dispose]();
});

testEach("fill: values, several in turn, bytes; what lies between rows is left alone", (platform) => {
  using b = bench(platform);
  const cases: readonly [LayoutInit, Parameters<typeof b.cl.queue.fill>[1], number[]][] = [
    [{ shape: [100], dtype: "u8" }, 255, [255]],
    [{ shape: [100], dtype: "i8" }, -2, [254]],
    [{ shape: [100], dtype: "i16" }, -2n, [254, 255]],
    [{ shape: [100], dtype: "f32" }, 1.5, [0, 0, 192, 63]],
    [{ shape: [100], dtype: "f16" }, 1, [0, 60]],
    [{ shape: [100], dtype: "u64" }, 2n ** 64n - 2n, [254, 255, 255, 255, 255, 255, 255, 255]],
    [{ shape: [100], dtype: "i64" }, -1, Array(8).fill(255)],
    [{ shape: [9, 7, 4], dtype: "u8", rowAlign: 64 }, [1, 2, 3, 4], [1, 2, 3, 4]],
    [{ shape: [9, 32], dtype: "u8", strides: [100, 1] }, new Uint8Array([9, 8]), [9, 8]],
    [{ shape: [4, 5, 8], dtype: "i32" as DType, strides: [1000, 96, 4] }, new Float64Array([2]), [
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      64,
    ]],
    [
      { shape: [2048], dtype: "u8" },
      Uint8Array.from({ length: 128 }, (_, i) => i),
      Array.from({ length: 128 }, (_, i) => i),
    ],
  ];
  for (const [init, pattern, bytes] of cases) {
    const { tensor, bytes: before } = randomly(b.cl, init);
    b.cl.queue.fill(tensor, pattern);
    const expected = before.slice();
    const size = sizeOf(init.dtype);
    elements(tensor.layout).forEach((at, i) => {
      for (let k = 0; k < size; k++) expected[at + k] = bytes[(i * size + k) % bytes.length];
    });
    assertBytes(contents(b.cl, tensor), expected, JSON.stringify(init));
    tensor[Symbol.dispose]();
  }
});

testEach("slices of one buffer: filled, copied to each other, migrated", (platform) => {
  using b = bench(platform);
  const { tensor, bytes } = randomly(b.cl, { shape: [16, 100], dtype: "u8" });
  const expected = bytes.slice();
  {
    // 1100 and 100 are not multiples of the sub-buffer alignment: the handle is the whole buffer's.
    using upper = tensor.slice(region(tensor.layout, [1, 0], [4, 100]));
    using lower = tensor.slice(region(tensor.layout, [11, 0], [4, 100]));
    b.cl.queue.copy(upper, lower);
    expected.copyWithin(1100, 100, 500);
    b.cl.queue.fill(upper, 7);
    expected.fill(7, 100, 500);
    b.cl.queue.migrate([upper, lower], { to: "host" });
    b.cl.queue.migrate([upper, lower], { to: "device" });
  }
  {
    using inner = tensor.slice(region(tensor.layout, [2, 10], [3, 20]));
    using outer = tensor.slice(region(tensor.layout, [8, 70], [3, 20]));
    b.cl.queue.copy(inner, outer);
    for (let row = 0; row < 3; row++) {
      expected.copyWithin((8 + row) * 100 + 70, (2 + row) * 100 + 10, (2 + row) * 100 + 30);
    }
    b.cl.queue.fill(inner, 9);
    for (let row = 2; row < 5; row++) expected.fill(9, row * 100 + 10, row * 100 + 30);
  }
  assertBytes(contents(b.cl, tensor), expected);
  tensor[Symbol.dispose]();
});

testEach("transfers of mapped host memory, between kernels, without a wait of the host's", (platform) => {
  using b = bench(platform);
  using queue = b.cl.createQueue();
  using source = host.allocate({ shape: [4096], dtype: "u8" });
  using target = host.allocate({ shape: [4096], dtype: "u8" });
  {
    using from = b.graph.map(source, b.cl);
    using to = b.graph.map(target, b.cl);
    b.kernels.slow.run({ items: [4096] }, [from, 0, LONG]);
    queue.fill(from, 5);
    b.kernels.slow.run({ items: [4096] }, [from, 1, LONG]);
    queue.copy(from, to);
    b.kernels.add.run({ items: [4096] }, [from, 100]);
    b.kernels.slow.run({ items: [4096] }, [to, 10, LONG]);
    queue.migrate([from, to], { to: "host" });
  }
  assertBytes(target.view(), new Uint8Array(4096).fill(16));
  assertBytes(source.view(), new Uint8Array(4096).fill(106));
  assertEquals(b.cl.bytesCopied, 0);
});

testEach("transfers wait for user events, and their end waits for them", async (platform) => {
  using b = bench(platform);
  using event = gate();
  const { tensor: from, bytes } = randomly(b.cl, { shape: [512], dtype: "u8" });
  const { tensor: to } = randomly(b.cl, { shape: [512], dtype: "u8" });
  from.usedBy(event.fence);
  b.cl.queue.copy(from, to);
  b.cl.queue.fill(from, 1);
  const fence = b.cl.queue.fence();
  assert(!fence.reached());
  thrown(AccessError, () => to[Symbol.dispose]());
  await event.complete();
  await to[Symbol.asyncDispose]();
  await fence.wait();
  assertBytes(contents(b.cl, from), bytes.fill(1));
  from[Symbol.dispose]();
});

testEach("grants are kept: what is lent, or for reading, or disposed, is refused", (platform) => {
  using b = bench(platform);
  using other = open(platform);
  using far = other.allocate({ shape: [64], dtype: "u8" });
  const { tensor } = randomly(b.cl, { shape: [64], dtype: "u8" });
  const { tensor: second } = randomly(b.cl, { shape: [64], dtype: "u8" });
  const { queue } = b.cl;
  const bytes = new Uint8Array(64);
  const uses = {
    fill: (t: OpenCLTensor) => queue.fill(t, 1),
    copyFrom: (t: OpenCLTensor) => queue.copy(t, second),
    copyTo: (t: OpenCLTensor) => queue.copy(second, t),
    readRect: (t: OpenCLTensor) => queue.read(t, bytes, { at: "dense" }),
    writeRect: (t: OpenCLTensor) => queue.write(t, bytes, { at: "dense" }),
    migrate: (t: OpenCLTensor) => queue.migrate([second, t], { to: "device" }),
    empty: (t: OpenCLTensor) => queue.migrate([t], { to: "device", contentUndefined: true }),
  };
  const reading = ["copyFrom", "readRect", "migrate"];
  const writing = ["fill", "copyTo", "writeRect", "empty"];
  {
    using mapped = b.graph.map(tensor, host);
    mapped.bytes();
    for (const use of Object.values(uses)) thrown(AccessError, () => use(tensor));
  }
  {
    using part = tensor.slice(tensor.layout, { access: "read" });
    for (const [name, use] of Object.entries(uses)) {
      if (reading.includes(name)) use(part);
      else thrown(AccessError, () => use(part));
    }
  }
  using source = host.allocate({ shape: [64], dtype: "u8" });
  {
    using mapped = b.graph.map(source, b.cl, { access: "write" });
    for (const [name, use] of Object.entries(uses)) {
      if (writing.includes(name) || name === "migrate") use(mapped);
      else thrown(AccessError, () => use(mapped));
    }
  }
  for (const use of Object.values(uses)) {
    assertEquals(thrown(ArgumentError, () => use(far)).api, "opencl");
    thrown(ArgumentError, () => use(source as never));
    thrown(ArgumentError, () => use(null as never));
  }
  tensor[Symbol.dispose]();
  for (const use of Object.values(uses)) thrown(DisposedError, () => use(tensor));
  const gone = b.cl.createQueue();
  gone[Symbol.dispose]();
  thrown(DisposedError, () => gone.fill(second, 1));
  thrown(DisposedError, () => gone.copy(second, second));
  thrown(DisposedError, () => gone.read(second, bytes, { at: "dense" }));
  thrown(DisposedError, () => gone.migrate([second], { to: "host" }));
  second[Symbol.dispose]();
});

testEach("fill: patterns that fit neither dtype nor tensor are refused", (platform) => {
  using b = bench(platform);
  using bytes = b.cl.allocate({ shape: [64], dtype: "u8" });
  using words = b.cl.allocate({ shape: [8], dtype: "u64" });
  using padded = b.cl.allocate({ shape: [4, 6], dtype: "u8", strides: [10, 1] });
  using scattered = b.cl.allocate({ shape: [20_000], dtype: "u8", strides: [2] });
  // deno-lint-ignore no-explicit-any -- what JavaScript passes
  const fill = (tensor: OpenCLTensor, pattern: any) => () => b.cl.queue.fill(tensor, pattern);
  for (
    const pattern of [
      -1,
      256,
      0.5,
      NaN,
      Infinity,
      2n ** 64n,
      -1n,
      [1, 2, 3],
      [],
      [1, 256],
      ["1"],
      "1",
      null,
      undefined,
      {},
      [
        undefined,
      ],
      new Array(4),
      new Array(2 ** 32 - 1),
      new Uint8Array(0),
      new Uint8Array(3),
      new Uint8Array(256),
      new ArrayBuffer(4),
      true,
      Symbol.iterator,
    ]
  ) {
    assertEquals(thrown(ArgumentError, fill(bytes, pattern)).argument, "value");
  }
  for (const pattern of [-1, 2 ** 64, 0.5, -1n, 2n ** 64n, NaN]) thrown(ArgumentError, fill(words, pattern));
  thrown(LayoutError, fill(padded, [1, 2, 3, 4]));
  fill(padded, [1, 2])();
  assert(thrown(LayoutError, fill(scattered, 1)).message.includes("20000 rows"));
  thrown(LayoutError, fill(bytes, new Uint8Array(128)));
  b.cl.queue.finish();
});

testEach("copy: other elements, shapes without a box, and overlaps are refused", (platform) => {
  using b = bench(platform);
  const { queue } = b.cl;
  const of = (init: LayoutInit) => b.cl.allocate(init);
  using a = of({ shape: [4, 6], dtype: "u8" });
  for (
    const init of [{ shape: [6, 4], dtype: "u8" }, { shape: [24], dtype: "u8" }, {
      shape: [4, 6],
      dtype: "i8",
    }] as const
  ) {
    using other = of(init);
    assertEquals(thrown(LayoutError, () => queue.copy(a, other)).argument, "to");
    thrown(LayoutError, () => queue.read(a, new Uint8Array(24), { at: init }));
  }
  using transposed = of({ shape: [4, 6], dtype: "u8", strides: [1, 4] });
  thrown(LayoutError, () => queue.copy(a, transposed));
  queue.copy(transposed, transposed.context.allocate(transposed.layout));
  using four = of({ shape: [2, 2, 2, 2], dtype: "u8", strides: [1000, 100, 10, 2] });
  using plain = of({ shape: [2, 2, 2, 2], dtype: "u8" });
  assert(thrown(LayoutError, () => queue.copy(four, plain)).message.includes("dimensions"));
  using uneven = of({ shape: [2, 3, 4], dtype: "u8", strides: [100, 30, 1] });
  using even = of({ shape: [2, 3, 4], dtype: "u8" });
  assert(thrown(LayoutError, () => queue.copy(uneven, even)).message.includes("multiple"));
  thrown(LayoutError, () => queue.copy(even, even));
  {
    using one = even.slice(even.layout, { access: "read" });
    using two = even.slice(even.layout, { access: "read" });
    thrown(AccessError, () => queue.copy(one, two));
  }
  {
    // Both lie in one buffer, for which OpenCL takes one distance for both.
    using all = of({ shape: [100_000], dtype: "u8" });
    using two = all.slice({ shape: [20_000, 1], dtype: "u8", strides: [2, 1] });
    using three = all.slice({ shape: [20_000, 1], dtype: "u8", strides: [3, 1], byteOffset: 40_000 });
    assert(thrown(LayoutError, () => queue.copy(two, three)).message.includes("more than 16384"));
  }
  queue.finish();
});

testEach("read with `at`: bytes that cannot hold it, layouts that are none", (platform) => {
  using b = bench(platform);
  const { queue } = b.cl;
  using tensor = b.cl.allocate({ shape: [4, 6], dtype: "u8", rowAlign: 64 });
  for (const length of [0, 23, 25, 198]) {
    thrown(LayoutError, () => queue.read(tensor, new Uint8Array(length), { at: "dense" }));
  }
  const at = { shape: [4, 6], dtype: "u8", rowAlign: 8, byteOffset: 5 } as const;
  thrown(LayoutError, () => queue.read(tensor, new Uint8Array(34), { at }));
  queue.read(tensor, new Uint8Array(35), { at });
  // deno-lint-ignore no-explicit-any -- what JavaScript passes
  const read = (bytes: any, where?: any) => () => queue.read(tensor, bytes, { at: where });
  for (const bytes of [null, undefined, 5, new ArrayBuffer(24), [0]]) thrown(ArgumentError, read(bytes));
  for (const where of [null, 5, {}, { shape: [4, 6] }, { ...at, byteOffset: NaN }, { ...at, byteOffset: -1 }]) {
    thrown(LayoutError, read(new Uint8Array(99), where));
  }
  const bytes = new Uint8Array(24);
  const moving = {
    dtype: "u8",
    get shape() {
      bytes.buffer.transfer();
      return [4, 6];
    },
  };
  thrown(ArgumentError, read(bytes, moving));
});

testEach("migrate: contents that are not the tensor's to lose, and options that are none", (platform) => {
  using b = bench(platform);
  const { queue } = b.cl;
  using tensor = b.cl.allocate({ shape: [4, 1024], dtype: "u8" });
  // deno-lint-ignore no-explicit-any -- what JavaScript passes
  const migrate = (tensors: any, options: any) => () => queue.migrate(tensors, options);
  migrate([tensor, tensor], { to: "device" })();
  migrate([tensor], { to: "host", contentUndefined: true })();
  {
    using first = tensor.slice(region(tensor.layout, [0, 0], [1, 1024]));
    using third = tensor.slice(region(tensor.layout, [2, 1], [1, 1000]));
    for (const part of [first, third]) {
      migrate([part], { to: "device" })();
      assertEquals(
        thrown(LayoutError, migrate([part], { to: "device", contentUndefined: true })).argument,
        "tensors[0]",
      );
    }
  }
  for (const to of [undefined, null, "", "Device", 1, "toString"]) {
    assertEquals(thrown(ArgumentError, migrate([tensor], { to })).argument, "to");
  }
  for (const contentUndefined of [null, 1, "yes"]) {
    thrown(ArgumentError, migrate([tensor], { to: "host", contentUndefined }));
  }
  for (const tensors of [null, undefined, [], tensor, [null], [tensor, 5], new Array(2), new Array(2 ** 32 - 1)]) {
    thrown(ArgumentError, migrate(tensors, { to: "host" }));
  }
  for (const options of [null, undefined, 5]) thrown(ArgumentError, migrate([tensor], options));
  queue.finish();
});

testEach("fill(), copy(), read() and write() wait for `after`", async (platform) => {
  using b = bench(platform);
  const { cl: { queue } } = b;
  using from = b.cl.allocate({ shape: [4], dtype: "u8" });
  using to = b.cl.allocate({ shape: [4], dtype: "u8" });
  const seen = new Uint8Array(4);
  using opening = gate();
  const { fence: after } = opening;
  // A command that blocks could never end.
  assertEquals(thrown(AccessError, () => queue.read(from, seen, { after })).argument, "fence");
  assertEquals(thrown(AccessError, () => queue.write(from, seen, { after })).argument, "fence");
  queue.fill(from, 7, { after });
  queue.copy(from, to, { after });
  const done = queue.fence();
  assertEquals(done.reached(), false);
  await opening.complete();
  await done.wait();
  queue.read(to, seen, { after: done });
  assertEquals([...seen], [7, 7, 7, 7]);
});
