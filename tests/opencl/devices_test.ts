import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { AccessError, ArgumentError, DisposedError, host, ledger, MapperGraph } from "@samepage/interop";
import {
  BuildError,
  OpenCLContext,
  type OpenCLDevice,
  openclDevices,
  OpenCLQueue,
  partition,
  type PartitionHow,
} from "@samepage/interop/opencl";
import { CL_DEVICE_REFERENCE_COUNT } from "../../ffi/opencl/constants.ts";
import {
  assertBytes,
  collect,
  deviceOf,
  filled,
  kernelsOf,
  open,
  random,
  SOURCE,
  test,
  testEach,
  thrown,
  warningsOf,
} from "./help.ts";
import { built, programOf, raw } from "./raw.ts";
import { linesOf } from "./subprocess.ts";

function references(device: OpenCLDevice): number {
  const value = new Uint32Array(1);
  assertEquals(raw().clGetDeviceInfo(device.handle, CL_DEVICE_REFERENCE_COUNT, 4n, value, null), 0);
  return value[0];
}

testEach("a context is created with a device", (platform) => {
  const device = deviceOf(platform);
  using cl = OpenCLContext.create([device]);
  assertEquals([cl.device.handle, cl.devices.length, cl.name], [device.handle, 1, device.name]);
  const { fill } = kernelsOf(cl);
  using tensor = cl.allocate({ shape: [64], dtype: "u8" });
  using queue = cl.createQueue({ device });
  assertStrictEquals(queue.device, cl.device);
  fill.run([64], [tensor, 2], { queue });
  const bytes = new Uint8Array(64);
  queue.read(tensor, bytes);
  assertBytes(bytes, filled(64, 2));
});

test("what is no list of devices is refused", ["pocl", "rusticl"], () => {
  const [pocl, rusticl] = [deviceOf("pocl"), deviceOf("rusticl")];
  const cases: [unknown, string][] = [
    [undefined, "devices"],
    [null, "devices"],
    [pocl, "devices"],
    [[], "devices"],
    [[null], "devices[0]"],
    [[7n], "devices[0]"],
    [[{}], "devices[0]"],
    [[{ ...pocl, handle: 1n }], "devices[0]"],
    [[{ ...pocl, handle: -1n }], "devices[0]"],
    [[pocl, { ...pocl, handle: Number(pocl.handle) }], "devices[1]"],
    [[pocl, pocl], "devices[1]"],
    [[pocl, rusticl], "devices[1]"],
    [new Array(3), "devices[0]"],
  ];
  for (const [devices, argument] of cases) {
    const error = thrown(ArgumentError, () => OpenCLContext.create(devices as OpenCLDevice[]));
    assertEquals(error.argument, argument, error.message);
  }
  const both = thrown(ArgumentError, () => OpenCLContext.create([pocl, rusticl]));
  assert(both.message.includes(pocl.platform) && both.message.includes("rusticl"), both.message);
});

testEach("what samepage knows of a device is not the program's to change", (platform) => {
  const device = deviceOf(platform);
  for (const change of [{ handle: 1n }, { maxAllocation: 1e15 }, { maxWorkItemSizes: [9e9] }]) {
    thrown(TypeError, () => Object.assign(device, change));
  }
  thrown(TypeError, () => (device.maxWorkItemSizes as number[]).push(1));
  thrown(TypeError, () => Object.assign(device.partition, { most: 99 }));
  using cl = OpenCLContext.create([{ ...device, maxAllocation: 1e15 }]); // its copy is another's word
  assertEquals(cl.maxAllocation, device.maxAllocation);
});

test("a device that cannot be cut is refused with the reason", ["rusticl"], () => {
  const device = deviceOf("rusticl");
  assertEquals(device.partition, { most: 0, kinds: [], domains: [] });
  for (const how of [{ equally: 1 }, { counts: [1] }, { affinity: "numa" }] as const) {
    const error = thrown(ArgumentError, () => partition(device, how));
    assert(error.message.includes("cannot be cut at all"), error.message);
    assertEquals([error.fn, error.argument], ["clCreateSubDevices", Object.keys(how)[0]]);
  }
});

const hasTwoUnits = openclDevices().some((device) => device.partition.most >= 2);

/** On PoCL, where the machine has two cores at least. */
function testParts(name: string, run: (device: OpenCLDevice) => void | Promise<void>): void {
  if (hasTwoUnits) test(name, ["pocl"], () => run(deviceOf("pocl")));
  else Deno.test({ name: `${name} (skipped: needs PoCL and two cores)`, ignore: true, fn() {} });
}

testParts("PoCL's device is cut equally and by counts", (device) => {
  assertEquals(device.partition.kinds, ["equally", "counts"]);
  const cuts: [PartitionHow, number[]][] = [
    [{ equally: 1 }, Array(device.computeUnits).fill(1)],
    [{ equally: device.computeUnits }, [device.computeUnits]],
    [{ counts: [1] }, [1]],
    [{ counts: [1, 1] }, [1, 1]],
  ];
  for (const [how, units] of cuts) {
    using parts = partition(device, how);
    assertEquals(parts.devices.map((part) => part.computeUnits), units);
    assert(parts.devices.every((part) => part.parent === device.handle));
    assertEquals(new Set(parts.devices.map((part) => part.handle)).size, units.length);
  }
});

