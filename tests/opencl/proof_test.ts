import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { host, VENDOR_RULES } from "@samepage/interop";
import { LAYER_MODES, layerEnv } from "../layer/mod.ts";
import { deviceOf, MIGRATING, open, type Platform, randomTensor, test, testEach } from "./help.ts";
import { testLayered } from "./layered.ts";
import { runModule } from "../process.ts";
import { linesOf } from "./subprocess.ts";

testEach("host memory of every class is aliased, down to 1 byte", (platform) => {
  using cl = open(platform);
  if (MIGRATING.includes(platform)) {
    assertEquals([cl.proofs.prove(cl.memory.classOf(4096n, 64)).aliases, cl.aliasRule()], [false, undefined]);
    return;
  }
  for (let address = 4096n; address >= 1n; address /= 2n) {
    for (const length of [64, 1]) {
      const { aliases, evidence } = cl.proofs.prove(cl.memory.classOf(address, length));
      assert(aliases, `${address}, ${length}: ${evidence}`);
      assertEquals(cl.proofs.judge(cl.memory.classOf(address, length)).evidence, evidence);
    }
  }
  assert(cl.proofs.prove(cl.memory.classOf(undefined, 64)).aliases, "memory of the driver's own");
  const rule = cl.aliasRule()!;
  assertEquals([rule.address, rule.length], [1, 1]);
  const { tensor } = randomTensor(64);
  using source = tensor;
  assert(host.checkAlignment(source, rule).ok);
  assert(host.checkAlignment(source, VENDOR_RULES.intel).ok);
});

testEach("a proof is run once", (platform) => {
  using cl = open(platform);
  const first = cl.proofs.prove(cl.memory.classOf(4096n, 64));
  assertStrictEquals(cl.proofs.prove(cl.memory.classOf(4096n, 64)), first);
});

test("an address falls into the class of the largest power of two that divides it", ["pocl"], () => {
  using cl = open("pocl");
  const names: [address: bigint, length: number, name: string][] = [
    [0x1000n, 128, "address % 4096 = 0, length % 64 = 0"],
    [0x10000n, 100, "address % 4096 = 0, any length"],
    [0x1040n, 64, "address % 64 = 0, length % 64 = 0"],
    [0x1041n, 64, "any address, length % 64 = 0"],
  ];
  for (const [address, length, name] of names) assertEquals(cl.memory.classOf(address, length).name, name);
});

/** What a program does on a device that may or may not alias: a map for writing, two queues, a slice, a way back. */
const JOB = `
const { cl, graph, kernels } = help.bench("pocl");
const bytes = help.random(8192);
let wrong = 0;
const differs = (a, b) => a.some((byte, i) => byte !== b[i]);
for (const offset of [0, 1, 64, 100]) {
  const source = host.allocate({ shape: [8192 + 128], dtype: "u8" });
  const part = source.slice({ ...source.layout, shape: [8192], byteLength: 8192, byteOffset: offset });
  part.view().set(bytes);
  {
    using mapped = graph.map(part, cl);
    kernels.add.run({ items: [8192] }, [mapped, 1]);
    using queue = cl.createQueue();
    kernels.doubleIt.run({ items: [8192] }, [mapped], { queue });
    {
      using seen = graph.map(mapped, host);
      if (differs(seen.bytes(), bytes.map((byte) => (byte + 1) * 2))) wrong++;
      seen.bytes()[5] = 99;
    }
    kernels.add.run({ items: [8192] }, [mapped, 3]);
    const slice = mapped.slice({ ...mapped.layout, shape: [128], byteLength: 128 });
    kernels.add.run({ items: [128] }, [slice, 1]);
    slice[Symbol.dispose]();
  }
  const expected = bytes.map((byte, i) => ((i === 5 ? 99 : (byte + 1) * 2) + 3 + (i < 128 ? 1 : 0)));
  if (differs(part.view(), expected)) wrong++;
  const readOnly = graph.map(part, cl, { access: "read" });
  console.log(readOnly.route.steps.map((step) => step.transfer + " " + step.bytesMoved).join());
  readOnly[Symbol.dispose]();
  source[Symbol.dispose]();
}
const own = cl.allocate({ shape: [64], dtype: "u8" });
kernels.fill.run({ items: [64] }, [own, 7]);
{
  using seen = graph.map(own, host, { access: "read" });
  if (differs(seen.bytes(), help.filled(64, 7))) wrong++;
  console.log("own", seen.route.steps[0].transfer);
}
console.log("rule", cl.aliasRule()?.address ?? "none");
cl[Symbol.dispose]();
console.log("wrong", wrong, JSON.stringify(ledger.alive));
`;

