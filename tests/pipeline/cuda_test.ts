// A pipeline on a GPU: frames of the host's or NVDEC's, kernels of CUDA's, PyTorch, and a preview on the host.
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type FrameInfo, host, type HostTensor, type ImageInfo, imageInfo } from "@samepage/interop";
import type { CudaContext, CudaKernel, CudaTensor } from "@samepage/interop/cuda";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import {
  decode,
  kernel,
  type Piece,
  pipeline,
  Sink,
  type Source,
  StageError,
  Transform,
} from "@samepage/interop/pipeline";
import { Python, type PythonObject } from "@samepage/interop/python";
import previewSource from "../../examples/nvdec-cuda/preview.cu" with { type: "text" };
import { messageOf } from "../../src/core/errors.ts";
import { coding } from "../../src/ffmpeg/library.ts";
import { gpuClip, missingClips } from "../../tasks/gpu/clips.ts";
import { gpuTest, missing, withCuda } from "../cuda/help.ts";
import { numbered } from "./help.ts";

/** Where the machine with the GPU has PyTorch. */
const TORCH = Deno.env.get("SAMEPAGE_TEST_TORCH") ?? "/opt/torch/.venv";

const [WIDTH, HEIGHT] = [640, 360];
const BLOCK = [32, 8];

/** Twice of each byte, into another plane; and half of it, in place. */
const SOURCE = `
extern "C" __global__ void twice(const unsigned char *from, int stride, unsigned char *to, int toStride, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) to[y * toStride + x] = 2 * from[y * stride + x];
}
extern "C" __global__ void half(unsigned char *bytes, int stride, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) bytes[y * stride + x] /= 2;
}
// How steep luma is, and chroma without colour.
extern "C" __global__ void edges(
    const unsigned char *from, int stride, unsigned char *to, int toStride, int w, int h, int plane) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  if (plane == 1) {
    to[y * toStride + 2 * x] = to[y * toStride + 2 * x + 1] = 128;
  } else {
    const unsigned char *at = from + y * stride + x;
    const int across = x == 0 || x == w - 1 ? 0 : at[1] - at[-1], down = y == 0 || y == h - 1 ? 0 : at[stride] - at[-stride];
    to[y * toStride + x] = min(235, 16 + abs(across) + abs(down));
  }
}`;
const PLANES = ["const unsigned char*", "int", "unsigned char*", "int", "int", "int"] as const;

const same = (info: FrameInfo) => info;

/** PyTorch in this process; undefined if it is missing. */
async function torch(): Promise<Python> {
  const python = Python.open({ home: TORCH });
  await python.runAsync("import torch; torch.zeros(1, device='cuda')");
  return python;
}

/** Inverts the first plane in place, by PyTorch on the GPU. */
function inverting(python: Python, cuda: CudaContext): Transform<CudaTensor> {
  return new Transform<CudaTensor>({
    name: "torch",
    takes: { memory: cuda },
    process({ planes: [plane] }) {
      using given: PythonObject = python.toArray(plane, "torch");
      python.run("assert x.is_cuda; x.bitwise_not_(); None", { x: given });
    },
  });
}

/** Runs the stages, prints what they will do and have done, and requires that no byte is copied. */
async function run(name: string, source: Source, ...stages: readonly Piece[]): Promise<number> {
  await using whole = pipeline(source, ...stages, { frames: 8 });
  const plan = await whole.explain();
  const figures = await whole.run();
  console.log(`pipeline: ${name}\n${plan}\n${figures}`);
  assertEquals([plan.bytesMoved, figures.bytesMoved], [0, 0]);
  return figures.frames;
}

/** Collects the first byte of each frame, and requires that all others are the same. */
function firsts(): { readonly sink: Sink<HostTensor>; readonly seen: number[] } {
  const seen: number[] = [];
  const sink = new Sink<HostTensor>({
    name: "check",
    takes: { memory: host },
    write({ planes: [plane] }) {
      const bytes = plane.bytes({ access: "read" });
      assert(bytes.every((byte) => byte === bytes[0]), "a frame of several values");
      seen.push(bytes[0] as number);
    },
  });
  return { sink, seen };
}

const size = { width: WIDTH, height: HEIGHT };

gpuTest(
  "a pipeline of the host's frames through two kernels: what lies between them stays on the GPU",
  () =>
    withCuda(async (cuda) => {
      using program = cuda.program(SOURCE);
      using twice = program.kernel("twice", PLANES);
      const { sink, seen } = firsts();
      const stages = [
        kernel(twice, { name: "first", gives: same }),
        kernel(twice, { name: "second", gives: same }),
        sink,
      ];
      await using whole = pipeline(numbered(60, "GRAY8", size), ...stages);
      const { handOvers: [, first, second] } = await whole.explain();
      assertEquals([first, second].map(({ gives }) => gives?.memory.split(" ")[0]), ["cuda", "host"]);
      assertEquals((await whole.run()).bytesMoved, 0);
      assertEquals(seen, Array.from({ length: 60 }, (_, i) => 4 * (i + 1) & 255));
    }),
);

