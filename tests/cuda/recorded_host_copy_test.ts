/** Device memory as host memory, by a copy: which native calls are made, in which order, and what a failure leaves. */
import { assertEquals, assertThrows } from "@std/assert";
import { host, MapperGraph, NativeCallError } from "../../mod.ts";
import { mapBlock, PAGE } from "../../src/core/native/blocks.ts";
import { CudaContext } from "../../src/cuda/mod.ts";
import type { Fakes } from "./kernels/recording.ts";
import { recordedTests } from "./recorded.ts";

const DEVICE = 0x7000_0000_0000n;
const INVALID = 1;

/** The calls on memory since the list was last emptied. */
let calls: string[] = [];
let pinned = 0n;
let fails = "";

function told(name: string, run: (...args: never[]) => void = () => {}): (...args: never[]) => number {
  return (...args) => {
    calls.push(name);
    if (fails === name) return INVALID;
    run(...args);
    return 0;
  };
}

const FAKES: Fakes = {
  cudaMalloc: (out: BigUint64Array) => {
    out[0] = DEVICE;
    return 0;
  },
  cudaFree: () => 0,
  cudaHostAlloc: told("cudaHostAlloc", (out: BigUint64Array) => {
    pinned = out[0] = mapBlock({ byteLength: PAGE, align: PAGE, sharable: false, guard: false }).address;
  }),
  cudaHostGetDevicePointer: told("cudaHostGetDevicePointer", (out: BigUint64Array, at: bigint) => {
    out[0] = at;
  }),
  cudaFreeHost: told("cudaFreeHost"),
  cudaMemcpyAsync: (to: bigint, _from: bigint) => told(to === DEVICE ? "back" : "there")(),
  cudaEventQuery: () => 0,
} as Record<string, (...args: never[]) => number>;

const recordedTest = recordedTests(FAKES);

for (const access of ["read", "write", "read-write"] as const) {
  recordedTest(`device memory mapped to the host for "${access}" is copied as often as that needs`, () => {
    using cuda = CudaContext.open();
    using graph = new MapperGraph([host, cuda]);
    using tensor = cuda.allocate({ shape: [64], dtype: "u8" });
    calls = [];
    const mapped = graph.map(tensor, host, { access, copy: "allow" });
    const there = access === "write" ? [] : ["there"];
    assertEquals([calls, mapped.address], [["cudaHostAlloc", "cudaHostGetDevicePointer", ...there], pinned]);
    calls = [];
    mapped[Symbol.dispose]();
    const back = access === "read" ? [] : ["back"];
    assertEquals([calls, cuda.bytesCopied], [[...back, "cudaFreeHost"], 64 * (there.length + back.length)]);
  });
}

recordedTest("a copy to the host that fails leaves no memory, and counts nothing", () => {
  using cuda = CudaContext.open();
  using graph = new MapperGraph([host, cuda]);
  using tensor = cuda.allocate({ shape: [64], dtype: "u8" });
  for (fails of ["cudaHostAlloc", "there"]) {
    calls = [];
    assertThrows(() => graph.map(tensor, host, { copy: "allow" }), NativeCallError);
    assertEquals([calls.at(-1), cuda.bytesCopied], [fails === "there" ? "cudaFreeHost" : fails, 0]);
  }
  fails = "";
});
