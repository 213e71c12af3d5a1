import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { host, ledger, MapperGraph, NativeCallError, NoRouteError } from "@samepage/interop";
import { fromDLPack, toDLPack } from "@samepage/interop/dlpack";
import { OpenCLContext, type OpenCLUsmTensor } from "@samepage/interop/opencl";
import { SyclContext, type SyclTensor } from "@samepage/interop/sycl";
import { kDLOneAPI } from "../../ffi/dlpack/constants.ts";
import { CL_CONTEXT_REFERENCE_COUNT } from "../../ffi/opencl/constants.ts";
import { opencl } from "../../src/opencl/library.ts";
import { Level } from "../gc.ts";
import { hasDevice } from "../opencl/present.ts";
import { warningsOf } from "../warnings.ts";
import { alive, behave, isStandIn, openSycl } from "./open.ts";

const missing = await openSycl();
const test = (name: string, fn: () => void | Promise<void>, ignore = false) =>
  Deno.test({ name, fn, ignore: missing !== undefined || ignore });

const SOURCE = `
kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }
kernel void scale(global float* x, float by) { x[get_global_id(0)] *= by; }`;

function open(): SyclContext {
  return SyclContext.open(isStandIn() ? {} : { platform: "Intel" });
}

for (const kind of ["host", "shared", "device"] as const) {
  test(`run() changes ${kind} memory that the host sees afterwards`, async () => {
    using sycl = open();
    using graph = new MapperGraph([host, sycl]);
    using program = sycl.program(SOURCE);
    using scale = program.kernel("scale", ["global float*", "float"]);
    using numbers = sycl.usm.allocate({ kind, shape: [64], dtype: "f32" });
    sycl.queue.fill(numbers, 7);
    scale.run({ items: [64] }, [numbers, 6]);
    scale.run({ items: [64], groupSize: [16] }, [numbers, 0.5]);
    await sycl.queue.fence().wait();
    using seen = graph.map(numbers, host, { access: "read", copy: "allow" });
    assertEquals(seen.view({ dtype: "f32" }), new Float32Array(64).fill(21));
    assertEquals(seen.handle === numbers.address, kind !== "device");
  });
}

test("run() works in the host's own memory, in place", () => {
  using sycl = open();
  using graph = new MapperGraph([host, sycl]);
  using twice = sycl.program(SOURCE).kernel("twice", ["float*"]);
  using numbers = host.allocate({ shape: [64], dtype: "f32" });
  numbers.view().fill(21);
  const { handle } = numbers;
  {
    using mapped = graph.map(numbers, sycl.usm);
    assertEquals([mapped.address, mapped.usm], [handle, "system"]);
    twice.run({ items: [64] }, [mapped]);
  }
  assertEquals(numbers.view(), new Float32Array(64).fill(42));
  assertEquals(sycl.bytesCopied, 0);
});

test("createQueue() makes a queue that the garbage collector ends with a warning", async () => {
  using sycl = open();
  using numbers = sycl.usm.allocate({ kind: "shared", shape: [64], dtype: "f32" });
  const queues = new Level(() => ledger.alive["sycl.queue"]);
  const warnings = await warningsOf(async () => {
    (() => sycl.createQueue().fill(numbers, 1))();
    await queues.assertBack("queues");
  });
  assertMatch(warnings[0], /^samepage: sycl queue .* was never disposed/);
});

/** A context of OpenCL's; the stand-in takes each. */
function openCl(): OpenCLContext {
  return OpenCLContext.open(isStandIn() ? {} : { platform: "Intel" });
}

test("open({ on }) keeps the context of OpenCL's for as long as its memory", () => {
  const before = alive();
  const cl = openCl();
  using kept = OpenCLContext.attach(cl.handle);
  const references = () => {
    const count = new Uint32Array(1);
    opencl().clGetContextInfo(kept.handle, CL_CONTEXT_REFERENCE_COUNT, 4n, count, null);
    return count[0];
  };
  const sycl = SyclContext.open({ on: cl });
  const numbers = sycl.usm.allocate({ kind: "shared", shape: [64], dtype: "f32" });
  cl[Symbol.dispose]();
  sycl.queue.fill(numbers, 3);
  const out = new Float32Array(64);
  sycl.queue.read(numbers, out);
  assertEquals(out, new Float32Array(64).fill(3));
  const held = references();
  numbers[Symbol.dispose]();
  assertEquals(references(), held);
  sycl[Symbol.dispose]();
  assertEquals(references(), held - 1);
  assertEquals(alive(), before);
}, !hasDevice(isStandIn() ? "" : "Intel"));

