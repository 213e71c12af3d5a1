import type { CUstream } from "../../../ffi/cuda_driver/handles.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  layout,
  LayoutError,
  ledger,
  NativeCallError,
} from "../../../mod.ts";
import {
  CudaContext,
  type CudaKernelArgument,
  type GroupRange,
  type LaunchOptions,
  type ParameterType,
} from "../../../src/cuda/mod.ts";
import { record, type Recording, unrecordable } from "./recording.ts";

/** Kernels of a device that runs nothing. */
const recording: Recording | undefined = unrecordable ? undefined : record({
  add: { sizes: [8, 8, 8, 4] },
  mixed: { sizes: [1, 8, 2, 16, 4, 12, 8] },
  nothing: { sizes: [] },
  wide: { sizes: [8], maxThreads: 512, shared: 1024 },
  _Z4fillIfEvPT_S0_: { sizes: [8, 4] },
});

/** The recording of a test, with nothing in it yet. */
let tape: Recording;

function recordedTest(name: string, fn: (cuda: CudaContext) => void): void {
  Deno.test({
    name: `kernels: ${name}${unrecordable ? ` (not here: ${unrecordable})` : ""}`,
    ignore: unrecordable !== undefined,
    fn: () => {
      const before = ledger.alive;
      tape = recording!;
      for (const list of [tape.launches, tape.calls, tape.loaded]) list.length = 0;
      tape.launchCode = 0;
      tape.idle = true;
      {
        using cuda = CudaContext.open({ ordinal: 0 });
        fn(cuda);
      }
      assertEquals(ledger.alive, before, "what is alive");
    },
  });
}

const PTX = ".version 8.0\n.target sm_90\n";
const ADD: readonly ParameterType[] = ["const float*", "const float*", "float*", "int"];

function floats(cuda: CudaContext, length = 64) {
  return cuda.allocate({ shape: [length], dtype: "f32" });
}

/** An address as a kernel is passed it. */
function bytesOf(address: bigint): Uint8Array {
  return new Uint8Array(BigUint64Array.of(address).buffer);
}

recordedTest("a launch is given its sizes, its stream, and each argument where C looks for it", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  using add = program.kernel("add", ADD);
  using stream = cuda.createStream();
  using a = floats(cuda);
  using b = cuda.pinned.allocate({ shape: [64], dtype: "f32" });
  using c = cuda.managed.allocate({ shape: [64], dtype: "f32" });
  add.run({ groups: [7, 5, 3], groupSize: [32, 4, 2], sharedBytes: 1000 }, [a, b, c, 64], { stream });
  const [{ kernel, config, values }] = tape.launches;
  assertEquals(kernel, "add");
  assertEquals(config, {
    gridDimX: 7,
    gridDimY: 5,
    gridDimZ: 3,
    blockDimX: 32,
    blockDimY: 4,
    blockDimZ: 2,
    sharedMemBytes: 1000,
    hStream: stream.handle as bigint as CUstream,
    attrs: 0n as never,
    numAttrs: 0,
  });
  assertEquals(values, [bytesOf(a.address), bytesOf(b.address), bytesOf(c.address), new Uint8Array([64, 0, 0, 0])]);

  add.run({ groups: [1], groupSize: [1] }, [a, b, c, -1]);
  const [, second] = tape.launches;
  assertEquals([second.config.gridDimY, second.config.blockDimZ, second.config.sharedMemBytes], [1, 1, 0]);
  assertEquals<bigint>(second.config.hStream, cuda.stream.handle);
  assertEquals(second.values[3], new Uint8Array([255, 255, 255, 255]));
});

