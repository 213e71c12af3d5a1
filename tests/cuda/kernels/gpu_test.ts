import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, NativeCallError } from "../../../mod.ts";
import { CudaBuildError, type CudaContext, type CudaKernelArgument, type CudaTensor } from "../../../src/cuda/mod.ts";
import { compile } from "../../../src/cuda/kernels/compile.ts";
import { sourceIn } from "../../../src/cuda/kernels/source.ts";
import { gpuTest, withCuda } from "../help.ts";

const ADD = `extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}`;

function onDevice(cuda: CudaContext, numbers: Float32Array | Int32Array): CudaTensor {
  const dtype = numbers instanceof Float32Array ? "f32" : "i32";
  const tensor = cuda.allocate({ shape: [numbers.length], dtype });
  cuda.stream.write(tensor, numbers);
  return tensor;
}

function floatsOf(cuda: CudaContext, tensor: CudaTensor): Float32Array {
  const numbers = new Float32Array(tensor.layout.shape[0]);
  cuda.stream.read(tensor, numbers);
  return numbers;
}

function bytesIn(cuda: CudaContext, tensor: CudaTensor): Uint8Array {
  const bytes = new Uint8Array(tensor.layout.byteLength);
  cuda.stream.read(tensor, bytes);
  return bytes;
}

/** Runs `add` on 10,000 numbers. */
function addsRight(cuda: CudaContext, program: ReturnType<CudaContext["program"]>): void {
  using add = program.kernel("add", ["const float*", "const float*", "float*", "int"]);
  const n = 10_000;
  using a = onDevice(cuda, Float32Array.from({ length: n }, () => Math.random()));
  using b = onDevice(cuda, Float32Array.from({ length: n }, () => Math.random()));
  using c = cuda.allocate({ shape: [n], dtype: "f32" });
  add.run({ groups: [Math.ceil(n / 256)], groupSize: [256] }, [a, b, c, n]);
  const [left, right] = [floatsOf(cuda, a), floatsOf(cuda, b)];
  assertEquals(floatsOf(cuda, c), left.map((x, i) => x + right[i]));
}

gpuTest("kernels: CUDA C++ adds vectors", () =>
  withCuda((cuda) => {
    using program = cuda.program(ADD);
    addsRight(cuda, program);
  }));

gpuTest("kernels: PTX and cubins are loaded, and run", () =>
  withCuda((cuda) => {
    const { major, minor } = cuda.device.computeCapability;
    const { code } = compile(sourceIn(ADD, { options: [`-arch=compute_${major}${minor}`] }), cuda.device);
    assert(code.isPtx);
    using ptx = cuda.programFromPtx(new TextDecoder().decode(code.bytes).replace("\0", ""));
    addsRight(cuda, ptx);
    const cubin = compile(sourceIn(ADD, {}), cuda.device);
    assert(!cubin.code.isPtx);
    using loaded = cuda.programFromCubin(cubin.code.bytes);
    addsRight(cuda, loaded);
    assertEquals(loaded.kernelNames, ["add"]);
  }));

gpuTest("kernels: pinned, managed and device memory are all arguments", () =>
  withCuda((cuda) => {
    using program = cuda.program(ADD);
    using add = program.kernel("add", ["const float*", "const float*", "float*", "int"]);
    using a = cuda.pinned.allocate({ shape: [100], dtype: "f32" });
    using b = cuda.managed.allocate({ shape: [100], dtype: "f32" });
    using c = cuda.allocate({ shape: [100], dtype: "f32" });
    cuda.stream.write(a, new Float32Array(100).fill(1));
    cuda.stream.write(b, new Float32Array(100).fill(2));
    add.run({ groups: [1], groupSize: [128] }, [a, b, c, 100]);
    assertEquals(floatsOf(cuda, c), new Float32Array(100).fill(3));
  }));

