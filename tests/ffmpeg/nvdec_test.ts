/** `ffmpeg.decode(source, { hardware })` with CUDA, over a recording of it, and an NVDEC whose memory is the host's. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Frame, InteropError, ledger } from "../../mod.ts";
import * as cu from "../../ffi/cuda_driver/constants.ts";
import { CudaContext, type CudaTensor } from "../../src/cuda/mod.ts";
import { FFmpegContext, type FFmpegTensor } from "../../src/ffmpeg/mod.ts";
import { bytesAt, until } from "../conformance/bytes.ts";
import { recordedTests } from "../cuda/recorded.ts";
import { clip, missing as noProgram } from "./clips.ts";
import { useNvdec } from "./frames.ts";

const nvdec = await useNvdec();
const missing = noProgram ?? (typeof nvdec === "string" ? nvdec : undefined);

/** Memory of the drivers of the tests begins at multiples of this, and is no longer. */
const BLOCK = 1n << 20n;

const recorded = recordedTests({
  cuPointerGetAttribute: (out: BigUint64Array, attribute: number, address: bigint) => {
    const words = new Uint32Array(out.buffer);
    if (attribute === cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE) words[0] = cu.CU_MEMORYTYPE_DEVICE;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) words[0] = 0;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) out[0] = address / BLOCK * BLOCK;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_RANGE_SIZE) out[0] = BLOCK;
    return 0;
  },
});

interface There {
  readonly cuda: CudaContext;
  readonly ffmpeg: FFmpegContext;
  readonly nvdec: Exclude<typeof nvdec, string>;
}

function test(name: string, fn: (there: There) => unknown): void {
  recorded(
    `ffmpeg: ${name}`,
    async () => {
      if (typeof nvdec === "string") return;
      {
        using cuda = CudaContext.open();
        await using ffmpeg = FFmpegContext.open({ on: cuda });
        await fn({ cuda, ffmpeg, nvdec });
      }
      await until(() => ledger.alive["native.flag"] === undefined);
      assertEquals(nvdec.nvdec_decoders(), 0);
    },
    {},
    missing,
  );
}

type Decoded = Frame<CudaTensor | FFmpegTensor>;

const isOn = (frame: Decoded, cuda: CudaContext): frame is Frame<CudaTensor> => frame.target === cuda;

test("NVDEC's frames are frames of CUDA in place, in order", async ({ cuda, ffmpeg, nvdec }) => {
  const path = await clip("h264.mkv");
  const times: unknown[] = [];
  for await (using theirs of ffmpeg.decode(path)) times.push(theirs.info.media!.pts);
  const lumas = new Set<number>();
  let count = 0;
  for await (using frame of ffmpeg.decode<CudaTensor>(path, { hardware: true })) {
    assertEquals(nvdec.nvdec_decoders(), 1);
    assert(isOn(frame, cuda), `${frame}`);
    const { info: { type, format, media } } = frame;
    assertEquals([type, format, media!.pts], ["image", "NV12", times[count++]]);
    assertEquals(frame.planes.map(({ layout: { shape } }) => shape), [[120, 160], [60, 80, 2]]);
    const [luma, chroma] = frame.planes.map(({ handle, layout: { byteLength } }) => bytesAt(handle, byteLength));
    assertEquals([luma.at(-1), chroma[0], chroma.at(-1)], [luma[0], 128 + luma[0], 128 + luma[0]]);
    lumas.add(luma[0]);
  }
  assertEquals([count, lumas.size], [times.length, times.length]);
});

test("frames of NVDEC outlive their decoder, and hold their device", async ({ ffmpeg, cuda }) => {
  const frames: Decoded[] = [];
  for await (const frame of ffmpeg.decode<CudaTensor>(await clip("h264.mkv"), { hardware: "required" })) {
    if (frames.push(frame) === 3) break;
  }
  for (const frame of frames) {
    assert(isOn(frame, cuda));
    assertEquals(bytesAt(frame.planes[0].handle, 1)[0] + 128, bytesAt(frame.planes[1].handle, 1)[0]);
    frame[Symbol.dispose]();
  }
});

test("a seek, and an end in the middle", async ({ ffmpeg, cuda }) => {
  const path = await clip("h264.mkv");
  let first: bigint | undefined;
  for await (using frame of ffmpeg.decode<CudaTensor>(path, { hardware: true, from: 1 })) {
    assert(isOn(frame, cuda));
    first ??= frame.info.media!.pts;
  }
  assertEquals(first, 1000n);
  const decoder = ffmpeg.decode<CudaTensor>(path, { hardware: true });
  const loop = decoder[Symbol.asyncIterator]();
  const { value } = await loop.next();
  decoder[Symbol.dispose]();
  assert(isOn(value!, cuda));
  value[Symbol.dispose]();
});

test("the context that ends first ends the decoder, and its frames", async ({ ffmpeg }) => {
  const cuda = CudaContext.open();
  const other = FFmpegContext.open({ on: cuda });
  const loop = other.decode<CudaTensor>(await clip("h264.mkv"), { hardware: true })[Symbol.asyncIterator]();
  const { value: frame } = await loop.next();
  await cuda[Symbol.asyncDispose]();
  assertEquals([other, frame!].map(({ resource }) => resource.state), ["freed", "freed"]);
  other[Symbol.dispose]();
  void ffmpeg;
});

test("what NVDEC does not take is decoded by the CPU, and says so", async ({ cuda, ffmpeg, nvdec }) => {
  nvdec.nvdec_refuse(1);
  try {
    const expected: unknown[] = [];
    const path = await clip("h264.mkv");
    for await (using theirs of ffmpeg.decode(path)) expected.push(theirs.info);
    for await (using frame of ffmpeg.decode(path, { hardware: true })) {
      assertEquals([frame.target, frame.info], [ffmpeg, expected.shift()]);
    }
    assertEquals(expected, []);
    const required = async () => {
      for await (using _ of ffmpeg.decode(path, { hardware: "required" }));
    };
    await assertRejects(required, InteropError, `does not decode this stream of h264 on ${cuda.name}.`);
  } finally {
    nvdec.nvdec_refuse(0);
  }
});

test("a codec that no device decodes is refused at once where one has to", async ({ ffmpeg }) => {
  const path = await clip("picture.png");
  for await (using frame of ffmpeg.decode(path, { hardware: true })) assertEquals(frame.target, ffmpeg);
  await assertRejects(() => ffmpeg.decode(path, { hardware: "required" }).info(), InteropError, "stream of png");
});