recordedTest("parameters of every size lie beside each other", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  using mixed = program.kernel("mixed", ["char", "double", "half", "float4", "float", { bytes: 12 }, "void*"]);
  using tensor = floats(cuda);
  const struct = Int32Array.of(1, -2, 3);
  mixed.run({ groups: [1], groupSize: [1] }, [-1, 0.5, 1.5, [1, 2, 3, 4], 0.25, struct, tensor]);
  const expected = [
    Int8Array.of(-1),
    Float64Array.of(0.5),
    Float16Array.of(1.5),
    Float32Array.of(1, 2, 3, 4),
    Float32Array.of(0.25),
    struct,
    BigUint64Array.of(tensor.address),
  ];
  assertEquals(tape.launches[0].values, expected.map(({ buffer }) => new Uint8Array(buffer)));
  mixed.run({ groups: [1], groupSize: [1] }, [1, 0, 0, [0, 0, 0, 0], 0, struct, null]);
  assertEquals(tape.launches[1].values[6], new Uint8Array(8));
  assertEquals(mixed.parameters.map(({ type, size }) => [type, size]), [
    ["char", 1],
    ["double", 8],
    ["half", 2],
    ["float4", 16],
    ["float", 4],
    ["12 bytes", 12],
    ["void*", 8],
  ]);
});

recordedTest("a slice is passed by the address of its first element", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  using add = program.kernel("add", ADD);
  using a = floats(cuda, 64);
  using b = floats(cuda, 64);
  using part = b.slice(layout({ shape: [4], dtype: "f32", byteOffset: 40 }));
  add.run({ groups: [1], groupSize: [1] }, [a, a, part, 4]);
  assertEquals(tape.launches[0].values[2], bytesOf(b.rawHandle + 40n));
});

recordedTest("a kernel without parameters is launched", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  using nothing = program.kernel("nothing", []);
  nothing.run({ groups: [2], groupSize: [3] }, []);
  assertEquals(tape.launches[0].values, []);
});

recordedTest("the driver's word on the parameters is held against the declaration", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  const wrong: [string, readonly ParameterType[], string][] = [
    ["add", ["const float*", "const float*", "float*"], "parameters"],
    ["add", [...ADD, "int"], "parameters"],
    ["add", ["const float*", "const float*", "float*", "long long"], "parameters[3]"],
    ["add", ["const float*", "int", "float*", "int"], "parameters[1]"],
    ["nothing", ["int"], "parameters"],
    ["mixed", ["char", "double", "half", "float4", "float", { bytes: 16 }, "void*"], "parameters[5]"],
  ];
  for (const [name, types, argument] of wrong) {
    const error = assertThrows(() => program.kernel(name, types), ArgumentError);
    assertEquals(error.argument, argument);
  }
});

recordedTest("a kernel that is not there is an error", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  for (const name of ["missing", "", "add\0", "Add"]) {
    assertEquals(assertThrows(() => program.kernel(name, []), ArgumentError).argument, "name");
  }
  assertEquals(assertThrows(() => program.kernel(7 as never, []), ArgumentError).argument, "name");
});

recordedTest("CUDA C++ is compiled for the device, and its names are known", (cuda) => {
  using program = cuda.program(`template <class T> __global__ void fill(T* x, T value) { x[threadIdx.x] = value; }`, {
    names: ["fill<float>"],
  });
  assertEquals([...tape.loaded[0].subarray(0, 4)], [0x7f, 0x45, 0x4c, 0x46]);
  using fill = program.kernel("fill<float>", ["float*", "float"]);
  using mangled = program.kernel("_Z4fillIfEvPT_S0_", ["float*", "float"]);
  using tensor = floats(cuda);
  fill.run({ groups: [1], groupSize: [64] }, [tensor, 2.5]);
  mangled.run({ groups: [1], groupSize: [64] }, [tensor, 2.5]);
  assertEquals(tape.launches.map(({ kernel }) => kernel), ["_Z4fillIfEvPT_S0_", "_Z4fillIfEvPT_S0_"]);
  assertStringIncludes(assertThrows(() => program.kernel("fill<int>", []), ArgumentError).message, "fill<float>");
});

