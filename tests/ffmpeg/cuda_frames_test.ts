/** FFmpeg's CUDA frames as frames of ours and back, over a recording of CUDA and a driver whose memory is the host's. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, Frame, imageInfo, layout, ledger } from "../../mod.ts";
import { cudaErrorNotReady } from "../../ffi/cuda_runtime/errors.ts";
import * as cu from "../../ffi/cuda_driver/constants.ts";
import { CudaContext, type CudaTensor } from "../../src/cuda/mod.ts";
import { FFmpegContext } from "../../src/ffmpeg/mod.ts";
import { bytesAt, until } from "../conformance/bytes.ts";
import { recordedTests } from "../cuda/recorded.ts";
import { buildFrames, CFrame, inC, useCuda } from "./frames.ts";
import { value } from "./open.ts";
import { UploadedFrame } from "./uploaded.ts";

const missing = await useCuda() ?? await buildFrames();

const CONTEXT = 0x1000n;
const ranges: { start: bigint; byteLength: number }[] = [];
const calls: (readonly [name: string, stream: bigint])[] = [];
const stream = (name: string, at: number) => (...args: bigint[]) => {
  calls.push([name, args[at]]);
  return 0;
};

/** Is all work over? */
let idle = true;

const recorded = recordedTests({
  cudaEventQuery: () => idle ? 0 : cudaErrorNotReady,
  cuPointerGetAttribute: (out: BigUint64Array, attribute: number, address: bigint) => {
    const range = ranges.find(({ start, byteLength }) => start <= address && address < start + BigInt(byteLength));
    if (range === undefined) return 1;
    const words = new Uint32Array(out.buffer);
    if (attribute === cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE) words[0] = cu.CU_MEMORYTYPE_DEVICE;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) words[0] = 0;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) out[0] = range.start;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_RANGE_SIZE) out[0] = BigInt(range.byteLength);
    return 0;
  },
  cuStreamGetCtx: (_stream: bigint, out: BigUint64Array) => {
    out[0] = CONTEXT;
    return 0;
  },
  cuStreamGetCtx_v2: (_stream: bigint, out: BigUint64Array) => {
    out[0] = CONTEXT;
    return 0;
  },
  cudaEventRecord: stream("record", 1),
  cudaStreamWaitEvent: stream("wait", 0),
  cudaMemset2DAsync: stream("fill", 5),
  cudaMemsetAsync: stream("fill", 3),
});

interface There {
  readonly cuda: CudaContext;
  readonly ffmpeg: FFmpegContext;
  readonly device: bigint;
}

function test(name: string, fn: (there: There) => unknown): void {
  recorded(
    `ffmpeg: ${name}`,
    async () => {
      ranges.length = calls.length = 0;
      {
        using cuda = CudaContext.open();
        await using ffmpeg = FFmpegContext.open({ on: cuda });
        const device = ffmpeg.avDevice();
        try {
          await fn({ cuda, ffmpeg, device });
        } finally {
          inC().unreference(device);
        }
      }
      await until(() => ledger.alive["native.flag"] === undefined);
    },
    {},
    missing,
  );
}

const PITCH = 512; // what the driver asks for

/** A frame that FFmpeg has made and filled. */
function decoded(device: bigint): CFrame {
  const made = CFrame.hardware(device, "cuda", "nv12", 64, 32);
  ranges.push({ start: inC().plane_of(made.pointer, 0), byteLength: PITCH * 32 * 3 / 2 });
  using from = CFrame.picture("nv12", 64, 32);
  inC().transfer(made.pointer, from.pointer);
  return made;
}

test("a decoded frame is a frame of CUDA in place, with its pitch", ({ cuda, ffmpeg, device }) => {
  using made = decoded(device);
  using frame = ffmpeg.attach(made.pointer) as Frame<CudaTensor>;
  assertEquals([frame.target, frame.info.format, frame.access], [cuda, "NV12", "read-write"]);
  assertEquals(frame.planes.map(({ handle }) => handle), [0, 1].map((i) => inC().plane_of(made.pointer, i)));
  assertEquals(frame.planes.map(({ layout: { strides } }) => strides), [[PITCH, 1], [PITCH, 2, 1]]);
  const [luma, chroma] = frame.planes.map(({ handle, layout: { byteLength } }) => bytesAt(handle, byteLength));
  assertEquals(luma[3 * PITCH + 9], value("nv12", 0, 9, 3));
  assertEquals(chroma[3 * PITCH + 2 * 9 + 1], value("nv12", 2, 9, 3));
  assertEquals(frame.planes[0].grants[0].allocation === frame.planes[1].grants[0].allocation, true, "one allocation");
  assertEquals(made.references, 2);
  frame[Symbol.dispose]();
  assertEquals(made.references, 1);
});

