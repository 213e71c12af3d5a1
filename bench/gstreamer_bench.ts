// A 1080p NV12 GstBuffer: GStreamer's to the host's tensors, and the host's memory to a GstBuffer.

import { host, imageInfo, MapperGraph } from "@samepage/interop";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { unreference } from "../src/gstreamer/objects.ts";
import { CBuffer, memory } from "../tests/gstreamer/buffers.ts";
import { lacking } from "../tests/gstreamer/lacking.ts";
import { c } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { readBoth } from "./harness/frame.ts";
import { atMostMore } from "./harness/goal.ts";
import { Missing } from "./harness/program.ts";
import { here } from "./harness/way.ts";

const [WIDTH, HEIGHT] = [1920, 1080];
const LUMA = WIDTH * HEIGHT;

const missing = lacking();

interface Opened {
  readonly gst: GStreamerContext;
  readonly graph: MapperGraph;
}

let opened: Opened | undefined;

function open(): Opened {
  if (missing !== undefined) throw new Missing(missing);
  if (opened !== undefined) return opened;
  const gst = GStreamerContext.openSync();
  return opened = { gst, graph: new MapperGraph([host, gst]) };
}

/** A buffer of GStreamer's own memory that says where its planes lie. */
function buffer(): bigint {
  const made = new CBuffer(memory(LUMA * 3 / 2));
  made.addVideoMeta("NV12", [WIDTH, HEIGHT], [0, LUMA], [WIDTH, WIDTH]);
  return made.address;
}

const picture = () => host.allocateFrame(imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT }));

figure({
  id: "gstreamer-attach",
  title: "attach a GstBuffer and release it",
  goal: atMostMore(1.5),
  ignore: missing !== undefined,
  ways: [
    c("gstreamer", "map"),
    here("samepage", () => {
      const { gst } = open();
      const pointer = buffer();
      return {
        run(count) {
          for (let i = 0; i < count; i++) gst.attach(pointer, { access: "read" })[Symbol.dispose]();
        },
      };
    }),
  ],
});

figure({
  id: "gstreamer-to-host",
  title: "a GstBuffer as tensors of the host, and release it",
  goal: atMostMore(1.5),
  ignore: missing !== undefined,
  ways: [
    c("gstreamer", "map"),
    here("samepage", () => {
      const { gst, graph } = open();
      const pointer = buffer();
      return {
        run(count) {
          for (let i = 0; i < count; i++) {
            const frame = gst.attach(pointer, { access: "read" });
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
  id: "gstreamer-hand-over",
  title: "a GstBuffer over a frame of the host's, freed at once",
  goal: atMostMore(1.5),
  ignore: missing !== undefined,
  ways: [
    c("gstreamer", "wrap"),
    here("samepage", () => {
      const { gst, graph } = open();
      const mapped = graph.map(picture(), gst);
      return {
        run(count) {
          for (let i = 0; i < count; i++) unreference(gst.buffer(mapped));
        },
      };
    }),
    c("gstreamer", "wrap_buffer", "C, with a GstVideoMeta"),
  ],
});

figure({
  id: "gstreamer-from-host",
  title: "the same, mapped from the host",
  goal: atMostMore(1.5),
  ignore: missing !== undefined,
  ways: [
    c("gstreamer", "wrap"),
    here("samepage", () => {
      const { gst, graph } = open();
      const given = picture();
      return {
        run(count) {
          for (let i = 0; i < count; i++) {
            using mapped = graph.map(given, gst);
            unreference(gst.buffer(mapped));
          }
        },
      };
    }),
    c("gstreamer", "wrap_buffer", "C, with a GstVideoMeta"),
  ],
});