recordedTest("sizes beyond the device's, or the kernel's, are refused", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  using wide = program.kernel("wide", ["float*"]);
  using tensor = floats(cuda);
  const fine = { groups: [1], groupSize: [1] };
  const wrong: [Partial<GroupRange>, string][] = [
    [{ groups: [0] }, "groups[0]"],
    [{ groups: [-1] }, "groups[0]"],
    [{ groups: [2.5] }, "groups[0]"],
    [{ groups: [NaN] }, "groups[0]"],
    [{ groups: ["1" as never] }, "groups[0]"],
    [{ groups: [1n as never] }, "groups[0]"],
    [{ groups: [2 ** 31] }, "groups[0]"],
    [{ groups: [1, 65_536] }, "groups[1]"],
    [{ groups: [1, 1, 65_536] }, "groups[2]"],
    [{ groups: [] }, "groups"],
    [{ groups: [1, 1, 1, 1] }, "groups"],
    [{ groups: 1 as never }, "groups"],
    [{ groupSize: undefined as never }, "groupSize"],
    [{ groupSize: [0] }, "groupSize[0]"],
    [{ groupSize: [1025] }, "groupSize[0]"],
    [{ groupSize: [1, 1025] }, "groupSize[1]"],
    [{ groupSize: [1, 1, 65] }, "groupSize[2]"],
    [{ groupSize: [513] }, "groupSize"],
    [{ groupSize: [32, 32] }, "groupSize"],
    [{ sharedBytes: -1 }, "sharedBytes"],
    [{ sharedBytes: 0.5 }, "sharedBytes"],
    [{ sharedBytes: "1" as never }, "sharedBytes"],
    [{ sharedBytes: 232_448 }, "sharedBytes"], // 1024 of which the kernel takes itself
    [{ grid: [1] } as never, "range"],
  ];
  for (const [sizes, argument] of wrong) {
    const error = assertThrows(() => wide.run({ ...fine, ...sizes }, [tensor]), ArgumentError);
    assertEquals(error.argument, argument, `${Object.keys(sizes)} ${Object.values(sizes)}`);
  }
  const others: [LaunchOptions, string][] = [
    [{ stream: {} as never }, "stream"],
    [{ stream: null as never }, "stream"],
    [{ after: 7 as never }, "after"],
  ];
  for (const [options, argument] of others) {
    assertEquals(assertThrows(() => wide.run(fine, [tensor], options), ArgumentError).argument, argument);
  }
  assertThrows(() => wide.run(undefined as never, [tensor]), ArgumentError);
  assertEquals(tape.launches, []);
  wide.run({ groups: [2 ** 31 - 1, 65_535, 65_535], groupSize: [512] }, [tensor]);
  assertEquals(tape.launches.length, 1);
});

recordedTest("more dynamic shared memory than usual is asked for once", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  using wide = program.kernel("wide", ["float*"]);
  using tensor = floats(cuda);
  const asked = () => tape.calls.filter((name) => name === "cudaFuncSetAttribute").length;
  wide.run({ groups: [1], groupSize: [1], sharedBytes: 48_128 }, [tensor]);
  assertEquals(asked(), 0);
  wide.run({ groups: [1], groupSize: [1], sharedBytes: 48_129 }, [tensor]);
  wide.run({ groups: [1], groupSize: [1], sharedBytes: 231_424 }, [tensor]);
  assertEquals(asked(), 1);
  assertEquals(tape.launches.map(({ config }) => config.sharedMemBytes), [48_128, 48_129, 231_424]);
});

