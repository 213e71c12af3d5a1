import { assert, assertEquals } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  type DType,
  host,
  type HostTensor,
  LayoutError,
  NativeCallError,
  region,
} from "@samepage/interop";
import { BaseOf, type KernelArgument, LocalMemory, type OpenCLContext } from "@samepage/interop/opencl";
import { type Bench, bench, randomTensor, test, testEach, testPairs, thrown } from "./help.ts";

/** The scalar types of OpenCL C, what holds them here, and the ends of their ranges. */
const SCALARS: { readonly [type: string]: { dtype: DType; size: number; ends?: readonly [bigint, bigint] } } = {
  char: { dtype: "i8", size: 1, ends: [-128n, 127n] },
  uchar: { dtype: "u8", size: 1, ends: [0n, 255n] },
  short: { dtype: "i16", size: 2, ends: [-32768n, 32767n] },
  ushort: { dtype: "u16", size: 2, ends: [0n, 65535n] },
  int: { dtype: "i32", size: 4, ends: [-(2n ** 31n), 2n ** 31n - 1n] },
  uint: { dtype: "u32", size: 4, ends: [0n, 2n ** 32n - 1n] },
  long: { dtype: "i64", size: 8, ends: [-(2n ** 63n), 2n ** 63n - 1n] },
  ulong: { dtype: "u64", size: 8, ends: [0n, 2n ** 64n - 1n] },
  float: { dtype: "f32", size: 4 },
  double: { dtype: "f64", size: 8 },
};

const LANES = [1, 2, 3, 4, 8, 16];

/** A kernel for every type and vector: it stores its value's lanes one after the other. */
const STORE = Object.keys(SCALARS).flatMap((type) =>
  LANES.map((n) => {
    const vector = n === 1 ? type : `${type}${n}`;
    const store = n === 1 ? "out[0] = value;" : `vstore${n}(value, 0, out);`;
    return `kernel void store_${vector}(global ${type}* out, ${vector} value) { ${store} }`;
  })
).join("\n");

function hasDouble(cl: OpenCLContext): boolean {
  return cl.device.extensions.includes("cl_khr_fp64");
}

/** Builds them, with doubles only where the device has them. */
function storeProgram(cl: OpenCLContext) {
  return cl.program(STORE.split("\n").filter((line) => hasDouble(cl) || !line.includes("double")).join("\n"));
}

/** Runs one of those kernels; returns what it stored. */
function stored<D extends DType>(b: Bench, program: ReturnType<typeof storeProgram>, type: string, args: {
  dtype: D;
  lanes: number;
  value: KernelArgument;
}) {
  using kernel = program.kernel(`store_${type}`);
  using out: HostTensor<D> = host.allocate({ shape: [16], dtype: args.dtype });
  {
    using mapped = b.graph.map(out, b.cl);
    kernel.run({ items: [1] }, [mapped, args.value]);
  }
  return [...out.view().subarray(0, args.lanes)];
}

testEach("scalars of every type arrive, from end to end of their range", (platform) => {
  using b = bench(platform);
  const program = storeProgram(b.cl);
  for (const [type, { dtype, ends }] of Object.entries(SCALARS)) {
    if (type === "double" && !hasDouble(b.cl)) continue;
    const big = dtype === "i64" || dtype === "u64";
    const values = ends === undefined ? [0, -0.5, 1e30, Infinity, -Infinity, NaN] : [...ends, 1n, 0n];
    for (const value of values) {
      const expected = big ? BigInt(value as bigint) : Number(value);
      const [got] = stored(b, program, type, { dtype, lanes: 1, value });
      assertEquals(got, dtype === "f32" ? Math.fround(expected as number) : expected, `${type} ${value}`);
      if (typeof value === "bigint" && value < 2n ** 53n && value > -(2n ** 53n)) {
        assertEquals(stored(b, program, type, { dtype, lanes: 1, value: Number(value) })[0], expected);
      }
    }
  }
});

