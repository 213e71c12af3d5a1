/** `ffmpeg.decode(source, { hardware })` by NVDEC on a GPU, beside what the CPU decodes of the same clips. */
import { assert, assertEquals } from "@std/assert";
import { DisposedError, type Frame, host, type HostTensor, MapperGraph } from "../../mod.ts";
import { Previews, WIDTH } from "../../examples/nvdec-cuda/preview.ts";
import { messageOf } from "../../src/core/errors.ts";
import { CudaContext, type CudaTensor } from "../../src/cuda/mod.ts";
import { FFmpegContext, type FFmpegTensor } from "../../src/ffmpeg/mod.ts";
import { coding } from "../../src/ffmpeg/library.ts";
import { type GpuClip, gpuClip, missingClips } from "../../tasks/gpu/clips.ts";
import { gpuTest, withCuda } from "../cuda/help.ts";

const CLIP: GpuClip = "h264-720.mp4";

function lacking(): string | undefined {
  try {
    coding();
    return missingClips();
  } catch (error) {
    return messageOf(error).split(/(?<=\.) /)[0];
  }
}

function test(name: string, fn: (cuda: CudaContext, ffmpeg: FFmpegContext) => unknown): void {
  gpuTest(
    `ffmpeg: ${name}`,
    () =>
      withCuda(async (cuda) => {
        await using ffmpeg = FFmpegContext.open({ on: cuda });
        await fn(cuda, ffmpeg);
      }),
    1,
    lacking(),
  );
}

type Decoded = Frame<CudaTensor | FFmpegTensor>;

const isOn = (frame: Decoded, cuda: CudaContext): frame is Frame<CudaTensor> => frame.target === cuda;

/** NVDEC's frames of a clip. */
async function* decoded(cuda: CudaContext, ffmpeg: FFmpegContext, name: GpuClip = CLIP, from = 0) {
  for await (const frame of ffmpeg.decode<CudaTensor>(gpuClip(name), { from, hardware: true })) {
    if (!isOn(frame, cuda)) {
      frame[Symbol.dispose]();
      throw new Error(`the CPU has decoded ${frame}`);
    }
    yield frame;
  }
}

/** The pixels of an NV12 frame: luma, then chroma. */
function pixelsOf({ stream }: CudaContext, { planes }: Frame<CudaTensor>): Uint8Array[] {
  return planes.map((plane) => {
    const bytes = new Uint8Array(plane.layout.shape.reduce((product, size) => product * size));
    stream.read(plane, bytes, { at: "dense" });
    return bytes;
  });
}

/** The same of what the CPU has decoded: I420, whose chroma is put together. */
function pixelsOnHost(frame: Frame<HostTensor>): Uint8Array[] {
  const [luma, u, v] = frame.planes.map((plane) => {
    const { shape: [height, width], strides: [stride] } = plane.layout;
    const [from, bytes] = [plane.bytes({ access: "read" }), new Uint8Array(width * height)];
    for (let y = 0; y < height; y++) bytes.set(from.subarray(y * stride, y * stride + width), y * width);
    return bytes;
  });
  const chroma = new Uint8Array(2 * u.length);
  for (let i = 0; i < u.length; i++) [chroma[2 * i], chroma[2 * i + 1]] = [u[i], v[i]];
  return [luma, chroma];
}

/** What the CPU decodes of a clip. */
async function* decodedOnHost(name: GpuClip = CLIP): AsyncGenerator<Uint8Array[], undefined> {
  await using ffmpeg = FFmpegContext.open();
  using graph = new MapperGraph([host, ffmpeg]);
  for await (using frame of ffmpeg.decode(gpuClip(name))) {
    using mapped = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
    yield pixelsOnHost(mapped);
  }
}

async function nextOf(expected: AsyncGenerator<Uint8Array[], undefined>): Promise<Uint8Array[]> {
  const { value } = await expected.next();
  assert(value !== undefined, "the CPU has decoded fewer frames");
  return value;
}

function assertSame(actual: readonly Uint8Array[], expected: readonly Uint8Array[], what: string): void {
  for (const [p, plane] of expected.entries()) {
    assertEquals(actual[p].length, plane.length, `${what}, plane ${p}`);
    const at = plane.findIndex((byte, i) => byte !== actual[p][i]);
    assertEquals(at, -1, `${what}, plane ${p}: byte ${at} is ${actual[p][at]}, and on the CPU ${plane[at]}`);
  }
}

for (const name of ["h264-720.mp4", "hevc-720.mp4", "h264-1080.mp4"] as const satisfies GpuClip[]) {
  test(`NVDEC's pixels are the CPU's: ${name}`, async (cuda, ffmpeg) => {
    await using expected = decodedOnHost(name);
    let count = 0;
    for await (using frame of decoded(cuda, ffmpeg, name)) {
      assertEquals([frame.info.type, frame.info.format], ["image", "NV12"]);
      const value = await nextOf(expected);
      assertSame(pixelsOf(cuda, frame), value, `frame ${count++}`);
    }
    assertEquals((await expected.next()).done, true);
    assertEquals(count, name === "h264-1080.mp4" ? 120 : 60);
  });
}

test("AV1: the GPU decodes it, or the CPU does", async (_, ffmpeg) => {
  const targets: unknown[] = [];
  for await (using frame of ffmpeg.decode<CudaTensor>(gpuClip("av1-720.mp4"), { hardware: true })) {
    targets.push(frame.target);
  }
  console.log(`AV1: frames of ${targets[0]}`);
  assertEquals([targets.length, new Set(targets).size], [60, 1]);
});