for (const kind of ["host", "shared", "device"] as const) {
  test(`map() shares ${kind} memory between OpenCL and SYCL in one context`, () => {
    using cl = openCl();
    using sycl = SyclContext.open({ on: cl });
    using graph = new MapperGraph([host, cl, sycl]);
    using program = cl.program("kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }");
    using twice = program.kernel("twice");
    const seen = (tensor: OpenCLUsmTensor | SyclTensor) => {
      using onHost = graph.map(tensor, host, { access: "read", copy: "allow" });
      return onHost.view({ dtype: "f32" })[63];
    };
    using theirs = cl.usm.allocate({ kind, shape: [64], dtype: "f32" });
    {
      assertEquals(graph.explain(theirs, sycl.usm).steps.map(({ transfer }) => transfer), ["alias"]);
      using here = graph.map(theirs, sycl.usm);
      assertEquals([here.address, here.usm], [theirs.address, kind]);
      sycl.queue.fill(here, 21);
    }
    twice.run({ items: [64] }, [theirs]);
    assertEquals(seen(theirs), 42);
    using ours = sycl.usm.allocate({ kind, shape: [64], dtype: "f32" });
    sycl.queue.fill(ours, 5);
    {
      using there = graph.map(ours, cl.usm);
      twice.run({ items: [64] }, [there]);
    }
    assertEquals(seen(ours), 10);
    using other = openCl();
    using far = other.usm.allocate({ kind, shape: [64], dtype: "f32" });
    using both = new MapperGraph([other, sycl]);
    assertThrows(() => both.map(far, sycl.usm), NoRouteError, "memory of another native context");
  }, isStandIn()); // a driver of OpenCL's with unified memory
}

test("waitFor() orders two queues on the device", () => {
  using sycl = open();
  using other = sycl.createQueue();
  using big = sycl.usm.allocate({ kind: "shared", shape: [2 ** 22], dtype: "f32" });
  using last = sycl.usm.allocate({ kind: "shared", shape: [1], dtype: "f32" });
  sycl.queue.fill(big, 3);
  other.waitFor(sycl.queue.fence());
  other.copy(big.slice({ shape: [1], dtype: "f32", byteOffset: 4 * (2 ** 22 - 1) }), last);
  const out = new Float32Array(1);
  other.read(last, out);
  assertEquals(out[0], 3);
});

test("reached() is false while the queue is busy", async () => {
  behave("busy");
  using sycl = open();
  using numbers = sycl.usm.allocate({ kind: "shared", shape: [64], dtype: "f32" });
  try {
    sycl.queue.fill(numbers, 1);
    assertEquals(sycl.queue.fence().reached(), false);
  } finally {
    behave();
  }
  await sycl.queue.fence().wait();
  assertEquals(sycl.queue.fence().reached(), true);
}, !isStandIn());

test("wait() throws the failure of work, and all objects end", async () => {
  const before = alive();
  {
    const sycl = open();
    behave("work-fails");
    const numbers = sycl.usm.allocate({ kind: "shared", shape: [64], dtype: "f32" });
    sycl.queue.fill(numbers, 1);
    await assertRejects(() => sycl.queue.fence().wait(), NativeCallError, "DPCTLQueue_Fill32 failed");
    behave();
    for (const each of [numbers, sycl]) assertThrows(() => each[Symbol.dispose](), NativeCallError);
  }
  assertEquals(alive(), before);
}, !isStandIn());

test("toDLPack() and fromDLPack() share a part of unified shared memory by its address", async () => {
  using sycl = open();
  using whole = sycl.usm.allocate({ kind: "host", shape: [64], dtype: "f32" });
  using part = whole.slice({ shape: [8], dtype: "f32", byteOffset: 64 });
  const loan = toDLPack(part);
  assertEquals(loan.device.type, kDLOneAPI);
  using back = fromDLPack(loan.handOver(), { contexts: [host, sycl] }) as SyclTensor;
  assertEquals([back.target, back.address], [sycl.usm, whole.rawHandle + 64n]);
  sycl.queue.fill(back, 3);
  await back.finished();
  back[Symbol.dispose]();
  part[Symbol.dispose]();
  const read = new Float32Array(64);
  await sycl.queue.read(whole, read);
  assertEquals([...read.subarray(16, 24)], Array(8).fill(3));
});