gpuTest("kernels: PTX that does not compile is an error with the driver's log", () =>
  withCuda((cuda) => {
    const ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n  no.such.instruction;\n}\n";
    const error = assertThrows(() => {
      using program = cuda.programFromPtx(ptx); // the driver may compile it only when a kernel is asked for
      program.kernel("k", []);
    }, NativeCallError);
    assert(error instanceof CudaBuildError, error.message);
    assertStringIncludes(error.log, "line 5");
  }));

/** What a kernel gets of each type, as it writes it to memory. */
const ECHOES: readonly (readonly [type: string, cpp: string, value: CudaKernelArgument, bytes: ArrayBufferView])[] = [
  ["bool", "bool", true, Uint8Array.of(1)],
  ["char", "char", -5, Int8Array.of(-5)],
  ["unsigned char", "unsigned char", 250, Uint8Array.of(250)],
  ["short", "short", -30_000, Int16Array.of(-30_000)],
  ["ushort", "unsigned short", 60_000, Uint16Array.of(60_000)],
  ["half", "unsigned short", 1.5, Float16Array.of(1.5)],
  ["int", "int", -(2 ** 31), Int32Array.of(-(2 ** 31))],
  ["uint", "unsigned int", 2 ** 32 - 1, Uint32Array.of(2 ** 32 - 1)],
  ["long long", "long long", -(2 ** 40), BigInt64Array.of(-(2n ** 40n))],
  ["unsigned long long", "unsigned long long", 2n ** 64n - 1n, BigUint64Array.of(2n ** 64n - 1n)],
  ["size_t", "size_t", 2 ** 53 - 1, BigUint64Array.of(2n ** 53n - 1n)],
  ["float", "float", 0.1, Float32Array.of(0.1)],
  ["double", "double", 0.1, Float64Array.of(0.1)],
  ["uchar3", "uchar3", [1, 2, 3], Uint8Array.of(1, 2, 3)],
  ["int3", "int3", [1, -2, 3], Int32Array.of(1, -2, 3)],
  ["float2", "float2", [1, 2], Float32Array.of(1, 2)],
  ["float4", "float4", [1, 2, 3, 4], Float32Array.of(1, 2, 3, 4)],
  ["double2", "double2", [1, 2], Float64Array.of(1, 2)],
  ["ulonglong2", "ulonglong2", [1, 2n ** 63n], BigUint64Array.of(1n, 2n ** 63n)],
];

gpuTest("kernels: every type of parameter arrives, beside others", () =>
  withCuda((cuda) => {
    const source = `struct Twelve { int a, b, c; };
      template <class T> __global__ void echo(char before, T value, void* out, char after) {
        if (before == 11 && after == 22) *(T*)out = value;
      }`;
    const names = [...new Set([...ECHOES.map(([, cpp]) => cpp), "Twelve"])].map((cpp) => `echo<${cpp}>`);
    using program = cuda.program(source, { names });
    using out = cuda.allocate({ shape: [16], dtype: "u8" });
    const struct = Int32Array.of(1, -2, 3);
    for (const [type, cpp, value, bytes] of [...ECHOES, [{ bytes: 12 }, "Twelve", struct, struct] as const]) {
      using echo = program.kernel(`echo<${cpp}>`, ["char", type, "void*", "char"]);
      cuda.stream.fill(out, 0xee);
      echo.run({ groups: [1], groupSize: [1] }, [11, value, out, 22]);
      const expected = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      assertEquals(bytesIn(cuda, out).subarray(0, expected.length), expected, `${type}`);
      assertEquals(bytesIn(cuda, out).subarray(expected.length).every((byte) => byte === 0xee), true, `${type}`);
    }
  }));

