/** Arrays of PyTorch, CuPy and JAX on a GPU, in place both ways. */
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, host, LayoutError } from "@samepage/interop";
import { CudaContext, type CudaTensor } from "@samepage/interop/cuda";
import type { PythonObject } from "@samepage/interop/python";
import { made, numbersIn, take, test } from "./gpu.ts";

const MATRIX = { shape: [2, 3], dtype: "f32" } as const;

/** A kind of memory: who allocates it, and where PyTorch and CuPy see it. */
type Kind = readonly [name: string, allocate: (cuda: CudaContext) => CudaTensor, torch: string];

const KINDS: readonly Kind[] = [
  ["device", (cuda) => cuda.allocate(MATRIX), "cuda:0"],
  ["pinned", (cuda) => cuda.pinned.allocate(MATRIX), "cpu"],
  ["managed", (cuda) => cuda.managed.allocate(MATRIX), "cuda:0"],
  ["virtual", (cuda) => cuda.virtual.allocate(MATRIX), "cuda:0"],
];

for (const [name, allocate, device] of KINDS) {
  test(`PyTorch has ${name} memory of ours in place, and we see what it writes`, ["torch"], ({ python, cuda }) => {
    using tensor = allocate(cuda);
    cuda.stream.fill(tensor, 3);
    {
      using array = python.toArray(tensor, "torch");
      const seen = python.run("array.mul_(2)\n[str(array.device), array.data_ptr(), list(array.shape)]", { array });
      assertEquals(seen, [device, Number(tensor.address), [2, 3]]);
      assertEquals(python.run("array.is_pinned()", { array }), name === "pinned");
    }
    assertEquals(numbersIn(cuda, tensor), Array(6).fill(6));
  });

  test(`CuPy has ${name} memory of ours in place, and we see what it writes`, ["cupy"], ({ python, cuda }) => {
    using tensor = allocate(cuda);
    cuda.stream.fill(tensor, 3);
    {
      using array = python.toArray(tensor, "cupy");
      const seen = python.run("array *= 2\n[array.data.ptr, list(array.shape)]", { array });
      assertEquals(seen, [Number(tensor.address), [2, 3]]);
    }
    assertEquals(numbersIn(cuda, tensor), Array(6).fill(6));
  });
}

for (const [name, allocate] of KINDS.filter(([name]) => name !== "virtual")) {
  test(`JAX has ${name} memory of ours`, ["jax"], async ({ python, cuda }) => {
    await using tensor = allocate(cuda);
    cuda.stream.fill(tensor, 3);
    using array = python.toArray(tensor, "jax");
    assertEquals(python.run("float(array.sum())", { array }), 18);
  });
}

/** An array of theirs, its address, and what changes it there until it is over. */
const THEIRS:
  readonly (readonly [name: string, modules: readonly string[], make: string, address: string, memory: string])[] = [
    ["PyTorch's", ["torch"], "torch.full((2, 3), 3.0, device='cuda')", "array.data_ptr()", "device"],
    ["PyTorch's page-locked", ["torch"], "torch.full((2, 3), 3.0).pin_memory()", "array.data_ptr()", "pinned"],
    ["CuPy's", ["cupy"], "cupy.full((2, 3), 3.0, 'f4')", "array.data.ptr", "device"],
    [
      "CuPy's managed",
      ["cupy"],
      "(a := cupy.ndarray((2, 3), 'f4', cupy.cuda.malloc_managed(24)), a.fill(3))[0]",
      "array.data.ptr",
      "managed",
    ],
    ["JAX's", ["jax"], "jax.block_until_ready(jax.numpy.full((2, 3), 3.0))", "array.unsafe_buffer_pointer()", "device"],
  ];

for (const [name, modules, make, address, memory] of THEIRS) {
  test(`${name} array is a tensor of ours in place`, modules, (both) => {
    const { python, cuda } = both;
    using array = made(python, make);
    {
      using tensor = take(both, array);
      assertEquals([cuda.is(tensor), tensor.dtype, tensor.shape], [true, "f32", [2, 3]]);
      assertEquals(Number(tensor.address), python.run(address, { array }));
      assert(memory === "managed" || tensor.memory === memory, `it is ${tensor.memory} memory`);
      assertEquals(numbersIn(cuda, tensor), Array(6).fill(3));
      if (modules[0] !== "jax") cuda.stream.fill(tensor, 5); // arrays of JAX do not change
    } // the fill is over
    assertEquals(python.run("float(array.sum())", { array }), modules[0] === "jax" ? 18 : 30);
  });
}

/** What an array becomes, as a dtype and a shape, or what refuses it. */
const ROWS: Readonly<Record<string, readonly [make: string, becomes: readonly [string, readonly number[]] | RegExp]>> =
  {
    "f16": ["torch.ones(3, dtype=torch.float16, device='cuda')", ["f16", [3]]],
    "f64": ["torch.ones(3, dtype=torch.float64, device='cuda')", ["f64", [3]]],
    "i64, 0-d": ["torch.tensor(3, device='cuda')", ["i64", []]],
    "bool": ["torch.ones(3, dtype=torch.bool, device='cuda')", ["u8", [3]]],
    "complex64": ["torch.ones(3, dtype=torch.complex64, device='cuda')", ["f32", [3, 2]]],
    "bfloat16": ["torch.ones(3, dtype=torch.bfloat16, device='cuda')", /no dtype for 16 bits of kDLBfloat/],
    "a part with gaps": ["torch.ones(4, 6, device='cuda')[::2, 1:4]", ["f32", [2, 3]]],
    "transposed": ["torch.ones(2, 3, device='cuda').T", ["f32", [3, 2]]],
    "broadcast": ["torch.ones(1, device='cuda').expand(3)", /strides/],
    "empty": ["torch.ones(0, device='cuda')", /there are no elements/],
  };

