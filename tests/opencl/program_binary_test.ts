import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { ArgumentError, DisposedError, host } from "@samepage/interop";
import { BinaryError, BuildError, type OpenCLContext, type OpenCLProgram } from "@samepage/interop/opencl";
import { pack, unpack } from "../../src/opencl/programs/envelope.ts";
import { assertBytes, bench, filled, open, random, SOURCE, test, testEach, testPairs, thrown } from "./help.ts";
import { linesOf } from "./subprocess.ts";

/** A struct by value, local memory, a vector, a constant pointer, and a type whose name hides an image. */
const KERNELS = `
typedef struct { int a; float b; } Pair;
typedef image2d_t Picture;
kernel void takes(global int* out, Pair pair, local int* scratch, uint4 four, constant uchar* bytes) {
  out[0] = pair.a + (int)four.w + bytes[1];
}
kernel void shows(global int* out, Picture picture) { out[0] = get_image_width(picture); }`;

/** Runs `fill` of a program, and compares every byte. */
function assertFills(cl: OpenCLContext, program: OpenCLProgram): void {
  using tensor = cl.allocate({ shape: [4096], dtype: "u8" });
  program.kernel("fill").run({ items: [4096] }, [tensor, 11]);
  const bytes = new Uint8Array(4096);
  cl.queue.read(tensor, bytes);
  assertBytes(bytes, filled(4096, 11));
}

testEach("a program comes back from its binary, and its kernels write what they should", (platform) => {
  using cl = open(platform);
  using program = cl.program(SOURCE, { options: "-DEXTRA=1" });
  const bytes = program.binary();
  assert(!new TextDecoder().decode(bytes).includes("0x9e3779b9u"), "the source is in it");
  using again = cl.programFromBinary(bytes);
  assertEquals(again.kernelNames.toSorted(), program.kernelNames.toSorted());
  assertEquals(again.options, "-cl-kernel-arg-info -DEXTRA=1");
  assertFills(cl, again);
  using third = cl.programFromBinary(again.binary());
  assertFills(cl, third);
});

testEach("another context of the device runs it as well", (platform) => {
  const bytes = (() => {
    using cl = open(platform);
    using program = cl.program(SOURCE);
    return program.binary();
  })();
  using cl = open(platform);
  using program = cl.programFromBinary(bytes);
  assertFills(cl, program);
});

testEach("what comes from a binary is checked like what comes from a source", (platform) => {
  using cl = open(platform);
  using program = cl.program(KERNELS);
  using again = cl.programFromBinary(program.binary());
  for (const name of ["takes", "shows"]) {
    assertEquals(again.kernel(name).parameters, program.kernel(name).parameters, name);
  }
  const takes = again.kernel("takes");
  using out = cl.allocate({ shape: [1], dtype: "i32" });
  using wrong = cl.allocate({ shape: [4], dtype: "f32" });
  using table = cl.allocate({ shape: [2], dtype: "u8" });
  thrown(ArgumentError, () => takes.run({ items: [1] }, []));
  thrown(ArgumentError, () => takes.run({ items: [1] }, [wrong, new Uint8Array(8), 4, [1, 2, 3, 4], table]));
  thrown(ArgumentError, () => takes.run({ items: [1] }, [out, new Uint8Array(8), 4, [1, 2, 3, 4], table]));
  thrown(ArgumentError, () => again.kernel("shows").run({ items: [1] }, [out, out]));
});

testEach("not one flipped or missing byte reaches the driver", (platform) => {
  using cl = open(platform);
  using program = cl.program("kernel void k(global int* x) { x[0] = 1; }");
  const bytes = program.binary();
  // All of the envelope's own bytes, and a sample of the driver's.
  const places = Array.from({ length: bytes.length }, (_, i) => i)
    .filter((i) => i < 600 || i >= bytes.length - 64 || i % 97 === 0);
  for (const at of places) {
    for (const bit of [1, 128]) {
      const flipped = bytes.slice();
      flipped[at] ^= bit;
      assertEquals(thrown(BinaryError, () => cl.programFromBinary(flipped)).fault, "damaged", `byte ${at}`);
    }
  }
  for (const length of [...places, bytes.length - 1]) {
    thrown(BinaryError, () => cl.programFromBinary(bytes.subarray(0, length)));
  }
  for (const more of [1, 8, 4096]) {
    const longer = new Uint8Array(bytes.length + more);
    longer.set(bytes);
    thrown(BinaryError, () => cl.programFromBinary(longer));
  }
  const swapped = bytes.slice();
  const middle = bytes.length >> 1;
  swapped.copyWithin(middle, middle + 1, middle + 2);
  swapped[middle + 1] = bytes[middle];
  if (bytes[middle] !== bytes[middle + 1]) thrown(BinaryError, () => cl.programFromBinary(swapped));
  using fine = cl.programFromBinary(bytes);
  assertEquals(fine.kernelNames, ["k"]);
});