gpuTest("kernels: what was declared is held against what the driver knows", () =>
  withCuda((cuda) => {
    using program = cuda.program(`${ADD} struct Odd { char c[3]; }; extern "C" __global__ void odd(Odd, double) {}`);
    const wrong: [string, readonly (string | { bytes: number })[], string][] = [
      ["add", ["const float*", "const float*", "float*"], "parameters"],
      ["add", ["const float*", "const float*", "float*", "int", "int"], "parameters"],
      ["add", ["const float*", "const float*", "float*", "double"], "parameters[3]"],
      ["odd", [{ bytes: 4 }, "double"], "parameters[0]"],
      ["odd", [], "parameters"],
    ];
    for (const [name, types, argument] of wrong) {
      assertEquals(assertThrows(() => program.kernel(name, types), ArgumentError).argument, argument);
    }
    program.kernel("odd", [{ bytes: 3 }, "double"])[Symbol.dispose]();
    const missing = assertThrows(() => program.kernel("nothing", []), ArgumentError);
    assertStringIncludes(missing.message, "add");
  }));

gpuTest("kernels: grids have three dimensions", () =>
  withCuda((cuda) => {
    using program = cuda.program(`extern "C" __global__ void where(int* out) {
      int x = blockIdx.x * blockDim.x + threadIdx.x;
      int y = blockIdx.y * blockDim.y + threadIdx.y;
      int z = blockIdx.z * blockDim.z + threadIdx.z;
      int w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;
      atomicAdd(&out[(z * h + y) * w + x], 1 + x + 1000 * y + 1000000 * z);
    }`);
    using where = program.kernel("where", ["int*"]);
    const [w, h, d] = [3 * 8, 5 * 4, 7 * 2];
    using out = onDevice(cuda, new Int32Array(w * h * d));
    where.run({ groups: [3, 5, 7], groupSize: [8, 4, 2] }, [out]);
    const found = new Int32Array(w * h * d);
    cuda.stream.read(out, found);
    assertEquals(
      found,
      Int32Array.from(found, (_, i) => {
        const [x, y, z] = [i % w, Math.floor(i / w) % h, Math.floor(i / (w * h))];
        return 1 + x + 1000 * y + 1_000_000 * z;
      }),
    );
  }));

gpuTest("kernels: dynamic shared memory, up to all that a block may have", () =>
  withCuda((cuda) => {
    using program = cuda.program(`extern "C" __global__ void reverse(float* x, int n) {
      extern __shared__ float tile[];
      for (int i = threadIdx.x; i < n; i += blockDim.x) tile[n - 1 - i] = x[i];
      __syncthreads();
      for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = tile[i];
    }`);
    using reverse = program.kernel("reverse", ["float*", "int"]);
    using again = program.kernel("reverse", ["float*", "int"]);
    const { maxSharedMemoryPerBlockOptin: most = 49_152 } = cuda.device.attributes;
    for (
      const [kernel, bytes] of [[reverse, 4096], [reverse, 49_152], [again, most], [reverse, most], [
        again,
        64,
      ]] as const
    ) {
      const numbers = Float32Array.from({ length: bytes / 4 }, (_, i) => i);
      using tensor = onDevice(cuda, numbers);
      kernel.run({ groups: [1], groupSize: [256], sharedBytes: bytes }, [tensor, numbers.length]);
      assertEquals(floatsOf(cuda, tensor), numbers.reverse(), `${bytes} bytes`);
    }
    using tensor = onDevice(cuda, new Float32Array(4));
    const launch = { groups: [1], groupSize: [1], sharedBytes: most + 1 };
    assertEquals(assertThrows(() => reverse.run(launch, [tensor, 4]), ArgumentError).argument, "sharedBytes");
  }));