for (const [name, [make, becomes]] of Object.entries(ROWS)) {
  test(`fromArray() of PyTorch on the GPU: ${name}`, ["torch"], (both) => {
    using array = made(both.python, make);
    if (becomes instanceof RegExp) {
      const { message } = assertThrows(() => take(both, array), LayoutError);
      assert(becomes.test(message), message);
      return;
    }
    using tensor = take(both, array);
    assertEquals([tensor.dtype as string, tensor.shape], becomes);
  });
}

test("NaNs, infinities and zeros with a sign keep all their bits", ["torch"], (both) => {
  const { python, cuda } = both;
  const bits = Uint32Array.of(0x7fc0_0001, 0xffc1_2345, 0x7f80_0001, 0x7f80_0000, 0x8000_0000, 0x0000_0001);
  using tensor = cuda.allocate({ shape: [6], dtype: "f32" });
  cuda.stream.write(tensor, new Float32Array(bits.buffer));
  using array = python.toArray(tensor, "torch");
  using copy = python.run<PythonObject>("array.view(torch.int32).clone().view(torch.float32)", { array });
  using same = take(both, copy);
  const seen = new Float32Array(6);
  cuda.stream.read(same, seen);
  assertEquals(new Uint32Array(seen.buffer), bits);
  assertEquals(python.run("torch.isnan(array).tolist()", { array }), [true, true, true, false, false, false]);
});

test("what PyTorch computes of an image of ours is right", ["torch"], ({ python, cuda }) => {
  using tensor = cuda.allocate({ shape: [64, 64], dtype: "f32" });
  const given = Float32Array.from({ length: 64 * 64 }, (_, i) => i % 17);
  cuda.stream.write(tensor, given);
  using array = python.toArray(tensor, "torch");
  const mean = python.run<number>("float(torch.nn.functional.avg_pool2d(array[None, None], 4).mean())", { array });
  assertAlmostEquals(mean, given.reduce((sum, value) => sum + value) / given.length, 1e-3);
});

test("a context ends while the library goes on, and another of the same device stays", ["torch"], async (both) => {
  const { python, cuda } = both;
  using theirs = made(python, "torch.full((2, 3), 3.0, device='cuda')");
  {
    await using other = CudaContext.open();
    using tensor = other.allocate(MATRIX);
    other.stream.fill(tensor, 2);
    using array = python.toArray(tensor, "torch");
    assertEquals(python.run("float(array.sum())", { array }), 12);
    using same = take({ python, cuda: other }, theirs);
    other.stream.fill(same, 4);
  }
  const third = CudaContext.open();
  const held = python.toArray(third.allocate(MATRIX), "torch");
  const ending = third[Symbol.asyncDispose]();
  python.run("held.fill_(1)\nNone", { held }); // the memory is there for as long as PyTorch has it
  held[Symbol.dispose]();
  await ending;
  assertEquals(python.run("float(theirs.sum())", { theirs }), 24);
  using tensor = take(both, theirs);
  assertEquals(numbersIn(cuda, tensor), Array(6).fill(4));
  using array = python.toArray(tensor, "torch");
  assertEquals(python.run("float(array.sum())", { array }), 24);
});

test("an array of another device is refused, and belongs to that device's context", ["torch"], async (both) => {
  const { python, cuda } = both;
  using array = made(python, "torch.full((2, 3), 3.0, device='cuda:1')");
  await using second = CudaContext.open({ ordinal: 1 });
  assertThrows(() => take(both, array), ArgumentError, "number 1, and none of them is for that");
  using tensor = python.fromArray(array, { contexts: [host, cuda, second] }) as CudaTensor;
  assert(second.is(tensor));
  assertEquals(numbersIn(second, tensor), Array(6).fill(3));
  using lent = second.allocate(MATRIX);
  second.stream.fill(lent, 1);
  using there = python.toArray(lent, "torch");
  assertEquals(python.run("[str(there.device), float(there.sum())]", { there }), ["cuda:1", 6]);
}, { gpus: 2 });

/** Bytes that a part of the machine may take for itself: pools of the driver, V8's heap. */
const [ON_GPU, ON_HOST] = [16 << 20, 48 << 20];

test("10,000 loans and 10,000 arrays taken leave no memory on the GPU or the host", ["torch"], async (both) => {
  const { python, cuda } = both;
  using tensor = cuda.allocate({ shape: [1024], dtype: "f32" });
  using array = made(python, "torch.zeros(1024, device='cuda')");
  const both10k = (count: number) => {
    for (let i = 0; i < count; i++) {
      python.toArray(tensor, "torch")[Symbol.dispose]();
      take(both, array)[Symbol.dispose]();
    }
    (globalThis as { gc?: () => void }).gc?.();
  };
  const level = () => ({ gpu: cuda.memory().free, host: Deno.memoryUsage().rss });
  both10k(1_000);
  await tensor.finished();
  const before = level();
  both10k(10_000);
  await tensor.finished();
  const after = level();
  const [gpu, rss] = [before.gpu - after.gpu, after.host - before.host];
  console.log(`loans: 10,000 lent and 10,000 taken: ${gpu} bytes of the GPU's, ${rss} of the host's`);
  assert(gpu <= ON_GPU && rss <= ON_HOST, `${gpu} bytes of the GPU's, ${rss} of the host's`);
});