testEach("what is outside of a type's range is refused, by name", (platform) => {
  using b = bench(platform);
  const program = storeProgram(b.cl);
  for (const [type, { dtype, ends }] of Object.entries(SCALARS)) {
    if (type === "double" && !hasDouble(b.cl)) continue;
    const outside = ends === undefined
      ? []
      : [ends[0] - 1n, ends[1] + 1n, 0.5, NaN, Infinity, -Infinity, 2 ** 64, 1e300];
    const wrong = [undefined, null, "1", true, {}, [], [1, 2], new LocalMemory(4), () => 1, Symbol("x")];
    for (const value of [...outside, ...wrong] as KernelArgument[]) {
      const error = thrown(ArgumentError, () => stored(b, program, type, { dtype, lanes: 1, value }));
      assertEquals(error.argument, "value", `${type} ${String(value)}`);
    }
  }
});

testEach("vectors of every length arrive; three take the room of four", (platform) => {
  using b = bench(platform);
  const program = storeProgram(b.cl);
  for (const [type, { dtype, size }] of Object.entries(SCALARS)) {
    if (type === "double" && !hasDouble(b.cl)) continue;
    for (const lanes of LANES.slice(1)) {
      const numbers = Array.from({ length: lanes }, (_, i) => i + 1);
      const expected = size === 8 && dtype !== "f64" ? numbers.map(BigInt) : numbers;
      const got = stored(b, program, `${type}${lanes}`, { dtype, lanes, value: numbers });
      assertEquals(got as unknown[], expected, `${type}${lanes}`);
    }
  }
  const value = new Uint8Array([1, 2, 3, 4]);
  assertEquals(stored(b, program, "uchar3", { dtype: "u8", lanes: 3, value }), [1, 2, 3]);
  const bad: [string, KernelArgument][] = [
    ["uchar3", [1, 2, 3, 4]],
    ["uchar3", new Uint8Array(3)],
    ["uchar4", [1, 2, 3]],
    ["uchar4", [1, 2, 3, 256]],
    ["uchar4", 1],
    ["uchar4", [1, 2, 3, null as unknown as number]],
    // deno-lint-ignore no-sparse-arrays
    ["uchar4", [1, , 3, 4] as number[]],
    ["uchar", [] as number[]],
  ];
  for (const [type, value] of bad) {
    const error = thrown(ArgumentError, () => stored(b, program, type, { dtype: "u8", lanes: 1, value }));
    assertEquals(error.argument, "value", `${type} ${value}`);
  }
});

testEach("a scalar's bytes may be passed, of its own size only", (platform) => {
  using b = bench(platform);
  const program = storeProgram(b.cl);
  const read = (value: KernelArgument) => stored(b, program, "int", { dtype: "i32", lanes: 1, value })[0];
  assertEquals(read(new Int32Array([-5])), -5);
  assertEquals(read(new DataView(new Int32Array([9, 7]).buffer, 4)), 7);
  for (const value of [new Int32Array(2), new Uint8Array(3), new Uint8Array(0), new Float64Array(1)]) {
    thrown(ArgumentError, () => read(value));
  }
});

testEach("a struct is passed by its bytes; what the driver says of a wrong size is an error", (platform) => {
  using b = bench(platform);
  using program = b.cl.program(`
    typedef struct { int a; float b; uchar c[4]; } thing;
    kernel void k(global float* out, thing t) { out[0] = t.a; out[1] = t.b; out[2] = t.c[3]; }`);
  using kernel = program.kernel("k");
  using out = host.allocate({ shape: [3], dtype: "f32" });
  const bytes = new DataView(new ArrayBuffer(12));
  bytes.setInt32(0, -3, true);
  bytes.setFloat32(4, 2.5, true);
  bytes.setUint8(11, 200);
  {
    using mapped = b.graph.map(out, b.cl);
    kernel.run({ items: [1] }, [mapped, bytes]);
    thrown(ArgumentError, () => kernel.run({ items: [1] }, [mapped, 5]));
    thrown(ArgumentError, () => kernel.run({ items: [1] }, [mapped, [1, 2, 3]]));
    thrown(ArgumentError, () => kernel.run({ items: [1] }, [mapped, new Uint8Array(0)]));
    // PoCL 3.1 takes any number of bytes: there it is the struct's size, found out beforehand, that is compared.
    const kind = platform === "pocl" ? ArgumentError : NativeCallError;
    for (const length of [1, 11, 13, 4096]) {
      thrown(kind, () => kernel.run({ items: [1] }, [mapped, new Uint8Array(length)]));
    }
  }
  assertEquals([...out.view()], [-3, 2.5, 200]);
});

