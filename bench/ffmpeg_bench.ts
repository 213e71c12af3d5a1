// A 1080p NV12 AVFrame: FFmpeg's to the host's tensors, and the host's memory to an AVFrame.

import { type Frame, host, imageInfo, MapperGraph } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import type { Address } from "../ffi/address.ts";
import { avFrames } from "../src/ffmpeg/fields.ts";
import { avutil } from "../src/ffmpeg/library.ts";
import { libc } from "../src/core/native/libc.ts";
import { buildFrames, CFrame, inC } from "../tests/ffmpeg/frames.ts";
import { ffmpegC as c } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { readBoth } from "./harness/frame.ts";
import { atMostMore } from "./harness/goal.ts";
import { Missing } from "./harness/program.ts";
import { here } from "./harness/way.ts";

const missing = await buildFrames();

const PICTURE = ["nv12", 1920, 1080] as const;

interface Opened {
  readonly ffmpeg: FFmpegContext;
  readonly graph: MapperGraph;
}

let opened: Opened | undefined;

function open(): Opened {
  if (missing !== undefined) throw new Missing(missing);
  if (opened !== undefined) return opened;
  const ffmpeg = FFmpegContext.open();
  return opened = { ffmpeg, graph: new MapperGraph([host, ffmpeg]) };
}

/** The native calls that samepage makes for an AVFrame in the C library's heap, and nothing around them. */
function callsAlone() {
  open();
  const pointer = CFrame.picture(...PICTURE).pointer as Address;
  const { av_frame_alloc, av_frame_is_writable, av_frame_ref, av_frame_unref } = avutil().fns;
  const { sbrk, memcpy } = libc();
  const own = av_frame_alloc();
  const struct = new Uint8Array(avFrames().byteLength);
  const length = BigInt(struct.length);
  return {
    run(count: number) {
      for (let i = 0; i < count; i++) {
        if (pointer >= sbrk(0n)) throw new Error("it is not in the heap");
        memcpy(struct, pointer, length); // is it an AVFrame?
        av_frame_is_writable(pointer);
        av_frame_ref(own, pointer);
        memcpy(struct, own, 24n); // what its AVBufferRef says
        av_frame_unref(own);
      }
    },
  };
}

/** An AVFrame is attached, mapped to the host, and both end. */
function toHost(usePlanes: (frame: Frame) => void) {
  const { ffmpeg, graph } = open();
  const { pointer } = CFrame.picture(...PICTURE);
  return {
    run(count: number) {
      for (let i = 0; i < count; i++) {
        const frame = ffmpeg.attach(pointer);
        const mapped = graph.map(frame, host, { access: "read" });
        usePlanes(mapped);
        mapped[Symbol.dispose](); // two `using` of V8's take 150 ns by themselves
        frame[Symbol.dispose]();
      }
    },
  };
}

figure({
  id: "ffmpeg-attach",
  title: "attach an AVFrame and release it",
  goal: atMostMore(1.5),
  ignore: missing !== undefined,
  ways: [
    c("reference"),
    here("samepage", () => {
      const { ffmpeg } = open();
      const { pointer } = CFrame.picture(...PICTURE);
      return {
        run(count) {
          for (let i = 0; i < count; i++) ffmpeg.attach(pointer)[Symbol.dispose]();
        },
      };
    }),
  ],
});

figure({
  id: "ffmpeg-to-host",
  title: "an AVFrame as tensors of the host, and release it",
  goal: atMostMore(1.5),
  ignore: missing !== undefined,
  ways: [
    c("reference"),
    here("samepage", () => toHost(({ planes }) => readBoth(planes))),
    here("samepage, without its planes", () => toHost(() => {})),
    here("Deno, the calls alone", callsAlone),
  ],
});

figure({
  id: "ffmpeg-hand-over",
  title: "an AVFrame over a frame of the host's, freed at once",
  goal: atMostMore(1.5),
  ignore: missing !== undefined,
  ways: [
    c("hand_over"),
    here("samepage", () => {
      const { ffmpeg, graph } = open();
      const picture = host.allocateFrame(imageInfo({ format: "NV12", width: 1920, height: 1080 }));
      const mapped = graph.map(picture, ffmpeg);
      return {
        run(count) {
          for (let i = 0; i < count; i++) inC().freed(ffmpeg.avFrame(mapped));
        },
      };
    }),
  ],
});
