import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { ArgumentError, DisposedError, host, LayoutError, ledger, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { CL_CONTEXT_REFERENCE_COUNT, CL_MEM_REFERENCE_COUNT } from "../../ffi/opencl/constants.ts";
import { SYMBOLS } from "../../ffi/opencl/symbols.ts";
import {
  ALL,
  assertBytes,
  assertHeld,
  bench,
  deviceOf,
  filled,
  gate,
  kernelsOf,
  open,
  randomTensor,
  test,
  testEach,
  thrown,
} from "./help.ts";
import { linesOf } from "./subprocess.ts";

/** The library by itself, as a user's own code would call it. */
function raw() {
  return Deno.dlopen("libOpenCL.so.1", SYMBOLS).symbols;
}

function count(fn: "clGetContextInfo" | "clGetMemObjectInfo", handle: bigint, name: number): number {
  const value = new Uint32Array(1);
  assertEquals(raw()[fn](handle, name, 4n, value, null), 0);
  return value[0];
}

testEach("attach retains a foreign cl_context, and releases it once", (platform) => {
  const device = deviceOf(platform);
  const code = new Int32Array(1);
  const theirs = raw().clCreateContext(null, 1, new BigUint64Array([device.handle]), 0n, null, code);
  assertEquals(code[0], 0);
  const references = () => count("clGetContextInfo", theirs, CL_CONTEXT_REFERENCE_COUNT);
  const before = references();
  {
    using cl = OpenCLContext.attach(theirs);
    assertStrictEquals(cl.handle as bigint, theirs);
    assertEquals(cl.device.name, device.name);
    assert(references() > before);
    using graph = new MapperGraph([host, cl]);
    using source = host.allocate({ shape: [64], dtype: "u8" });
    using again = OpenCLContext.attach(theirs);
    {
      using mapped = graph.map(source, cl);
      kernelsOf(cl).fill.run({ items: [64] }, [mapped, 3]);
    }
    assertBytes(source.view(), filled(64, 3));
    again[Symbol.dispose]();
    cl[Symbol.dispose]();
    cl[Symbol.dispose]();
    assertHeld(references, before);
  }
  assertHeld(references, before);
  assertEquals(raw().clReleaseContext(theirs), 0);
});

test("attach refuses null", ["pocl"], () => {
  assertEquals(thrown(ArgumentError, () => OpenCLContext.attach(0n)).argument, "handle");
});

testEach("a mapped buffer has one owner: its reference count stays 1", (platform) => {
  using b = bench(platform);
  const { tensor } = randomTensor(256);
  using source = tensor;
  using mapped = b.graph.map(source, b.cl);
  assertEquals(count("clGetMemObjectInfo", mapped.handle, CL_MEM_REFERENCE_COUNT), 1);
});

testEach("a context disposed first takes all that lives in it along", (platform) => {
  const cl = open(platform);
  const graph = new MapperGraph([host, cl]);
  const { tensor: source } = randomTensor(4096);
  const own = cl.allocate({ shape: [4096], dtype: "u8" });
  const slice = own.slice({ ...own.layout, shape: [1024], byteLength: 1024, byteOffset: 1024 });
  const seen = graph.map(slice, host);
  const mapped = graph.map(source, cl);
  const queue = cl.createQueue();
  const kernels = kernelsOf(cl);
  kernels.fill.run({ items: [4096] }, [mapped, 9], { queue });
  const fence = queue.fence();

  cl[Symbol.dispose]();

  for (const action of [() => own.handle, () => slice.handle, () => seen.view(), () => mapped.handle]) {
    thrown(DisposedError, action);
  }
  for (
    const action of [
      () => cl.handle,
      () => cl.queue.handle,
      () => queue.handle,
      () => queue.fence(),
      () => queue.finish(),
      () => kernels.fill.handle,
      () => kernels.program.handle,
      () => kernels.program.kernelNames,
      () => kernels.program.kernel("fill"),
      () => kernels.fill.run({ items: [1] }, [mapped, 1]),
      () => cl.allocate({ shape: [1], dtype: "u8" }),
      () => cl.createQueue(),
      () => cl.program("kernel void k() {}"),
      () => cl.aliasRule(),
      () => graph.map(source, cl),
      () => cl.queue.write(own, new Uint8Array(4096)),
    ]
  ) thrown(DisposedError, action);
  assert(fence.reached());
  assertBytes(source.view(), filled(4096, 9));
  for (const late of [seen, slice, own, mapped, kernels.fill, kernels.program, queue, cl, graph, source]) {
    late[Symbol.dispose]();
  }
});

testEach("every order of disposal ends well", (platform) => {
  using cl = open(platform);
  const before = ledger.alive;
  // One of each kind, ended in every rotation of the order in which they were made, forwards and backwards.
  for (let turn = 0; turn < 8; turn++) {
    const inner = OpenCLContext.attach(cl.handle);
    const graph = new MapperGraph([host, inner]);
    const source = host.allocate({ shape: [64], dtype: "u8" });
    const mapped = graph.map(source, inner);
    const program = inner.program("kernel void k(global uchar* x) { x[get_global_id(0)] += 1; }");
    const kernel = program.kernel("k");
    const queue = inner.createQueue();
    kernel.run({ items: [64] }, [mapped], { queue });
    const back = graph.map(mapped, host, { access: "read" });
    const all = [inner, graph, source, mapped, program, kernel, queue, back];
    const rotated = [...all.slice(turn), ...all.slice(0, turn)];
    for (const one of turn % 2 === 0 ? rotated : rotated.reverse()) one[Symbol.dispose]();
    assertEquals(ledger.alive, before, `turn ${turn}`);
  }
});

testEach("an async dispose of a context waits for its kernels", async (platform) => {
  const { tensor } = randomTensor(64);
  using source = tensor;
  {
    await using b = bench(platform);
    const mapped = b.graph.map(source, b.cl);
    b.kernels.fill.run({ items: [64] }, [mapped, 77]);
  }
  assertBytes(source.view(), filled(64, 77));
});

testEach(
  "a context whose work waits for a promise: disposing it fails the work, and nothing hangs",
  async (platform) => {
    for (const mapFirst of [true, false]) {
      const { tensor } = randomTensor(64);
      using source = tensor;
      const b = bench(platform);
      const before = mapFirst ? b.graph.map(source, b.cl) : undefined;
      const event = gate();
      const mapped = before ?? b.graph.map(source, b.cl);
      b.kernels.fill.run({ items: [64] }, [mapped, 1], { after: event.fence });
      const limit = AbortSignal.timeout(30_000);
      const ended = b[Symbol.asyncDispose]().then(() => "ended", (error) => error);
      const late = new Promise((resolve) => limit.addEventListener("abort", () => resolve("hangs")));
      const outcome = await Promise.race([ended, late]);
      assert(outcome !== "hangs", `map first: ${mapFirst}`);
      if (outcome !== "ended") assert(outcome instanceof Error, `${outcome}`);
      source.view();
    }
  },
);

// NVIDIA's driver (580.159) returns a buffer of any length, even of 2^50 bytes.
for (const platform of ALL.filter((each) => each !== "nvidia")) {
  test(`${platform}: more memory than the device takes is refused`, [platform], () => {
    using b = bench(platform);
    const tooMuch = b.cl.device.maxAllocation + 4096;
    const error = thrown(LayoutError, () => b.cl.allocate({ shape: [tooMuch], dtype: "u8" }));
    assertEquals([error.fn, error.argument], ["clCreateBuffer", "shape"]);
  });
}

/** In a process of its own: what an undisposed context leaves behind stays. */
const FORGET = `
const warnings = [];
console.warn = (message) => warnings.push(message);
const use = (platform) => {
  const cl = help.open(platform);
  const graph = new MapperGraph([host, cl]);
  using source = host.allocate({ shape: [64], dtype: "u8" });
  using program = cl.program(help.SOURCE);
  using fill = program.kernel("fill");
  using mapped = graph.map(source, cl);
  fill.run({ items: [64] }, [mapped, 1]);
  return cl;
};
use(Deno.env.get("PLATFORM"))[Symbol.dispose]();
use(Deno.env.get("PLATFORM"));
for (let i = 0; i < 5; i++) await help.collect();
console.log(warnings.length, warnings.every((text) => text.includes("opencl context") && text.includes("never disposed")));
`;

testEach("a forgotten context causes a warning, and a disposed one does not", async (platform) => {
  assertEquals(await linesOf(FORGET, { env: { PLATFORM: platform } }), ["1 true"]);
});