testEach("the number of arguments has to be right", (platform) => {
  using b = bench(platform);
  const { tensor } = randomTensor(64);
  using source = tensor;
  using mapped = b.graph.map(source, b.cl);
  for (const args of [[], [mapped], [mapped, 1, 2]] as KernelArgument[][]) {
    const error = thrown(ArgumentError, () => b.kernels.add.run({ items: [64] }, args));
    assertEquals(error.argument, "args");
    assert(error.message.includes("expected 2 arguments"), error.message);
  }
});

testEach("a pointer takes a tensor of this context, and nothing else", (platform) => {
  using b = bench(platform);
  const { tensor } = randomTensor(64);
  using source = tensor;
  const wrong = [0, 0n, [1], new Uint8Array(8), new BigUint64Array(1), new LocalMemory(64), source, null, undefined];
  for (const value of wrong as KernelArgument[]) {
    const error = thrown(ArgumentError, () => b.kernels.add.run({ items: [64] }, [value, 1]));
    assertEquals(error.argument, "x");
  }
  using second = bench(platform);
  using theirs = second.graph.map(source, second.cl);
  const error = thrown(ArgumentError, () => b.kernels.add.run({ items: [64] }, [theirs, 1]));
  assert(error.message.includes("belongs to"), error.message);
});

testPairs("a tensor of another platform is refused by kernels and queues", (first, second) => {
  using one = bench(first);
  using two = bench(second);
  using theirs = two.cl.allocate({ shape: [64], dtype: "u8" });
  thrown(ArgumentError, () => one.kernels.add.run({ items: [64] }, [theirs, 1]));
  thrown(ArgumentError, () => one.cl.queue.write(theirs, new Uint8Array(64)));
  thrown(ArgumentError, () => one.cl.queue.read(theirs, new Uint8Array(64)));
  using mine = one.cl.allocate({ shape: [64], dtype: "u8" });
  thrown(ArgumentError, () => one.kernels.add.run({ items: [64] }, [mine, 1], { queue: two.cl.queue }));
});

testEach("a tensor of the wrong element type is refused; a slice of the right one is taken", (platform) => {
  using b = bench(platform);
  using source = host.allocate({ shape: [64], dtype: "i8" });
  {
    using mapped = b.graph.map(source, b.cl);
    const error = thrown(ArgumentError, () => b.kernels.add.run({ items: [64] }, [mapped, 1]));
    assert(error.message.includes("u8") && error.message.includes("i8"), error.message);
    using same = mapped.slice({ ...mapped.layout, dtype: "u8" });
    b.kernels.add.run({ items: [64] }, [same, 5]);
  }
  assertEquals(source.view()[63], 5);
});

testEach("vector and struct pointers take tensors of their elements; void takes any", (platform) => {
  using b = bench(platform);
  using program = b.cl.program(`
    typedef struct { uchar a, b; } pair;
    kernel void vectors(global uchar4* x) { x[get_global_id(0)] += (uchar4)(1, 2, 3, 4); }
    kernel void pairs(global pair* x) { x[get_global_id(0)].b = 9; }
    kernel void whatever(global void* x) { ((global uchar*)x)[0] = 77; }`);
  using source = host.allocate({ shape: [8], dtype: "u8" });
  {
    using mapped = b.graph.map(source, b.cl);
    program.kernel("vectors").run({ items: [2] }, [mapped]);
    program.kernel("pairs").run({ items: [4] }, [mapped]);
    program.kernel("whatever").run({ items: [1] }, [mapped]);
  }
  assertEquals([...source.view()], [77, 9, 3, 9, 1, 9, 3, 9]);
});

