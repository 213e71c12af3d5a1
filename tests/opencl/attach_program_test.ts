import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { ArgumentError, DisposedError } from "@samepage/interop";
import { CL_PROGRAM_REFERENCE_COUNT } from "../../ffi/opencl/constants.ts";
import { assertBytes, assertHeld, filled, open, type Platform, SOURCE, test, testEach, thrown } from "./help.ts";
import { addressOf, built, cString, made, programOf, raw, told } from "./raw.ts";
import { unpack } from "../../src/opencl/programs/envelope.ts";

const references = (program: bigint) => told("clGetProgramInfo", program, CL_PROGRAM_REFERENCE_COUNT);

testEach("a foreign program is retained, and its kernels are checked and run", (platform) => {
  using cl = open(platform);
  const theirs = built(programOf(cl.handle, SOURCE), cl.device.handle, "-cl-kernel-arg-info -DMINE");
  const before = references(theirs);
  {
    using program = cl.attachProgram(theirs);
    assertStrictEquals(program.handle as bigint, theirs);
    assert(references(theirs) > before);
    assert(program.options.includes("-DMINE"), program.options);
    using tensor = cl.allocate({ shape: [256], dtype: "u8" });
    const fill = program.kernel("fill");
    thrown(ArgumentError, () => fill.run({ items: [256] }, [tensor]));
    fill.run({ items: [256] }, [tensor, 8]);
    const bytes = new Uint8Array(256);
    cl.queue.read(tensor, bytes);
    assertBytes(bytes, filled(256, 8));
    using again = cl.programFromBinary(program.binary());
    assertEquals(again.kernelNames.toSorted(), program.kernelNames.toSorted());
  }
  assertHeld(() => references(theirs), before);
  assertEquals(raw().clReleaseProgram(theirs), 0);
});

testEach("a foreign program lives on when its own owner has released it", (platform) => {
  using cl = open(platform);
  const theirs = built(programOf(cl.handle, SOURCE), cl.device.handle, "-cl-kernel-arg-info");
  using program = cl.attachProgram(theirs);
  assertEquals(raw().clReleaseProgram(theirs), 0);
  using tensor = cl.allocate({ shape: [64], dtype: "u8" });
  program.kernel("fill").run({ items: [64] }, [tensor, 1]);
  cl.queue.finish();
});

testEach("a program that is not built, or failed to, is refused", (platform) => {
  using cl = open(platform);
  const unbuilt = programOf(cl.handle, SOURCE);
  const broken = programOf(cl.handle, "kernel void k() { nothing; }");
  raw().clBuildProgram(broken, 0, null, cString(""), 0n, null);
  for (const program of [unbuilt, broken]) {
    const error = thrown(ArgumentError, () => cl.attachProgram(program));
    assertEquals(error.argument, "handle");
    assert(error.message.includes("not built") && error.message.includes(cl.device.name), error.message);
    assertHeld(() => references(program), 1);
    assertEquals(raw().clReleaseProgram(program), 0);
  }
});

testEach("a program of another context is refused", (platform) => {
  using cl = open(platform);
  using other = open(platform);
  const theirs = built(programOf(other.handle, SOURCE), other.device.handle);
  assertEquals(thrown(ArgumentError, () => cl.attachProgram(theirs)).argument, "handle");
  assertEquals(raw().clReleaseProgram(theirs), 0);
});

test("anything but a handle is refused", ["pocl"], () => {
  using cl = open("pocl");
  for (const handle of [0n, -1n, 2n ** 64n, -(2n ** 63n), 1, NaN, "1", null, undefined, {}]) {
    assertEquals(thrown(ArgumentError, () => cl.attachProgram(handle as bigint)).argument, "handle");
  }
});

test("a kernel of which nothing is known is refused: the error says how to build it", ["pocl"], () => {
  using cl = open("pocl");
  using program = cl.program(SOURCE);
  // PoCL forgets what its binaries' kernels take.
  const [{ binary }] = unpack(program.binary()).devices;
  const lengths = BigUint64Array.of(BigInt(binary.length));
  const binaries = BigUint64Array.of(addressOf(binary));
  const devices = BigUint64Array.of(cl.device.handle);
  const theirs = made((code) =>
    raw().clCreateProgramWithBinary(cl.handle, 1, devices, lengths, binaries, new Int32Array(1), code)
  );
  built(theirs, cl.device.handle);
  using attached = cl.attachProgram(theirs);
  const error = thrown(ArgumentError, () => attached.kernel("fill"));
  assertEquals(error.codeName, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE");
  assert(error.message.includes("-cl-kernel-arg-info"), error.message);
  thrown(ArgumentError, () => attached.binary());
  assertEquals(raw().clReleaseProgram(theirs), 0);
});

testEach("a disposed context attaches to nothing, and an attached program ends with its context", (platform) => {
  const cl = open(platform as Platform);
  const theirs = built(programOf(cl.handle, SOURCE), cl.device.handle, "-cl-kernel-arg-info");
  const program = cl.attachProgram(theirs);
  assertEquals(raw().clReleaseProgram(theirs), 0);
  cl[Symbol.dispose]();
  thrown(DisposedError, () => program.handle);
  thrown(DisposedError, () => cl.attachProgram(1n));
});
