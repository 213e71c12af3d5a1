// CUDA's memory over UCX: pinned memory in place, and a device's by a copy that is asked for and counted.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, host, MapperGraph, NoRouteError, type Tensor } from "../../mod.ts";
import type { CudaContext } from "../../src/cuda/mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import { gpuTest, withCuda } from "../cuda/help.ts";
import { missing } from "./help.ts";

const BYTES = { shape: [100_000], dtype: "u8" } as const;

/** Has what is shared read as by another process, and asserts that it is seven throughout. */
async function assertSevens(ucx: UcxContext, shared: Tensor): Promise<void> {
  await using share = ucx.share([shared]);
  await using remote = ucx.connect(share.ticket);
  await using here = host.allocate(BYTES);
  await remote.tensors[0].get(here);
  assert(here.view().every((value) => value === 7));
}

function ucxGpuTest(name: string, use: (ucx: UcxContext, cuda: CudaContext, graph: MapperGraph) => unknown): void {
  const run = async (cuda: CudaContext) => {
    await using ucx = UcxContext.open({ transports: ["tcp"] });
    using graph = new MapperGraph([host, cuda]);
    await use(ucx, cuda, graph);
  };
  gpuTest(name, () => withCuda(run), 1, missing);
}

ucxGpuTest("pinned memory is shared over UCX in place", async (ucx, cuda, graph) => {
  using pinned = cuda.pinned.allocate(BYTES);
  {
    using seen = graph.map(pinned, host);
    seen.bytes().fill(7);
  }
  await assertSevens(ucx, pinned);
});

ucxGpuTest("a device's memory goes over UCX by a copy that is asked for and counted", async (ucx, cuda, graph) => {
  using there = cuda.allocate(BYTES);
  cuda.stream.write(there, new Uint8Array(100_000).fill(7));
  const { argument, hint } = assertThrows(() => ucx.share([there]), ArgumentError, "UCX cannot use");
  assertEquals([argument, hint?.startsWith("Map it to the host")], ["tensors[0]", true]);
  assertThrows(() => graph.map(there, host, { access: "read" }), NoRouteError);
  const before = cuda.bytesCopied;
  await using seen = graph.map(there, host, { access: "read", copy: "allow" });
  assertEquals([seen.route.steps[0].transfer, cuda.bytesCopied - before], ["copy", 100_000]);
  await assertSevens(ucx, seen);
});