testParts("what is no way to cut it is refused", (device) => {
  const more = device.computeUnits + 1;
  const cases: [unknown, string][] = [
    [undefined, "how"],
    [{}, "how"],
    [{ equally: 1, counts: [1] }, "how"],
    [{ affinity: "numa" }, "affinity"],
    [{ affinity: "l9" }, "affinity"],
    ...[0, -1, 1.5, NaN, Infinity, 2 ** 64, more, "1"].map((n): [unknown, string] => [{ equally: n }, "equally"]),
    [{ counts: [] }, "counts"],
    [{ counts: 2 }, "counts"],
    [{ counts: [1, 0] }, "counts[1]"],
    [{ counts: [1, NaN] }, "counts[1]"],
    [{ counts: new Array(2) }, "counts[0]"],
    [{ counts: [device.computeUnits, 1] }, "counts"],
  ];
  for (const [how, argument] of cases) {
    const error = thrown(ArgumentError, () => partition(device, how as PartitionHow));
    assertEquals(error.argument, argument, error.message);
  }
  for (const given of [undefined, null, {}, { handle: 5n }, 5n]) {
    assertEquals(thrown(ArgumentError, () => partition(given as OpenCLDevice, { equally: 1 })).argument, "device");
  }
});

testParts("a context over two sub-devices: each runs kernels on the same buffer, and it is an alias", (device) => {
  using parts = partition(device, { counts: [1, 1] });
  using cl = OpenCLContext.create(parts.devices);
  assertEquals(cl.devices, parts.devices);
  assertEquals(cl.id, {});
  using graph = new MapperGraph([host, cl]);
  using source = host.allocate({ shape: [4096], dtype: "u8" });
  const before = random(4096);
  source.view().set(before);
  const kernels = kernelsOf(cl);
  using second = cl.createQueue({ device: parts.devices[1] });
  assertStrictEquals(second.device, parts.devices[1]);
  assertStrictEquals(cl.queue.device, parts.devices[0]);
  {
    using mapped = graph.map(source, cl);
    assertEquals(mapped.route.steps.map((step) => step.transfer), ["alias"]);
    for (const queue of [cl.queue, second, cl.queue, second]) kernels.add.run([4096], [mapped, 1], { queue });
    kernels.doubleIt.run([4096], [mapped]);
  }
  assertBytes(source.view(), before.map((byte) => (byte + 4) * 2));
  using own = cl.allocate({ shape: [4096], dtype: "u8" });
  kernels.fill.run([4096], [own, 7], { queue: second });
  using seen = graph.map(own, host, { access: "read" });
  assertBytes(seen.bytes(), filled(4096, 7));
});

testParts("a program is built, kept and read for both", (device) => {
  using parts = partition(device, { counts: [1, 1] });
  using cl = OpenCLContext.create(parts.devices);
  thrown(BuildError, () => cl.program("kernel void k() { nothing; }"));
  const cache = new Map<string, Uint8Array>();
  for (const turn of ["built", "kept"]) {
    using program = cl.program(SOURCE, { cache });
    using again = cl.programFromBinary(program.binary());
    for (const part of cl.devices) {
      using queue = cl.createQueue({ device: part });
      using tensor = cl.allocate({ shape: [128], dtype: "u8" });
      again.kernel("fill").run([128], [tensor, 3], { queue });
      const bytes = new Uint8Array(128);
      queue.read(tensor, bytes);
      assertBytes(bytes, filled(128, 3), turn);
    }
    assertEquals(cache.size, 1);
  }
});

testParts("a context of one sub-device runs kernels, and takes foreign programs", (device) => {
  using parts = partition(device, { counts: [1, 1] });
  using cl = OpenCLContext.create([parts.devices[1]]);
  const theirs = built(programOf(cl.handle, SOURCE), parts.devices[1].handle, "-cl-kernel-arg-info");
  using program = cl.attachProgram(theirs);
  using tensor = cl.allocate({ shape: [64], dtype: "u8" });
  program.kernel("fill").run([64], [tensor, 1]);
  const bytes = new Uint8Array(64);
  cl.queue.read(tensor, bytes);
  assertBytes(bytes, filled(64, 1));
  assertEquals(raw().clReleaseProgram(theirs), 0);
});

