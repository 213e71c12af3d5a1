// A 1080p NV12 AVFrame: FFmpeg's to the host's tensors, and the host's memory to an AVFrame.

import { host, imageInfo, MapperGraph } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { buildFrames, CFrame, inC } from "../tests/ffmpeg/frames.ts";
import { ffmpegC as c } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { readBoth } from "./harness/frame.ts";
import { atMostMore } from "./harness/goal.ts";
import { Missing } from "./harness/program.ts";
import { here } from "./harness/way.ts";

const missing = await buildFrames();

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

figure({
  id: "ffmpeg-attach",
  title: "attach an AVFrame and release it",
  goal: atMostMore(1.5),
  ignore: missing !== undefined,
  ways: [
    c("reference"),
    here("samepage", () => {
      const { ffmpeg } = open();
      const { pointer } = CFrame.picture("nv12", 1920, 1080);
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
    here("samepage", () => {
      const { ffmpeg, graph } = open();
      const { pointer } = CFrame.picture("nv12", 1920, 1080);
      return {
        run(count) {
          for (let i = 0; i < count; i++) {
            const frame = ffmpeg.attach(pointer);
            const mapped = graph.map(frame, host, { access: "read" });
            readBoth(mapped.planes);
            mapped[Symbol.dispose](); // two `using` of V8's take 150 ns by themselves
            frame[Symbol.dispose]();
          }
        },
      };
    }),
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
