import { assert, assertEquals, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { AccessError, ArgumentError } from "@samepage/interop";
import { OpenCLContext, type OpenCLDevice, OpenCLQueue } from "@samepage/interop/opencl";
import { assertBytes, deviceOf, filled, kernelsOf, open, test, testEach, thrown } from "./help.ts";
import { linesOf } from "./subprocess.ts";

testEach("a context is created with a device", (platform) => {
  const device = deviceOf(platform);
  using cl = OpenCLContext.create([device]);
  assertEquals([cl.device.handle, cl.devices.length, cl.name], [device.handle, 1, device.name]);
  const { fill } = kernelsOf(cl);
  using tensor = cl.allocate({ shape: [64], dtype: "u8" });
  using queue = cl.createQueue({ device });
  assertStrictEquals(queue.device, cl.device);
  fill.run({ items: [64] }, [tensor, 2], { queue });
  const bytes = new Uint8Array(64);
  queue.read(tensor, bytes);
  assertBytes(bytes, filled(64, 2));
});

testEach("open({ on }) is refused where a device reports no UUID and no PCI address", (platform) => {
  const device = deviceOf(platform);
  using on = OpenCLContext.create([device]);
  if (device.id.uuid !== undefined || device.id.pci !== undefined) {
    using same = OpenCLContext.open({ on });
    return assertEquals(same.id, on.id);
  }
  const error = thrown(ArgumentError, () => OpenCLContext.open({ on }));
  assertEquals([error.api, error.argument], ["opencl", "on"]);
  assertStringIncludes(error.message, `${device.name} reports no UUID, PCI address or render node`);
});

test("anything but a list of devices is refused", ["pocl", "rusticl"], () => {
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
  using cl = OpenCLContext.create([{ ...device, maxAllocation: 1e15 }]); // its copy is another's word
  assertEquals(cl.maxAllocation, device.maxAllocation);
});

/** PoCL with two devices: cl_context, programs, binaries, the cache and queues for both. */
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
  const cache = new Map();
  for (const _turn of ["built", "kept"]) cl.program(help.SOURCE, { cache })[Symbol.dispose]();
  console.log("kept", cache.size);
  {
    using mapped = graph.map(source, cl);
    for (const device of cl.devices) {
      using queue = cl.createQueue({ device });
      add.run({ items: [4096] }, [mapped, 1], { queue });
      added.run({ items: [4096] }, [mapped, 2], { queue });
    }
    console.log(cl.devices.length, mapped.route.steps[0].transfer);
  }
  console.log(source.view().every((byte, i) => byte === ((before[i] + 6) & 255)));
}
console.log(raw().clReleaseContext(theirs), JSON.stringify(ledger.alive));
`;

test("a context over two whole devices, created and attached to", ["pocl"], async () => {
  const lines = await linesOf(TWO, { env: { POCL_DEVICES: "pthread pthread" } });
  assertEquals(lines, ["devices 2", "kept 1", "2 alias", "true", "kept 1", "2 alias", "true", "0 {}"]);
});

test("a queue's device is one of its context's", ["pocl", "rusticl"], () => {
  const [pocl, rusticl] = [deviceOf("pocl"), deviceOf("rusticl")];
  using cl = OpenCLContext.create([pocl]);
  for (const other of [rusticl, {}, { handle: 1n }, 5, null]) {
    assertEquals(thrown(ArgumentError, () => cl.createQueue({ device: other as OpenCLDevice })).argument, "device");
  }
  thrown(ArgumentError, () => cl.createQueue(null as unknown as undefined));
  thrown(ArgumentError, () => new OpenCLQueue(cl, { device: rusticl }));
});

testEach("tensors of a context are not another's, on one device too", (platform) => {
  const device = deviceOf(platform);
  using one = OpenCLContext.create([device]);
  using two = open(platform);
  using tensor = one.allocate({ shape: [64], dtype: "u8" });
  assertEquals(
    thrown(ArgumentError, () => kernelsOf(two).fill.run({ items: [64] }, [tensor, 1])) instanceof AccessError,
    false,
  );
});