test("the job on the device as it is", ["pocl"], async () => {
  assertEquals(await linesOf(JOB), [...Array(4).fill("alias 0"), "own alias", "rule 1", "wrong 0 {}"]);
});

for (const mode of LAYER_MODES) {
  testLayered(
    `a device that hides its copies, mode ${mode}: found out, named migrate, every byte right`,
    async () => {
      const job = JOB.replace("[0, 1, 64, 100]", "[0, 100]"); // a "no" takes its time
      const lines = await linesOf(job, { env: layerEnv(mode) });
      assertEquals(lines.slice(0, 2), Array(2).fill("migrate 8192"));
      assertEquals(lines.slice(-2), ["rule none", "wrong 0 {}"]);
    },
  );
}

/** Prints two verdicts of a platform's, of memory that is well aligned and of some that is not. */
const busyOn = (platform: Platform) => `
const workers = Array.from({ length: 2 }, () =>
  new Worker(URL.createObjectURL(new Blob(["for (;;) {}"])), { type: "module" }));
await help.sleep(50);
const cl = help.open("${platform}");
console.log(cl.proofs.prove(cl.memory.classOf(4096n, 64)).aliases, cl.proofs.prove(cl.memory.classOf(1n, 1)).aliases);
cl[Symbol.dispose]();
Deno.exit(0);
`;

testEach("on a busy machine the proof is right as well", async (platform) => {
  const aliases = !MIGRATING.includes(platform);
  assertEquals(await linesOf(busyOn(platform)), [`${aliases} ${aliases}`]);
});

testLayered("on a busy machine a device that hides its copies is found out as well", async () => {
  assertEquals(await linesOf(busyOn("pocl"), { env: layerEnv("kernel") }), ["false false"]);
});

/** A native function fails for a while, on a library that is opened with a tap. */
const FAILING = `
import { setTap } from "${new URL("../../src/core/native/library.ts", import.meta.url)}";
const { OpenCLContext } = await import("@samepage/interop/opencl");
`;

testEach(
  "a native failure in the proof leaves the class unproven, and the next context tries again",
  async (platform) => {
    // The helper file opens the library as it is imported: this program does without it.
    const { code, stdout, stderr } = await runModule(`
    import { host, ledger, MapperGraph } from "@samepage/interop";
    ${FAILING}
    let failing;
    setTap((_, functions) => Object.fromEntries(Object.entries(functions).map(([name, fn]) => [name, (...args) => {
      if (name !== failing) return fn(...args);
      const last = args[args.length - 1];
      if (last instanceof Int32Array) { last[0] = -6; return 0n; }
      return -6;
    }])));
    const open = () => OpenCLContext.open({ platform: "${deviceOf(platform).platform}" });
    const source = host.allocate({ shape: [64], dtype: "u8" });
    const mapIn = (cl) => {
      using graph = new MapperGraph([host, cl]);
      using mapped = graph.map(source, cl);
      return mapped.route.steps[0];
    };
    console.warn = (message) => console.log("warned", message.includes("proof of aliasing"));
    for (const name of ["clCreateKernel", "clBuildProgram", "clSetKernelArg", "clEnqueueNDRangeKernel", "clCreateUserEvent"]) {
      using cl = open();
      failing = name;
      const { transfer, evidence } = mapIn(cl);
      failing = undefined;
      console.log(name, transfer, evidence);
      console.warn = () => console.log("warned twice");
      mapIn(cl);
      console.warn = (message) => console.log("warned", message.includes("proof of aliasing"));
    }
    {
      using cl = open();
      console.log(mapIn(cl).transfer);
    }
    source[Symbol.dispose]();
    console.log(JSON.stringify(ledger.alive));
  `);
    assertEquals(code, 0, stderr);
    const lines = stdout.trim().split("\n");
    assertEquals(lines.slice(-2), [MIGRATING.includes(platform) ? "migrate" : "alias", "{}"], stdout);
    assert(!lines.includes("warned twice"), stdout);
    // Where the first trial says no there is none with a user event.
    const failed = MIGRATING.includes(platform) ? 4 : 5;
    // A device with several ways there has a proof of each.
    assert(lines.slice(0, -2).filter((line) => line === "warned true").length >= failed, stdout);
    assertEquals(lines.filter((line) => line.endsWith("migrate not proven")).length, failed, stdout);
  },
);