testEach("anything but a binary is refused", (platform) => {
  using cl = open(platform);
  for (const bytes of [new Uint8Array(0), new Uint8Array(24), random(1000), new TextEncoder().encode(SOURCE)]) {
    assertEquals(thrown(BinaryError, () => cl.programFromBinary(bytes)).fault, "damaged");
  }
  for (const value of [undefined, null, 1, "samepage", {}, [], new ArrayBuffer(64)]) {
    assertEquals(thrown(ArgumentError, () => cl.programFromBinary(value as Uint8Array)).argument, "bytes");
  }
});

testEach("a well-formed envelope that says nonsense is refused", (platform) => {
  using cl = open(platform);
  using program = cl.program("kernel void k(global int* x) { x[0] = 1; }");
  const envelope = unpack(program.binary());
  const [device] = envelope.devices;
  const kernels = new Map([["k", [{ ...envelope.kernels.get("k")![0], qualifiers: -1n }]]]);
  for (
    const wrong of [
      { ...envelope, devices: [] },
      { ...envelope, devices: [{ ...device, binary: new Uint8Array(0) }] },
      { ...envelope, kernels },
      { ...envelope, options: 7 as unknown as string },
    ]
  ) assertEquals(thrown(BinaryError, () => cl.programFromBinary(pack(wrong))).fault, "damaged");
  // Options that end the process are refused wherever they stand.
  assertEquals(
    thrown(ArgumentError, () => cl.programFromBinary(pack({ ...envelope, options: "-I" }))).argument,
    "options",
  );
});

testEach("a binary of another driver version is refused, and the error names both", (platform) => {
  using cl = open(platform);
  using program = cl.program("kernel void k(global int* x) { x[0] = 1; }");
  const envelope = unpack(program.binary());
  for (const field of ["driver", "version", "name", "platform", "platformVersion", "vendor"] as const) {
    const devices = envelope.devices.map(({ identity, binary }) => ({
      identity: { ...identity, [field]: "9.9" },
      binary,
    }));
    const error = thrown(BinaryError, () => cl.programFromBinary(pack({ ...envelope, devices })));
    assertEquals([error.fault, error.argument], ["foreign", "bytes"]);
    assert(error.message.includes(cl.device.driver) && error.message.includes(cl.device.name), error.message);
    if (field !== "vendor") assert(error.message.includes("9.9"), error.message);
  }
});

testPairs("a binary of another platform is refused, either way", (first, second) => {
  using one = bench(first);
  using two = bench(second);
  for (const [from, to] of [[one, two], [two, one]]) {
    const bytes = from.kernels.program.binary();
    const error = thrown(BinaryError, () => to.cl.programFromBinary(bytes));
    assertEquals(error.fault, "foreign");
    assert(error.message.includes(from.cl.device.platform) && error.message.includes(to.cl.device.platform));
  }
});

testEach("what its caller does to the bytes afterwards changes nothing", (platform) => {
  using cl = open(platform);
  using program = cl.program(SOURCE);
  const bytes = program.binary();
  using again = cl.programFromBinary(bytes);
  bytes.fill(0);
  assertFills(cl, again);
  assertNotEquals(program.binary()[0], 0);
});

testEach("a disposed program has no binary, a disposed context takes none", (platform) => {
  const cl = open(platform);
  const program = cl.program(SOURCE);
  const bytes = program.binary();
  program[Symbol.dispose]();
  thrown(DisposedError, () => program.binary());
  cl[Symbol.dispose]();
  thrown(DisposedError, () => cl.programFromBinary(bytes));
});

testEach("a kernel without parameters comes back", (platform) => {
  using cl = open(platform);
  const source = "kernel void k() { barrier(CLK_LOCAL_MEM_FENCE); }";
  if (platform === "nvidia") {
    thrown(BuildError, () => cl.program(source)); // in C too, with -cl-kernel-arg-info (580.159)
    return;
  }
  using program = cl.program(source);
  using again = cl.programFromBinary(program.binary());
  again.kernel("k").run({ items: [1] }, []);
  cl.queue.finish();
});

test("a binary that the driver refuses is an error", ["pocl"], async () => {
  const lines = await linesOf(`
    import { pack, unpack } from "${new URL("../../src/opencl/programs/envelope.ts", import.meta.url)}";
    using cl = help.open("pocl");
    using program = cl.program("kernel void k() {}");
    const envelope = unpack(program.binary());
    const devices = envelope.devices.map(({ identity }) => ({ identity, binary: new Uint8Array(1000).fill(7) }));
    try {
      cl.programFromBinary(pack({ ...envelope, devices }));
    } catch (error) {
      console.log(error.name, error.fault, error.fn, error.codeName);
    }
    program[Symbol.dispose]();
    cl[Symbol.dispose]();
    console.log(JSON.stringify(ledger.alive));
  `);
  assertEquals(lines, ["BinaryError refused clCreateProgramWithBinary CL_INVALID_BINARY", "{}"]);
});

testEach("a mapped photograph's bytes go through a kernel of a binary", (platform) => {
  using b = bench(platform);
  using again = b.cl.programFromBinary(b.kernels.program.binary());
  using source = host.allocate({ shape: [640], dtype: "u8" });
  const before = random(640);
  source.view().set(before);
  {
    using mapped = b.graph.map(source, b.cl);
    again.kernel("add").run({ items: [640] }, [mapped, 9]);
  }
  assertBytes(source.view(), before.map((byte) => byte + 9));
});
