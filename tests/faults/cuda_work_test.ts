/** Every native call that opens a device or gives it work fails once. */
import { assertNoneSwallowed, BYTES, LAUNCH, NAME, SIZE, SOURCE, swept, test, TYPES } from "./cuda.ts"; // first
import { assert } from "@std/assert";
import { CudaContext } from "../../src/cuda/mod.ts";
import { compile } from "../../src/cuda/kernels/compile.ts";
import { sourceIn } from "../../src/cuda/kernels/source.ts";
import { assertSame, random } from "../conformance/bytes.ts";
import { unless } from "../cuda/help.ts";

test("opening a device", async () => {
  await swept(
    () => CudaContext.open()[Symbol.dispose](),
    ["cudart.cudaGetDeviceCount", "cuda.cuInit", "cudart.cudaStreamCreateWithPriority", "cudart.cudaStreamDestroy"],
  );
});

test("opening a device that is open, by how its threads wait", async () => {
  const faults = await swept(
    () => CudaContext.open({ schedule: "auto" })[Symbol.dispose](),
    ["cuda.cuDevicePrimaryCtxGetState"],
  );
  assert(faults.some(({ error }) => error !== undefined));
});

test("a program, its kernel and a launch", async (cuda) => {
  using from = cuda.allocate(BYTES);
  using to = cuda.allocate(BYTES);
  await swept(() => {
    using program = cuda.program(SOURCE, { names: [NAME] });
    using put = program.kernel(NAME, TYPES);
    put.run(LAUNCH, [to, from, SIZE]);
  }, [
    "nvrtc.nvrtcCompileProgram",
    "cudart.cudaLibraryLoadData",
    "cudart.cudaLibraryGetKernel",
    "cuda.cuKernelGetParamInfo",
    "cudart.cudaFuncGetAttributes",
    "cuda.cuLaunchKernelEx",
    "cudart.cudaLibraryUnload",
  ], () => cuda.stream.finish());
});

test("streams that wait for each other, and fences", async (cuda) => {
  const much = { shape: [1 << 26], dtype: "u8" } as const; // so that the fill is not over when it is asked about
  using one = cuda.allocate(much);
  using two = cuda.allocate(much);
  await swept(async () => {
    await using stream = cuda.createStream();
    cuda.stream.fill(one, 1);
    stream.copy(one, two);
    const fence = stream.fence();
    cuda.stream.waitFor(fence);
    await fence.wait();
  }, [
    "cudart.cudaStreamWaitEvent",
    "cudart.cudaEventRecord",
    "cudart.cudaEventQuery",
    "cudart.cudaStreamDestroy",
  ], () => cuda.stream.finish());
});

test("bytes to a device and back", async (cuda) => {
  using tensor = cuda.allocate(BYTES);
  const bytes = random(SIZE);
  const back = new Uint8Array(SIZE);
  await swept(
    () => {
      cuda.stream.write(tensor, bytes);
      cuda.stream.read(tensor, back);
    },
    ["cudart.cudaMemcpyAsync"],
    () => cuda.stream.finish(),
  );
  assertSame(back, bytes, "after the last run, without a failure");
});

test(
  "managed memory, prefetched, advised and attached",
  async (cuda) => {
    using tensor = cuda.managed.allocate(BYTES);
    const faults = await swept(() => {
      cuda.managed.attach(tensor, "global");
      cuda.managed.prefetch(tensor, "device");
      cuda.managed.advise(tensor, "read-mostly");
      cuda.managed.adviceOn(tensor);
      cuda.managed.advise(tensor, "read-mostly", { unset: true });
    }, [
      "cudart.cudaStreamAttachMemAsync",
      "cuda.cuMemPrefetchAsync_v2",
      "cuda.cuMemAdvise_v2",
      "cuda.cuMemRangeGetAttribute",
    ], () => cuda.stream.finish());
    assert(faults.some(({ error }) => error !== undefined));
  },
  1,
  unless("concurrentManagedAccess", 1),
); // refused elsewhere, before any call

test("a device's memory and its clock", async (cuda) => {
  using tensor = cuda.allocate(BYTES);
  using timer = cuda.timer();
  await swept(
    () => {
      cuda.memory();
      timer.start();
      cuda.stream.fill(tensor, 3);
      timer.stop();
      cuda.stream.finish();
      timer.milliseconds();
    },
    ["cudart.cudaMemGetInfo", "cudart.cudaEventElapsedTime"],
    () => cuda.stream.finish(),
  );
});

test("PTX, which the driver compiles, and the names of its kernels", async (cuda) => {
  const { major, minor } = cuda.device.computeCapability;
  const { code } = compile(
    sourceIn(SOURCE, { names: [NAME], options: [`-arch=compute_${major}${minor}`] }),
    cuda.device,
  );
  const text = new TextDecoder().decode(code.bytes).replace("\0", "");
  const faults = await swept(() => {
    using program = cuda.programFromPtx(text);
    assert(program.kernelNames.length === 1);
  }, [
    "cudart.cudaLibraryLoadData",
    "cuda.cuLibraryGetModule",
    "cudart.cudaLibraryGetKernelCount",
    "cudart.cudaLibraryEnumerateKernels",
    "cuda.cuKernelGetName",
  ]);
  assertNoneSwallowed(faults);
});

test("more shared memory than a launch gets unasked", async (cuda) => {
  using from = cuda.allocate(BYTES);
  using to = cuda.allocate(BYTES);
  const { code } = compile(sourceIn(SOURCE, { names: [NAME] }), cuda.device);
  await swept(
    () => {
      using program = cuda.programFromCubin(code.bytes); // anew: a kernel keeps what was asked for
      using put = program.kernel(program.kernelNames[0], TYPES);
      put.run({ ...LAUNCH, sharedBytes: 64 << 10 }, [to, from, SIZE]);
    },
    ["cudart.cudaFuncSetAttribute"],
    () => cuda.stream.finish(),
  );
});

test("rows that are copied to rows of another pitch", async (cuda) => {
  const rows = { shape: [48, 61], dtype: "u8" } as const;
  using from = cuda.allocate({ ...rows, pitch: true });
  using to = cuda.allocate(rows);
  await swept(() => cuda.stream.copy(from, to), ["cudart.cudaMemcpy2DAsync"], () => cuda.stream.finish());
});

test("what a device's context was made with", async (cuda) => {
  assertNoneSwallowed(await swept(() => cuda.flags, ["cudart.cudaGetDeviceFlags"]));
});
