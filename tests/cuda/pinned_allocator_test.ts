// Pinned memory for native code that allocates by itself, on a GPU: OpenCV's own Mats, which kernels use in place.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { CudaEdges } from "../../examples/cuda-edges/kernels.ts";
import { findEdges } from "../../examples/cuda-edges/peers.ts";
import { stripes } from "../../examples/cuda-edges/picture.ts";
import { detectEdgesInGrey } from "../../examples/edges/host.ts";
import type { Address } from "../../ffi/address.ts";
import { host, ledger, MapperGraph } from "../../mod.ts";
import {
  type CudaContext,
  CudaContext as Cuda,
  type CudaPinnedAllocator,
  type CudaTensor,
} from "../../src/cuda/mod.ts";
import { cudaDriver } from "../../src/cuda/library.ts";
import { OpenCVContext, type OpenCVMat, ReallocatedError } from "../../src/opencv/mod.ts";
import { assertSame, random } from "../conformance/bytes.ts";
import { present } from "../opencv/help.ts";
import { gpuTest, withCuda } from "./help.ts";

const [ROWS, COLUMNS] = [480, 640];
const COUNT = ROWS * COLUMNS;
const FRAME = 3840 * 2160 * 4;
const noOpenCV = present ? undefined : "needs OpenCV";

const SOURCE = `
extern "C" __global__ void add(unsigned char* bytes, unsigned int count) {
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) bytes[i] += 1;
}`;

/** Has a kernel add 1 to each byte of a tensor, in place. */
function addOne(cuda: CudaContext, tensor: CudaTensor): void {
  using program = cuda.program(SOURCE);
  using kernel = program.kernel("add", ["unsigned char*", "unsigned int"]);
  const { byteLength } = tensor.layout;
  kernel.run({ groups: [Math.ceil(byteLength / 256)], groupSize: [256] }, [tensor, byteLength]);
}

/** A Mat that OpenCV itself has allocated, of these bytes: the result of bitwise_not. */
function matOfOpenCV(cv: OpenCVContext, graph: MapperGraph, bytes: Uint8Array): OpenCVMat {
  using memory = host.allocate({ shape: [ROWS, COLUMNS], dtype: "u8" });
  memory.bytes().set(bytes.map((byte) => ~byte));
  using source = graph.map(memory, cv.mat, { access: "read" });
  using other = host.allocate({ shape: [1, 1], dtype: "u8" });
  const output = graph.map(other, cv.mat);
  cv.bitwise_not(source, output, { reallocate: true });
  return assertThrows(() => output[Symbol.dispose](), ReallocatedError).result as OpenCVMat;
}

const TAKE = { parameters: ["buffer", "usize", "usize"], result: "i32" } as const;
const GIVE = { parameters: ["u64"], result: "void" } as const;

/** The two functions, as native code calls them in this thread. */
function callsOf({ take, give }: CudaPinnedAllocator) {
  const out = new BigUint64Array(1);
  const taking = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create<typeof TAKE>(take)!, TAKE);
  const giving = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create<typeof GIVE>(give)!, GIVE);
  return {
    take(size: number): bigint {
      assertEquals(taking.call(out, 4096n, BigInt(size)), 0, `take(${size})`);
      return out[0];
    },
    give: (block: bigint) => giving.call(block),
  };
}

gpuTest(
  "pinned allocator: a kernel uses a Mat of OpenCV's own in place",
  () =>
    withCuda((cuda) => {
      using cv = OpenCVContext.open();
      using graph = new MapperGraph([host, cuda, cv]);
      using allocator = cuda.pinned.allocator();
      using _default = cv.defaultAllocator(allocator);
      const bytes = random(COUNT);
      using mat = matOfOpenCV(cv, graph, bytes);
      assertEquals(allocator.statistics.lentBytes, 2 ** 19, "the Mat's block");
      assertEquals(mat.address % 4096n, 0n, "where the Mat begins");
      {
        using onDevice = graph.map(mat, cuda);
        const copied = cuda.bytesCopied; // the proof is over
        console.log(onDevice.route.toString());
        assertEquals(onDevice.memory, "pinned");
        assertEquals(onDevice.route.steps.map(({ transfer }) => transfer), ["alias", "alias"]);
        addOne(cuda, onDevice);
        cuda.stream.finish();
        assertEquals(cuda.bytesCopied - copied, 0, "bytes that were copied");
      }
      {
        using seen = graph.map(mat, host, { access: "read" });
        assertEquals(seen.address, mat.address);
        assertSame(seen.bytes().slice(), bytes.map((byte) => byte + 1), "what the kernel has written");
      }
      mat[Symbol.dispose]();
      assertEquals(allocator.statistics, { lentBytes: 0, idleBytes: 2 ** 19 }, "after the Mat's end");
    }),
  1,
  noOpenCV,
);