recordedTest("arguments that do not fit are refused before anything is launched", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  using add = program.kernel("add", ADD);
  using a = floats(cuda);
  using ints = cuda.allocate({ shape: [64], dtype: "i32" });
  using gone = floats(cuda);
  gone[Symbol.dispose]();
  const launch = { groups: [1], groupSize: [1] };
  const run = (...args: unknown[]) => () => add.run(launch, args as CudaKernelArgument[]);
  assertEquals(assertThrows(run(a, a, a), ArgumentError).argument, "args");
  assertEquals(assertThrows(run(a, a, a, 1, 1), ArgumentError).argument, "args");
  assertEquals(assertThrows(() => add.run(launch, a as never), ArgumentError).argument, "args");
  assertEquals(assertThrows(run(a, a, ints, 1), ArgumentError).argument, "args[2]");
  assertEquals(assertThrows(run(a, a.handle, a, 1), ArgumentError).argument, "args[1]");
  assertEquals(assertThrows(run(a, a, a, 0.5), ArgumentError).argument, "args[3]");
  assertThrows(run(gone, a, a, 1), DisposedError);
  assertEquals(tape.launches, []);
});

recordedTest("what is not const needs a tensor that may be written", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  using add = program.kernel("add", ADD);
  using a = floats(cuda);
  using b = floats(cuda);
  {
    using reading = b.slice(b.layout, { access: "read" });
    const error = assertThrows(() => add.run({ groups: [1], groupSize: [1] }, [a, a, reading, 1]), AccessError);
    assertEquals(error.argument, "args[2]");
    assertThrows(() => add.run({ groups: [1], groupSize: [1] }, [a, a, b, 1]), AccessError); // it is lent for reading
    add.run({ groups: [1], groupSize: [1] }, [reading, b, a, 1]);
  }
  {
    using writing = b.slice(b.layout, { access: "write" });
    assertThrows(() => add.run({ groups: [1], groupSize: [1] }, [a, writing, a, 1]), AccessError);
    add.run({ groups: [1], groupSize: [1] }, [a, a, writing, 1]);
  }
  assertEquals(tape.launches.length, 2);
});

recordedTest("an address that the device would stop at is refused", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  using vectors = program.kernel("wide", ["float4*"]);
  using bytes = program.kernel("wide", ["void*"]);
  using a = floats(cuda);
  using part = a.slice(layout({ shape: [4], dtype: "f32", byteOffset: 8 }));
  const error = assertThrows(() => vectors.run({ groups: [1], groupSize: [1] }, [part]), LayoutError);
  assertEquals(error.argument, "args[0]");
  assertStringIncludes(error.message, "16 bytes");
  bytes.run({ groups: [1], groupSize: [1] }, [part]);
});

recordedTest("memory and streams of another device are refused, but for those that both reach", (cuda) => {
  using other = CudaContext.open({ ordinal: 1 });
  using program = cuda.programFromPtx(PTX);
  using kernel = program.kernel("wide", ["void*"]);
  using own = floats(cuda);
  using theirs = floats(other);
  using pinned = other.pinned.allocate({ shape: [4], dtype: "f32" });
  using managed = other.managed.allocate({ shape: [4], dtype: "f32" });
  const launch = { groups: [1], groupSize: [1] };
  const error = assertThrows(() => kernel.run(launch, [theirs]), ArgumentError);
  assertEquals(error.argument, "args[0]");
  assertStringIncludes(error.message, "device 1 (Recorder)");
  assertStringIncludes(error.message, "device 0 (Recorder)");
  const stream = assertThrows(() => kernel.run(launch, [own], { stream: other.stream }), ArgumentError);
  assertEquals(stream.argument, "stream");
  kernel.run(launch, [pinned]);
  kernel.run(launch, [managed]);
  using again = CudaContext.open({ ordinal: 0 });
  using same = floats(again);
  kernel.run(launch, [same]);
  assertEquals(tape.launches.length, 3);
});

