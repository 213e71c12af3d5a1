/** What of CUDA's memory OpenCL is not given, and why: over a recording of CUDA, on drivers that import nothing. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { MapperGraph } from "@samepage/interop";
import { CudaContext } from "../../src/cuda/mod.ts";
import { HERE, open } from "../opencl/help.ts";
import type { Fakes } from "./kernels/recording.ts";
import { recordedTests } from "./recorded.ts";

const BYTES = { shape: [4096], dtype: "u8" } as const;

const made = (out: BigUint64Array) => {
  out[0] = 0x20_0000n;
  return 0;
};

const FAKES: Fakes = {
  cuDeviceGetAttribute: (value: Int32Array) => {
    value[0] = 1; // it has virtual memory, with fds
    return 0;
  },
  cuMemGetAllocationGranularity: made,
  cuMemCreate: made,
  cuMemAddressReserve: made,
  cuMemMap: () => 0,
  cuMemSetAccess: () => 0,
  cuMemUnmap: () => 0,
  cuMemAddressFree: () => 0,
  cuMemRelease: () => 0,
} as Record<string, (...args: never[]) => number>;

const recordedTest = recordedTests(FAKES);

for (const platform of HERE.filter((name) => name !== "nvidia")) {
  recordedTest(`virtual memory is closed to ${platform}, which lacks an extension`, () => {
    using cuda = CudaContext.open();
    using cl = open(platform);
    using graph = new MapperGraph([cuda, cl]);
    using tensor = cuda.virtual.allocate(BYTES);
    assertStringIncludes(String(graph.explain(tensor, cl)), "has no cl_khr_external_memory");
    assertEquals(cl.driver.lines.sync, undefined);
  });
}

recordedTest("virtual memory is CUDA's in place, and without an fd it goes nowhere by one", () => {
  using cuda = CudaContext.open();
  using graph = new MapperGraph([cuda]);
  using shared = cuda.virtual.allocate(BYTES);
  assertStringIncludes(
    String(graph.explain(shared, cuda)),
    "cuda.virtual→cuda: alias (the same device, and the same primary context)",
  );
  using tensor = cuda.virtual.allocate({ ...BYTES, sharable: false });
  const [byFd] = cuda.virtual.ports.exports;
  assertEquals([byFd.kind, byFd.device], ["opaque-fd", undefined]); // another GPU's OpenCL takes it too
  assertStringIncludes(byFd.refuse!(tensor.described.range)!.reason, "without an fd");
});