gpuTest("kernels: a launch that the device cannot do is refused, one at the limit runs", () =>
  withCuda((cuda) => {
    using program = cuda.program(`
      extern "C" __global__ void plain(int* x) { atomicAdd(x, 1); }
      extern "C" __global__ void __launch_bounds__(128) narrow(int* x) { atomicAdd(x, 1); }`);
    using plain = program.kernel("plain", ["int*"]);
    using narrow = program.kernel("narrow", ["int*"]);
    using count = onDevice(cuda, new Int32Array(1));
    assertEquals(narrow.needs.maxThreadsPerBlock, 128);
    for (const block of [[1025], [1024, 2], [1, 1, 65], [33, 32]]) {
      assertThrows(() => plain.run({ groups: [1], groupSize: block }, [count]), ArgumentError);
    }
    assertThrows(() => narrow.run({ groups: [1], groupSize: [129] }, [count]), ArgumentError);
    assertThrows(() => plain.run({ groups: [1, 65_536], groupSize: [1] }, [count]), ArgumentError);
    plain.run({ groups: [1], groupSize: [1024] }, [count]);
    plain.run({ groups: [1, 1, 1], groupSize: [16, 1, 64] }, [count]);
    plain.run({ groups: [1, 65_535], groupSize: [1] }, [count]);
    narrow.run({ groups: [1], groupSize: [128] }, [count]);
    const found = new Int32Array(1);
    cuda.stream.read(count, found);
    assertEquals(found[0], 1024 + 1024 + 65_535 + 128);
  }));

/** Kernels that take a while, and that reach memory by an address that samepage does not know. */
const SLOW = `
  extern "C" __global__ void slow(int* out, long long cycles, int value) {
    long long end = clock64() + cycles;
    while (clock64() < end);
    *out = value;
  }
  extern "C" __global__ void take(size_t from, int* to) { *to = *(volatile int*)from; }`;

gpuTest(
  "kernels: streams run beside each other, unless one is told to wait, or uses the same tensor",
  () =>
    withCuda((cuda) => {
      using program = cuda.program(SLOW);
      using slow = program.kernel("slow", ["int*", "long long", "int"]);
      using take = program.kernel("take", ["size_t", "int*"]);
      using one = cuda.createStream();
      using two = cuda.createStream();
      using first = onDevice(cuda, Int32Array.of(0));
      using second = onDevice(cuda, Int32Array.of(0));
      const found = new Int32Array(1);
      const once = { groups: [1], groupSize: [1] };
      const { address } = first;
      slow.run(once, [first, 0, 1], { stream: one }); // both are loaded from here on
      take.run(once, [address, second], { stream: two });
      one.finish();
      two.finish();

      slow.run(once, [first, 200_000_000, 2], { stream: one });
      take.run(once, [address, second], { stream: two }); // it does not know of the tensor
      two.finish();
      cuda.stream.read(second, found);
      assertEquals(found[0], 1, "it did not wait");
      one.finish();

      slow.run(once, [first, 200_000_000, 3], { stream: one });
      const fence = one.fence();
      take.run(once, [address, second], { stream: two, after: fence });
      cuda.stream.read(second, found);
      assertEquals(found[0], 3, "it waited for the fence");

      slow.run(once, [first, 200_000_000, 4], { stream: one });
      slow.run(once, [first, 0, 5], { stream: two });
      cuda.stream.read(first, found);
      assertEquals(found[0], 5, "it waited for the tensor");
    }),
);

gpuTest("kernels: a program that is disposed at once has done its work", () =>
  withCuda((cuda) => {
    using out = onDevice(cuda, Int32Array.of(0));
    {
      using program = cuda.program(SLOW);
      using slow = program.kernel("slow", ["int*", "long long", "int"]);
      slow.run({ groups: [1], groupSize: [1] }, [out, 50_000_000, 7]);
    }
    const found = new Int32Array(1);
    cuda.stream.read(out, found);
    assertEquals(found[0], 7);
  }));

gpuTest("kernels: 500 programs are loaded and unloaded", () =>
  withCuda((cuda) => {
    const { code } = compile(sourceIn(ADD, {}), cuda.device);
    const load = () => {
      using program = cuda.programFromCubin(code.bytes);
      program.kernel("add", ["const float*", "const float*", "float*", "int"]);
    };
    for (let i = 0; i < 50; i++) load();
    const before = Deno.memoryUsage().rss;
    for (let i = 0; i < 500; i++) load();
    assert(Deno.memoryUsage().rss - before < 32 * 2 ** 20);
  }));