gpuTest(
  "pinned allocator: the seed's stripes in a Mat of OpenCV's own, and their edges in another, by kernels and by OpenCV",
  () =>
    withCuda((cuda) => {
      using cv = OpenCVContext.open();
      using graph = new MapperGraph([host, cuda, cv]);
      using allocator = cuda.pinned.allocator({ mapped: true });
      using _default = cv.defaultAllocator(allocator);
      const { grey, width, height } = stripes();
      assertEquals([height, width], [ROWS, COLUMNS]);
      const expected = detectEdgesInGrey(grey, width, height);
      using input = matOfOpenCV(cv, graph, grey);
      using output = matOfOpenCV(cv, graph, new Uint8Array(COUNT));
      assertEquals(allocator.statistics.lentBytes, 2 * 2 ** 19, "two blocks");
      using edges = new CudaEdges(cuda, width, height);
      {
        using from = graph.map(input, cuda, { access: "read" });
        using to = graph.map(output, cuda);
        const copied = cuda.bytesCopied;
        edges.run(from, to);
        cuda.stream.finish();
        assertEquals(cuda.bytesCopied - copied, 0, "bytes that were copied");
      }
      {
        using seen = graph.map(output, host, { access: "read" });
        assertSame(seen.bytes().slice(), Uint8Array.from(expected), "the kernels' edges");
      }
      findEdges(cv, input, output);
      using seen = graph.map(output, host, { access: "read" });
      assertSame(seen.bytes().slice(), Uint8Array.from(expected), "OpenCV's edges");
    }),
  1,
  noOpenCV,
);

gpuTest("pinned allocator: the flags of a block are those that were asked for", () =>
  withCuda((cuda) => {
    const { unifiedAddressing } = cuda.device.attributes;
    for (const writeCombined of [false, true]) {
      using allocator = cuda.pinned.allocator({ writeCombined });
      const { take, give } = callsOf(allocator);
      for (const size of [64, 4096, 100_000]) {
        const block = take(size);
        assertEquals(block % 4096n, 0n, `where a block of ${size} bytes begins`);
        {
          using tensor = cuda.attach(block, { shape: [size], dtype: "u8" });
          cuda.stream.fill(tensor, 7);
          cuda.stream.finish();
          using graph = new MapperGraph([host, cuda]);
          using seen = graph.map(tensor, host);
          assert(seen.bytes().every((byte) => byte === 7), "what the device has filled in");
        }
        {
          using graph = new MapperGraph([host, cuda]);
          using tensor = host.wrap(Deno.UnsafePointer.create(block)!, { shape: [size], dtype: "u8" });
          using mapped = graph.map(tensor, cuda, { access: "read" });
          assertEquals(mapped.memory, "pinned");
          const flags = cuda.pinned.flagsOf(mapped);
          assertEquals(flags.includes("cudaHostAllocWriteCombined"), writeCombined, `${flags}`);
          if (unifiedAddressing === 1) assert(flags.includes("cudaHostAllocMapped"), `${flags}`);
        }
        give(block);
      }
    }
  }));

gpuTest(
  "pinned allocator: to take a locked block again costs nothing, and the thread's context stays",
  () =>
    withCuda((cuda) => {
      using allocator = cuda.pinned.allocator();
      const { take, give } = callsOf(allocator);
      const current = new BigUint64Array(1);
      const contextOf = () => {
        const at = BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(current))) as Address;
        assertEquals(cudaDriver().cuCtxGetCurrent(at), 0);
        return current[0];
      };
      const before = contextOf();
      const times: number[] = [];
      for (let i = 0; i < 4; i++) {
        const start = performance.now();
        const block = take(FRAME);
        times.push(performance.now() - start);
        give(block);
      }
      assertEquals(contextOf(), before, "the thread's current context");
      console.log(`take 33 MB: ${times.map((ms) => `${(1000 * ms).toFixed(1)} µs`).join(", ")}`);
      assert(Math.min(...times.slice(1)) < times[0] / 10, `${times}`);
      const start = performance.now();
      allocator.trim();
      console.log(`trim 33 MB: ${(1000 * (performance.now() - start)).toFixed(1)} µs`);
      assertEquals(allocator.statistics, { lentBytes: 0, idleBytes: 0 });
    }),
);

gpuTest("pinned allocator: threads of no context take blocks in the pool's", () =>
  withCuda(async (cuda) => {
    using allocator = cuda.pinned.allocator();
    const nonblocking = { ...TAKE, nonblocking: true } as const;
    const pointer = Deno.UnsafePointer.create<typeof nonblocking>(allocator.take)!;
    const taking = new Deno.UnsafeFnPointer(pointer, nonblocking);
    const outs = Array.from({ length: 8 }, () => new BigUint64Array(1));
    assertEquals(await Promise.all(outs.map((out) => taking.call(out, 4096n, 100_000n))), outs.map(() => 0));
    assertEquals(new Set(outs.map(([block]) => block)).size, 8);
    for (const [block] of outs) cuda.attach(block, { shape: [100_000], dtype: "u8" })[Symbol.dispose]();
    for (const [block] of outs) callsOf(allocator).give(block);
  }));

gpuTest(
  "pinned allocator: a Mat outlives it and the CUDA context, and its block is the next one's",
  async () => {
    using cv = OpenCVContext.open();
    const before = ledger.alive["cuda.primary_context"] ?? 0;
    let mat: OpenCVMat | undefined;
    const bytes = random(COUNT);
    await withCuda((cuda) => {
      using graph = new MapperGraph([host, cuda, cv]);
      using _default = cv.defaultAllocator(cuda.pinned.allocator());
      mat = matOfOpenCV(cv, graph, bytes);
    });
    {
      using graph = new MapperGraph([host, cv]);
      using seen = graph.map(mat!, host, { access: "read" });
      assertSame(seen.bytes().slice(), bytes, "what OpenCV has written, after the allocator's end");
    }
    assertEquals(ledger.alive["cuda.primary_context"], before + 1, "the primary context is kept for the Mat");
    mat![Symbol.dispose]();
    using cuda = Cuda.open();
    using allocator = cuda.pinned.allocator();
    assertEquals(allocator.statistics, { lentBytes: 0, idleBytes: 2 ** 19 }, "the Mat's block has come back");
  },
  1,
  noOpenCV,
);