testEach("a read-only map goes to const pointers alone", (platform) => {
  using b = bench(platform);
  const { tensor, bytes } = randomTensor(64);
  using source = tensor;
  using target = host.allocate({ shape: [64], dtype: "u8" });
  {
    using from = b.graph.map(source, b.cl, { access: "read" });
    using to = b.graph.map(target, b.cl, { access: "write" });
    const error = thrown(AccessError, () => b.kernels.add.run({ items: [64] }, [from, 1]));
    assert(error.message.includes("read-write"), error.message);
    thrown(AccessError, () => b.kernels.xorFrom.run({ items: [64] }, [from, to, 1]));
    b.kernels.xorFrom.run({ items: [64] }, [to, from, 0x5a]);
  }
  assertEquals(target.view(), bytes.map((byte) => byte ^ 0x5a));
});

testEach("constant memory is read", (platform) => {
  using b = bench(platform);
  using program = b.cl.program(
    "kernel void k(global uchar* to, constant uchar* table) { to[get_global_id(0)] = table[get_global_id(0)]; }",
  );
  const { tensor, bytes } = randomTensor(64);
  using source = tensor;
  using target = host.allocate({ shape: [64], dtype: "u8" });
  {
    using from = b.graph.map(source, b.cl, { access: "read" });
    using to = b.graph.map(target, b.cl);
    program.kernel("k").run({ items: [64] }, [to, from]);
  }
  assertEquals(target.view().slice(), bytes);
});

testEach("local memory is asked for by its size", (platform) => {
  using b = bench(platform);
  using program = b.cl.program(`
    kernel void turn(global uchar* x, local uchar* room) {
      size_t i = get_local_id(0), n = get_local_size(0);
      room[i] = x[get_global_id(0)];
      barrier(CLK_LOCAL_MEM_FENCE);
      x[get_global_id(0)] = room[n - 1 - i];
    }`);
  using turn = program.kernel("turn");
  using source = host.allocate({ shape: [16], dtype: "u8" });
  source.view().set(Uint8Array.from({ length: 16 }, (_, i) => i));
  {
    using mapped = b.graph.map(source, b.cl);
    turn.run({ items: [16], groupSize: [8] }, [mapped, new LocalMemory(8)]);
    for (const value of [8, [8], new Uint8Array(8), mapped, null] as KernelArgument[]) {
      assertEquals(
        thrown(ArgumentError, () => turn.run({ items: [16], groupSize: [8] }, [mapped, value])).argument,
        "room",
      );
    }
    const tooMuch = new LocalMemory(b.cl.device.localMemory + 1);
    assertEquals(
      thrown(ArgumentError, () => turn.run({ items: [16], groupSize: [8] }, [mapped, tooMuch])).argument,
      "args",
    );
  }
  assertEquals([...source.view()], [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8]);
});

test("LocalMemory takes whole bytes above 0", [], () => {
  for (const size of [0, -1, 0.5, NaN, Infinity, 2 ** 53, "8" as unknown as number]) {
    assertEquals(thrown(ArgumentError, () => new LocalMemory(size)).argument, "byteLength");
  }
});

testEach("images, samplers and their like are refused: their bytes are pointers to the driver", (platform) => {
  using b = bench(platform);
  using tensor = b.cl.allocate({ shape: [64], dtype: "u8" });
  for (const type of ["read_only image2d_t", "write_only image2d_t", "sampler_t"]) {
    let program;
    try {
      program = b.cl.program(`kernel void k(global uchar* x, ${type} y) { x[0] = 1; }`);
    } catch {
      continue; // a device without images
    }
    using kernel = program.kernel("k");
    for (const value of [tensor, new BigUint64Array([0x1000n]), new BigUint64Array(1), 1n] as KernelArgument[]) {
      thrown(ArgumentError, () => kernel.run({ items: [1] }, [tensor, value]));
    }
  }
});

testEach("a type may have any name", (platform) => {
  using b = bench(platform);
  using program = b.cl.program(`
    typedef struct { int a; } constructor;
    kernel void k(global int* x, constructor value, global constructor* y) { x[0] = value.a + y[0].a; }`);
  using tensor = host.allocate({ shape: [1], dtype: "i32" });
  using other = host.allocate({ shape: [1], dtype: "i32" });
  {
    using x = b.graph.map(tensor, b.cl);
    using y = b.graph.map(other, b.cl, { access: "read-write" });
    program.kernel("k").run({ items: [1] }, [x, new Int32Array([5]), y]);
  }
  assertEquals(tensor.view()[0], 5);
});