const INVERT = `extern "C" __global__ void invert(unsigned char *bytes, int stride, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < width) bytes[blockIdx.y * stride + x] = 255 - bytes[blockIdx.y * stride + x];
}`;

test("a kernel on another stream changes NVDEC's frames in place", async (cuda, ffmpeg) => {
  using program = cuda.program(INVERT);
  using invert = program.kernel("invert", ["unsigned char*", "int", "int"]);
  using other = cuda.createStream();
  await using expected = decodedOnHost();
  let count = 0;
  for await (using frame of decoded(cuda, ffmpeg)) {
    assertEquals(frame.access, "read-write");
    const [luma] = frame.planes;
    const { shape: [height, width], strides: [stride] } = luma.layout;
    invert.run({ groups: [Math.ceil(width / 256), height], groupSize: [256] }, [luma, stride, width], {
      stream: other,
    });
    const value = await nextOf(expected);
    assertSame(pixelsOf(cuda, frame), [value[0].map((byte) => 255 - byte), value[1]], `frame ${count++}`);
  }
  assertEquals(count, 60);
});

test("previews by a kernel are those of the CPU's pixels", async (cuda, ffmpeg) => {
  using previews = new Previews(cuda, 1280, 720);
  await using expected = decodedOnHost();
  for await (using frame of decoded(cuda, ffmpeg)) {
    const [luma] = await nextOf(expected);
    previews.make(frame, (rgb) => {
      for (const [x, y] of [[0, 0], [17, 90], [255, 143], [128, 72]]) {
        let sum = 0;
        for (let i = 0; i < 25; i++) sum += luma[(5 * y + Math.floor(i / 5)) * 1280 + 5 * x + i % 5];
        const [r, g, b] = rgb.subarray(3 * (y * WIDTH + x));
        const light = 0.257 * r + 0.504 * g + 0.098 * b + 16;
        const isGamut = [r, g, b].every((value) => value > 0 && value < 255);
        if (isGamut) assert(Math.abs(light - sum / 25) < 2, `${x}, ${y}: ${light}, expected ${sum / 25}`);
      }
    });
  }
});

test("frames outlive their decoder, more than it has surfaces", async (cuda, ffmpeg) => {
  await using kept = new AsyncDisposableStack();
  const frames: Frame<CudaTensor>[] = [];
  for await (const frame of decoded(cuda, ffmpeg)) {
    if (frames.push(kept.use(frame)) === 40) break;
  }
  await using expected = decodedOnHost();
  for (const [i, frame] of frames.entries()) assertSame(pixelsOf(cuda, frame), await nextOf(expected), `frame ${i}`);
});

test("a seek begins where it is to", async (cuda, ffmpeg) => {
  let first: number | undefined;
  for await (using frame of decoded(cuda, ffmpeg, CLIP, 1.5)) {
    const { pts, timeBase } = frame.info.media!;
    first ??= Number(pts) * timeBase![0] / timeBase![1];
  }
  assertEquals(first, 1.5);
});

test("the GPU's memory is flat over 1,000 frames", async (cuda, ffmpeg) => {
  const lap = async () => {
    let count = 0;
    for await (using _ of decoded(cuda, ffmpeg)) count++;
    return count;
  };
  await lap();
  await lap(); // what the driver keeps from now on
  // The GPU's memory is that of all processes, which take and give back some in the middle: what each lap keeps shows in most.
  const kept: number[] = [];
  let { free } = cuda.memory();
  for (let count = 0; count < 1_000;) {
    count += await lap();
    const before = free;
    ({ free } = cuda.memory());
    kept.push((before - free) / 2 ** 20);
  }
  const usual = kept.toSorted((a, b) => a - b)[kept.length >> 1];
  console.log(`${kept.length} laps: one keeps ${usual.toFixed(1)} MiB of the GPU's memory`);
  assert(usual < 1, `each lap keeps ${usual} MiB: ${kept}`);
});

for (const blocking of [true, false]) {
  test(
    `disposed (${blocking ? "at once" : "async"}) in the middle, with a frame that lives on`,
    async (cuda, ffmpeg) => {
      for (const turns of [0, 1, 5]) {
        const decoder = ffmpeg.decode<CudaTensor>(gpuClip(CLIP), { hardware: true });
        const loop = decoder[Symbol.asyncIterator]();
        using first = (await loop.next()).value!;
        assert(isOn(first, cuda));
        for (let i = 0; i < turns; i++) await new Promise((resolve) => setTimeout(resolve));
        if (blocking) decoder[Symbol.dispose]();
        else await decoder[Symbol.asyncDispose]();
        await using expected = decodedOnHost();
        assertSame(pixelsOf(cuda, first), await nextOf(expected), `after ${turns} turns`);
      }
    },
  );
}

gpuTest(
  "ffmpeg: the CUDA context that ends first ends the decoder and its frames",
  async () => {
    const cuda = CudaContext.open();
    using ffmpeg = FFmpegContext.open({ on: cuda });
    const loop = ffmpeg.decode<CudaTensor>(gpuClip(CLIP), { hardware: true })[Symbol.asyncIterator]();
    using frame = (await loop.next()).value!;
    assert(isOn(frame, cuda));
    await cuda[Symbol.asyncDispose]();
    assertEquals([ffmpeg, frame].map(({ resource }) => resource.isLive), [false, false]);
    const error = await loop.next().then(() => undefined, (error) => error);
    assert(error instanceof DisposedError, `${error}`);
  },
  1,
  lacking(),
);