gpuTest("a pipeline's kernel works in place on the host's memory", () =>
  withCuda(async (cuda) => {
    using program = cuda.program(SOURCE);
    using half = program.kernel("half", ["unsigned char*", "int", "int", "int"]);
    const { sink, seen } = firsts();
    assertEquals(await run("host → kernel → host", numbered(60, "GRAY8", size), kernel(half), sink), 60);
    assertEquals(seen, Array.from({ length: 60 }, (_, i) => (i + 1) >> 1));
  }));

gpuTest("a pipeline whose kernel fails is ended by its name, and nothing is left", () =>
  withCuda(async (cuda) => {
    using program = cuda.program(SOURCE);
    using half = program.kernel("half", ["unsigned char*", "int", "int", "int"]);
    const wrong = kernel(half, { name: "wrong", range: () => ({ groups: [1], groupSize: [2048] }) });
    await assertRejects(() => pipeline(numbered(9, "GRAY8", size), wrong).run(), StageError, "wrong: ");
  }));

gpuTest(
  "a pipeline of the host's frames through a kernel and PyTorch",
  () =>
    withCuda(async (cuda) => {
      const python = await torch();
      using program = cuda.program(SOURCE);
      using twice = program.kernel("twice", PLANES);
      const { sink, seen } = firsts();
      const stages = [kernel(twice, { gives: same }), inverting(python, cuda), kernel(twice, { gives: same }), sink];
      assertEquals(await run("host → kernel → torch → kernel → host", numbered(60, "GRAY8", size), ...stages), 60);
      assertEquals(seen, Array.from({ length: 60 }, (_, i) => 2 * (255 - 2 * (i + 1)) & 255));
    }),
  1,
  lackingTorch(),
);

/** A preview of an NV12 frame, 256 pixels across, in memory that the host reads. */
function previewing(of: CudaKernel, cuda: CudaContext): Transform<CudaTensor> {
  const width = 256;
  return new Transform<CudaTensor>({
    name: "preview",
    takes: { memory: cuda, format: "NV12" },
    gives(info) {
      const { width: across, height } = info as ImageInfo;
      return imageInfo({ format: "RGB", width, height: Math.round(width * height / across) });
    },
    process({ info, planes: [luma, chroma] }, { planes: [rgb] }) {
      const { width: across, height: down } = info as ImageInfo;
      const [height] = rgb.layout.shape;
      const groups = [width / BLOCK[0], Math.ceil(height / BLOCK[1])];
      const planes = [luma, luma.layout.strides[0], chroma, chroma.layout.strides[0], across, down];
      of.run({ groups, groupSize: BLOCK }, [...planes, rgb, width, height]);
    },
  });
}

for (const withTorch of [false, true]) {
  gpuTest(
    `a pipeline from NVDEC over a kernel${withTorch ? " and PyTorch" : ""} to a preview on the host`,
    () =>
      withCuda(async (cuda) => {
        const between = withTorch ? [inverting(await torch(), cuda)] : [];
        await using ffmpeg = FFmpegContext.open({ on: cuda });
        using program = cuda.program(SOURCE);
        using edges = program.kernel("edges", [...PLANES, "int"]);
        using previews = cuda.program(previewSource, { name: "preview.cu" });
        using preview = previews.kernel("preview", [
          ...["const unsigned char*", "int", "const unsigned char*", "int", "int", "int"] as const,
          ...["unsigned char*", "int", "int"] as const,
        ]);
        let [sum, count] = [0, 0];
        const sink = new Sink<HostTensor>({
          name: "host",
          takes: { memory: host, format: "RGB", width: 256, height: 144 },
          write({ planes: [plane] }) {
            const bytes = plane.bytes({ access: "read" });
            for (const byte of bytes) sum += byte as number;
            count += bytes.length;
          },
        });
        const source = decode(ffmpeg, gpuClip("h264-1080.mp4"), { hardware: true });
        const stages = [kernel(edges, { gives: same }), ...between, previewing(preview, cuda), sink];
        const name = `NVDEC → kernel → ${withTorch ? "torch → " : ""}preview`;
        assertEquals(await run(name, source, ...stages), 120);
        const mean = sum / count;
        console.log(`pipeline: ${name}: the previews' mean is ${mean.toFixed(1)}`);
        assert(withTorch ? mean > 150 : mean > 2 && mean < 105, `${mean}`); // edges are few, and dark unless inverted
      }),
    1,
    lackingFFmpeg() ?? (withTorch ? lackingTorch() : undefined),
  );
}

function lackingTorch(): string | undefined {
  if (missing !== undefined) return undefined; // that is said first
  try {
    assertMatch(Deno.readTextFileSync(`${TORCH}/pyvenv.cfg`), /version/);
    return undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return `${TORCH}, a venv with PyTorch`;
    throw error;
  }
}

function lackingFFmpeg(): string | undefined {
  if (missing !== undefined) return undefined;
  try {
    coding();
    return missingClips();
  } catch (error) {
    return messageOf(error).split(/(?<=\.) /)[0];
  }
}