/** PoCL with two devices: cl_context, programs, binaries and queues for both. */
const TWO = `
import { OpenCLContext, openclDevices } from "@samepage/interop/opencl";
import { addressOf, made, raw } from "${new URL("./raw.ts", import.meta.url)}";
const devices = openclDevices().filter((device) => device.platform.includes("Portable"));
console.log("devices", devices.length);
const theirs = made((code) => raw().clCreateContext(null, 2, BigUint64Array.from(devices, (d) => d.handle), 0n, null, code));
for (const make of [() => OpenCLContext.create(devices), () => OpenCLContext.attach(theirs)]) {
  using cl = make();
  using graph = new MapperGraph([host, cl]);
  using source = host.allocate({ shape: [4096], dtype: "u8" });
  const before = help.random(4096);
  source.view().set(before);
  const { add, program } = help.kernelsOf(cl);
  using again = cl.programFromBinary(program.binary());
  const added = again.kernel("add");
  {
    using mapped = graph.map(source, cl);
    for (const device of cl.devices) {
      using queue = cl.createQueue({ device });
      add.run([4096], [mapped, 1], { queue });
      added.run([4096], [mapped, 2], { queue });
    }
    console.log(cl.devices.length, mapped.route.steps[0].transfer);
  }
  console.log(source.view().every((byte, i) => byte === ((before[i] + 6) & 255)));
}
console.log(raw().clReleaseContext(theirs), JSON.stringify(ledger.alive));
`;

test("a context over two whole devices, created and attached to", ["pocl"], async () => {
  const lines = await linesOf(TWO, { env: { POCL_DEVICES: "pthread pthread" } });
  assertEquals(lines, ["devices 2", "2 alias", "true", "2 alias", "true", "0 {}"]);
});

testParts("a queue's device is one of its context's", (device) => {
  using parts = partition(device, { counts: [1, 1] });
  using cl = OpenCLContext.create([parts.devices[0]]);
  for (const other of [device, parts.devices[1], {}, { handle: 1n }, 5, null]) {
    assertEquals(thrown(ArgumentError, () => cl.createQueue({ device: other as OpenCLDevice })).argument, "device");
  }
  thrown(ArgumentError, () => cl.createQueue(null as unknown as undefined));
  thrown(ArgumentError, () => new OpenCLQueue(cl, { device }));
});

testParts("sub-devices are released once, and a context keeps those that it uses", (device) => {
  const before = ledger.alive;
  const parts = partition(device, { counts: [1, 1] });
  const [used, unused] = parts.devices;
  assertEquals(references(used), 1);
  const cl = OpenCLContext.create([used]);
  assert(references(used) >= 2);
  assertEquals(references(unused), 1);
  parts[Symbol.dispose]();
  parts[Symbol.dispose]();
  for (const part of [used, unused]) {
    assert(thrown(DisposedError, () => OpenCLContext.create([part])).message.includes("sub-devices"));
    thrown(DisposedError, () => partition(part, { equally: 1 }));
  }
  assert(references(used) >= 1);
  using tensor = cl.allocate({ shape: [64], dtype: "u8" });
  kernelsOf(cl).fill.run([64], [tensor, 5]);
  const bytes = new Uint8Array(64);
  cl.queue.read(tensor, bytes);
  assertBytes(bytes, filled(64, 5));
  cl[Symbol.dispose]();
  assertEquals(ledger.alive, before);
});

testParts("what one partition has shown is not told of the next", (device) => {
  for (let i = 0; i < 3; i++) {
    using parts = partition(device, { counts: [1, 1] });
    using cl = OpenCLContext.create([parts.devices[0]]);
    assertEquals(cl.aliasing.judge(4096n, 64).evidence, "not proven");
    assert(cl.aliasing.prove(4096n, 64).aliases);
  }
});

/**
 * PoCL's workers look at a sub-device after its last event is complete: before samepage waited for that, five of six
 * processes that ran side by side had ended by a memory fault within 150 rounds of this.
 */
const COME_AND_GO = `
import { OpenCLContext, openclDevices, partition } from "@samepage/interop/opencl";
const device = openclDevices().find((each) => each.platform.includes("Portable"));
for (let i = 0; i < 25; i++) {
  using parts = partition(device, { counts: [1, 1] });
  using cl = OpenCLContext.create([parts.devices[i % 2]]);
  if (!cl.aliasing.prove(4096n, 64).aliases) console.log("not an alias");
}
console.log(JSON.stringify(ledger.alive));
`;

testParts("parts that come and go under load end nothing", async () => {
  const runs = await Promise.all([1, 2].map(() => linesOf(COME_AND_GO, { limit: 60 })));
  assertEquals(runs, [["{}"], ["{}"]]);
});

testParts("a forgotten partition is released, with a warning", async (device) => {
  const before = ledger.alive;
  const warnings = await warningsOf(async () => {
    (() => void partition(device, { counts: [1] }))();
    await collect();
  });
  assertEquals(warnings.length, 1, warnings.join());
  assertEquals(ledger.alive, before);
});

testEach("tensors of a context are not another's, on one device too", (platform) => {
  const device = deviceOf(platform);
  using one = OpenCLContext.create([device]);
  using two = open(platform);
  using tensor = one.allocate({ shape: [64], dtype: "u8" });
  assertEquals(thrown(ArgumentError, () => kernelsOf(two).fill.run([64], [tensor, 1])) instanceof AccessError, false);
});