recordedTest("what is disposed is not used, and a program outlives its launches", (cuda) => {
  const program = cuda.programFromPtx(PTX);
  const kernel = program.kernel("wide", ["void*"]);
  using tensor = floats(cuda);
  const launch = { groups: [1], groupSize: [1] };
  kernel.run(launch, [tensor]);
  using stream = cuda.createStream();
  stream[Symbol.dispose]();
  assertThrows(() => kernel.run(launch, [tensor], { stream }), DisposedError);
  tape.calls.length = 0;
  program[Symbol.dispose]();
  const [waited, unloaded] = ["cudaEventQuery", "cudaLibraryUnload"].map((name) => tape.calls.indexOf(name));
  assert(unloaded >= 0 && waited < unloaded);
  assertThrows(() => kernel.run(launch, [tensor]), DisposedError);
  assertThrows(() => kernel.handle, DisposedError);
  assertThrows(() => program.handle, DisposedError);
  assertThrows(() => program.kernel("wide", ["void*"]), DisposedError);
  program[Symbol.dispose]();
  kernel[Symbol.dispose]();
});

recordedTest("an argument that stays is not looked at again, and one that changes is", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  using add = program.kernel("add", ADD);
  using a = floats(cuda);
  using b = floats(cuda);
  const launch = { groups: [1], groupSize: [1] };
  const [ofA, ofB] = [a, b].map(({ address }) => bytesOf(address));
  const expected = [];
  for (const [x, y, n] of [[a, b, 5], [a, b, 5], [b, a, 5], [b, b, 7], [a, b, 7]] as const) {
    add.run(launch, [x, y, a, n]);
    expected.push([x === a ? ofA : ofB, y === a ? ofA : ofB, ofA, n]);
    assertThrows(() => add.run(launch, [b, a, b, 0.5]), ArgumentError); // and what was refused is not remembered
  }
  assertEquals(tape.launches.map(({ values }) => [...values.slice(0, 3), values[3][0]]), expected);
  const gone = floats(cuda);
  add.run(launch, [gone, a, a, 1]);
  gone[Symbol.dispose]();
  assertThrows(() => add.run(launch, [gone, a, a, 1]), DisposedError);
});

recordedTest("a launch that fails is an error, and nothing is recorded", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  using kernel = program.kernel("wide", ["void*"]);
  using tensor = floats(cuda);
  tape.launchCode = 1;
  const error = assertThrows(() => kernel.run({ groups: [1], groupSize: [1] }, [tensor]), NativeCallError);
  assertEquals([error.fn, error.codeName], ["cuLaunchKernelEx", "CUDA_ERROR_INVALID_VALUE"]);
  assertEquals(tensor.work, []);
  tape.launchCode = 0;
  kernel.run({ groups: [1], groupSize: [1] }, [tensor]);
});

recordedTest("a launch behind another stream's work waits for that on the device", (cuda) => {
  using program = cuda.programFromPtx(PTX);
  using kernel = program.kernel("wide", ["void*"]);
  using one = cuda.createStream();
  using two = cuda.createStream();
  using tensor = floats(cuda);
  using unrelated = floats(cuda);
  const waits = () => tape.calls.filter((name) => name === "cudaStreamWaitEvent").length;
  tape.idle = false;
  kernel.run({ groups: [1], groupSize: [1] }, [tensor], { stream: one });
  kernel.run({ groups: [1], groupSize: [1] }, [tensor], { stream: one });
  assertEquals(waits(), 0);
  kernel.run({ groups: [1], groupSize: [1] }, [tensor], { stream: two });
  assertEquals(waits(), 1);
  const fence = one.fence();
  kernel.run({ groups: [1], groupSize: [1] }, [unrelated], { stream: two, after: fence });
  assertEquals(waits(), 2);
  tape.idle = true;
});

recordedTest("what is no program is refused before it is loaded", (cuda) => {
  assertThrows(() => cuda.programFromPtx("no ptx"), ArgumentError);
  assertThrows(() => cuda.programFromCubin(new Uint8Array(100)), ArgumentError);
  assertThrows(() => cuda.program(""), ArgumentError);
  assertThrows(() => cuda.program("int", null as never), ArgumentError);
  assertEquals(tape.loaded, []);
});