testEach("a tensor that was disposed, or whose bytes are lent, is refused", (platform) => {
  using b = bench(platform);
  const { tensor } = randomTensor(4096);
  using source = tensor;
  const gone = b.graph.map(source, b.cl);
  gone[Symbol.dispose]();
  thrown(DisposedError, () => b.kernels.add.run({ items: [64] }, [gone, 1]));
  using mapped = b.graph.map(source, b.cl);
  {
    using writer = b.graph.map(mapped, host);
    writer.view()[0] = 1;
    const error = thrown(AccessError, () => b.kernels.add.run({ items: [64] }, [mapped, 1]));
    assert(error.message.includes("lent"), error.message);
  }
  {
    using reader = b.graph.map(mapped, host, { access: "read" });
    assertEquals(reader.view()[0], 1);
    thrown(AccessError, () => b.kernels.add.run({ items: [64] }, [mapped, 1]));
    using to = b.cl.allocate({ shape: [4096], dtype: "u8" });
    b.kernels.xorFrom.run({ items: [64] }, [to, mapped, 1]); // many readers
  }
  b.kernels.add.run({ items: [64] }, [mapped, 1]);
});

testEach("a tensor that begins inside of its cl_mem needs its base", (platform) => {
  using b = bench(platform);
  using source = host.allocate({ shape: [64], dtype: "u8" });
  {
    using mapped = b.graph.map(source, b.cl);
    using part = mapped.slice(region(mapped.layout, [5], [3]));
    assertEquals(part.layout.byteOffset, 5);
    const error = thrown(LayoutError, () => b.kernels.add.run({ items: [3] }, [part, 1]));
    assert(error.message.includes("tensor.base"), error.message);
    b.kernels.addAt.run({ items: [3] }, [part.base, BigInt(part.layout.byteOffset), 4]);
    thrown(AccessError, () => b.kernels.addAt.run({ items: [3] }, [mapped.base, 0, 4]));
  }
  assertEquals([...source.view().subarray(3, 10)], [0, 0, 4, 4, 4, 0, 0]);
  thrown(ArgumentError, () => b.kernels.addAt.run({ items: [3] }, [new BaseOf(source as never), 0, 4]));
});

testEach("a kernel keeps no argument beyond a change, a refusal or the end of a tensor", (platform) => {
  using b = bench(platform);
  const { xorFrom } = b.kernels;
  const tensors = [0, 1, 2].map(() => b.cl.allocate({ shape: [64], dtype: "u8" }));
  const [x, y, z] = tensors;
  const bytes = new Uint8Array(64);
  const expect = (from: typeof x, to: typeof x, key: number, base: number) => {
    b.cl.queue.fill(from, base);
    xorFrom.run({ items: [64] }, [to, from, key]);
    b.cl.queue.read(to, bytes);
    assertEquals(bytes, new Uint8Array(64).fill(base ^ key));
  };
  for (const [from, to, key] of [[x, y, 1], [x, y, 1], [y, x, 1], [y, z, 2], [x, z, 2]] as const) {
    expect(from, to, key, 77);
    thrown(ArgumentError, () => xorFrom.run({ items: [64] }, [from, to, 256]));
    thrown(ArgumentError, () => xorFrom.run({ items: [64] }, [to, 5 as never, key]));
  }
  assert(xorFrom.handle !== 0n); // now a program may set arguments itself, and all are set at each run
  expect(x, z, 2, 9);
  // A driver may give the next buffer the handle of one that is gone.
  for (let i = 0; i < 20; i++) {
    const from = b.cl.allocate({ shape: [64], dtype: "u8" });
    expect(from, z, 3, i);
    from[Symbol.dispose]();
    thrown(DisposedError, () => xorFrom.run({ items: [64] }, [z, from, 3]));
  }
  for (const tensor of tensors) tensor[Symbol.dispose]();
});

testEach("one tensor may be several arguments", (platform) => {
  using b = bench(platform);
  const { tensor, bytes } = randomTensor(64);
  using source = tensor;
  {
    using mapped = b.graph.map(source, b.cl);
    b.kernels.xorFrom.run({ items: [64] }, [mapped, mapped, 0xff]);
  }
  assertEquals(source.view().slice(), bytes.map((byte) => byte ^ 0xff));
});