test("a crop that begins inside is the part that is shown", ({ ffmpeg, device }) => {
  using made = decoded(device);
  inC().set_crop(made.pointer, 4, 2, 8, 6);
  using frame = ffmpeg.attach(made.pointer) as Frame<CudaTensor>;
  assertEquals(frame.planes.map(({ layout: { shape } }) => shape), [[24, 52], [12, 26, 2]]);
  const [luma, chroma] = frame.planes.map(({ handle, layout: { byteOffset, byteLength } }) => {
    return bytesAt(handle + BigInt(byteOffset), byteLength);
  });
  assertEquals(luma[3 * PITCH + 9], value("nv12", 0, 4 + 9, 2 + 3));
  assertEquals(chroma[3 * PITCH + 2 * 9 + 1], value("nv12", 2, 2 + 9, 1 + 3));
});

test("its stream is waited for on the device: ours, and one of FFmpeg's own", ({ cuda, ffmpeg, device }) => {
  const THEIRS = 0x7700n;
  using made = decoded(device);
  using other = cuda.createStream();
  {
    [calls.length, idle] = [0, false];
    using frame = ffmpeg.attach(made.pointer) as Frame<CudaTensor>;
    other.fill(frame.planes[0], 1);
    idle = true;
    assertEquals(calls.slice(0, 2), [["record", cuda.stream.handle], ["wait", other.handle]]);
  }
  inC().set_cuda_stream(made.pointer, THEIRS);
  [calls.length, idle] = [0, false];
  using frame = ffmpeg.attach(made.pointer) as Frame<CudaTensor>;
  cuda.stream.fill(frame.planes[0], 1);
  idle = true;
  assertEquals(calls.slice(0, 2), [["record", THEIRS], ["wait", cuda.stream.handle]]);
});

test("a frame of ours is one of FFmpeg's, which keeps it for as long as it likes", async ({ cuda, ffmpeg, device }) => {
  using memory = decoded(device); // it stands for memory of ours
  const at = { dtype: "u8" } as const;
  const [luma, chroma] = [0, 1].map((i) => inC().plane_of(memory.pointer, i));
  const planes = [
    cuda.attach(luma, layout({ ...at, shape: [32, 64], strides: [PITCH, 1] })),
    cuda.attach(chroma, layout({ ...at, shape: [16, 32, 2], strides: [PITCH, 2, 1] })),
  ];
  const frame = Frame.of(planes, imageInfo({ format: "NV12", width: 64, height: 32 }));
  using given = new CFrame(ffmpeg.avFrame(frame));
  assertEquals([0, 1].map((i) => inC().linesize_of(given.pointer, i)), [PITCH, PITCH]);
  using back = given.downloaded("nv12", 64, 32);
  assertEquals(inC().pixel(back.pointer, 2, 9, 3), value("nv12", 2, 9, 3));
  const error = assertThrows(() => ffmpeg.attach(given.pointer), ArgumentError);
  assertStringIncludes(error.message, "over a tensor's memory");
  const end = frame[Symbol.asyncDispose]();
  assertEquals(frame.resource.state, "closing");
  inC().unreferenced(given.pointer);
  await end;
});

test("a frame of another context is refused, with how to have FFmpeg open ours", ({ ffmpeg, device }) => {
  using made = decoded(device);
  inC().set_cuda_context(made.pointer, 0x2000n);
  const error = assertThrows(() => ffmpeg.attach(made.pointer), ArgumentError);
  assertStringIncludes(error.message, "on cuda_ctx 0x2000");
  assertStringIncludes(error.hint!, "AV_CUDA_USE_PRIMARY_CONTEXT");
  inC().set_cuda_context(made.pointer, CONTEXT);
});

test("the frames of tests on a GPU, which FFmpeg's functions make alone, are such frames", ({ ffmpeg, device }) => {
  using made = UploadedFrame.on(device, "cuda", 64, 32);
  ranges.push({ start: inC().plane_of(made.pointer, 0), byteLength: PITCH * 32 * 3 / 2 });
  using frame = ffmpeg.attach(made.pointer) as Frame<CudaTensor>;
  const [, chroma] = frame.planes.map(({ handle, layout: { byteLength } }) => bytesAt(handle, byteLength));
  assertEquals([chroma[0], chroma[5 * PITCH + 63]], [16, 21]);
  using back = UploadedFrame.empty(64, 32);
  back.copyFrom(made.pointer);
  assertEquals(back.byteAt(1, 63, 5), 21);
});
