// A frame of 1080p that the GPU decodes (NVDEC), and a preview of it on the host: by a kernel, in place, and from the whole
// frame, which comes to the host for that. Making the preview there is left out: it would take the others longer still.
//
// One clip goes no faster than NVDEC decodes it, whatever is done with its frames: "decoding alone" says how fast that is.
// A GPU has several decoders, so that with several clips the copies show. The clips are long: to open one takes as long as
// to decode 80 frames (seen on an H200).

import type { Frame } from "@samepage/interop";
import type { CudaTensor } from "@samepage/interop/cuda";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { Previews } from "../examples/nvdec-cuda/preview.ts";
import { coding } from "../src/ffmpeg/library.ts";
import { openOr } from "../examples/cuda-edges/open.ts";
import { InteropError } from "@samepage/interop";
import { gpuClip, missingClips } from "../tasks/gpu/clips.ts";
import { gpu, noCuda } from "./harness/cuda.ts";
import { figure } from "./harness/figure.ts";
import { faster } from "./harness/goal.ts";
import type { Operation } from "./harness/operation.ts";
import { here, moving } from "./harness/way.ts";

const [WIDTH, HEIGHT] = [1920, 1080];

/** Bytes of a frame. */
const WHOLE = WIDTH * HEIGHT * 3 / 2;

/** Bytes of its preview: 256 × 144, RGB. */
const PREVIEW = 256 * 144 * 3;

/** How often the clip of 120 frames stands in the long one. */
const TIMES = 25;

/** The long clip, once it was made. */
let long: Uint8Array | undefined;

function longClip(): Uint8Array {
  if (long !== undefined) return long;
  const short = Deno.readFileSync(gpuClip("h264-1080.h264"));
  long = new Uint8Array(TIMES * short.length);
  for (let i = 0; i < TIMES; i++) long.set(short, i * short.length);
  return long;
}

/** The frames of the long clip, again and again. */
async function* framesOf(ffmpeg: FFmpegContext): AsyncGenerator<Frame<CudaTensor>, void> {
  for (;;) {
    yield* ffmpeg.decode<CudaTensor>(longClip(), { hardware: "required" }) as AsyncIterable<Frame<CudaTensor>>;
  }
}

/** Does something with each frame of so many clips, by turns. All are decoded at the same time. */
function onFrames(clips: number, work: (frame: Frame<CudaTensor>) => void): Operation {
  const ffmpeg = FFmpegContext.open({ on: gpu().cuda });
  const frames = Array.from({ length: clips }, () => framesOf(ffmpeg));
  return {
    async run(count) {
      for (let i = 0; i < count; i++) {
        using frame = (await frames[i % clips].next()).value!;
        work(frame);
      }
    },
  };
}

function copyingToPages(clips: number): Operation {
  const { cuda } = gpu();
  const planes = [new Uint8Array(WIDTH * HEIGHT), new Uint8Array(WIDTH * HEIGHT / 2)];
  return onFrames(
    clips,
    (frame) => frame.planes.forEach((plane, i) => cuda.stream.read(plane, planes[i], { at: "dense" })),
  );
}

function copyingToPinned(clips: number): Operation {
  const { cuda } = gpu();
  const shapes = [[HEIGHT, WIDTH], [HEIGHT / 2, WIDTH / 2, 2]];
  const planes = shapes.map((shape) => cuda.pinned.allocate({ shape, dtype: "u8" }));
  return onFrames(clips, (frame) => {
    frame.planes.forEach((plane, i) => cuda.stream.copy(plane, planes[i]));
    cuda.stream.finish();
  });
}

function inPlace(clips: number): Operation {
  const previews = new Previews(gpu().cuda, WIDTH, HEIGHT);
  let seen = 0;
  return onFrames(clips, (frame) => previews.make(frame, (rgb) => void (seen += rgb[0])));
}

function decodingAlone(clips: number): Operation {
  return onFrames(clips, () => {});
}

const isHere = noCuda() === undefined && missingClips() === undefined && !(openOr(coding) instanceof InteropError);

for (const clips of isHere ? [1, 8] : []) {
  figure({
    id: `ffmpeg-nvdec-${clips === 1 ? "preview" : "previews"}`,
    title: `a frame of 1080p by NVDEC, of ${
      clips === 1 ? "one clip" : `${clips} clips`
    }, and a 256-wide preview on the host`,
    on: "cuda",
    goal: faster(2),
    ways: [
      moving(WHOLE, here("FFmpeg, cudaMemcpy of the frame", () => copyingToPages(clips))),
      moving(PREVIEW, here("samepage", () => inPlace(clips))),
      moving(WHOLE, here("FFmpeg, cudaMemcpy to pinned memory", () => copyingToPinned(clips))),
      moving(0, here("decoding alone", () => decodingAlone(clips))),
    ],
  });
}
