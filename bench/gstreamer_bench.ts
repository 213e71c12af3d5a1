// A 1080p NV12 GstBuffer: GStreamer's to the host's tensors, and the host's memory to a GstBuffer.

import { host, imageInfo, MapperGraph } from "@samepage/interop";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { gst as native } from "../src/gstreamer/library.ts";
import { CBuffer, memory } from "../tests/gstreamer/buffers.ts";
import { lacking } from "../tests/gstreamer/lacking.ts";
import { gstreamerC as c } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { atMostMore } from "./harness/goal.ts";
import { Missing } from "./harness/program.ts";
import { here } from "./harness/way.ts";

const missing = lacking();
const [WIDTH, HEIGHT] = [1920, 1080];
const CAPS = `video/x-raw,format=NV12,width=${WIDTH},height=${HEIGHT}`;

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

/** A buffer with a GstVideoMeta, in a sample with its caps, as an appsink has it. */
function sample(): bigint {
  const made = new CBuffer(memory(WIDTH * HEIGHT * 3 / 2));
  made.addVideoMeta("NV12", [WIDTH, HEIGHT], [0, WIDTH * HEIGHT], [WIDTH, WIDTH]);
  return made.sample(CAPS).address;
}

figure({
  id: "gstreamer-attach",
  title: "attach a GstBuffer and release it",
  goal: atMostMore(1.5),
  ignore: missing !== undefined,
  ways: [
    c("map_frame"),
    here("samepage", () => {
      const { gst } = open();
      const pointer = sample();
      return {
        run(count) {
          for (let i = 0; i < count; i++) gst.attach(pointer)[Symbol.dispose]();
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
    c("map_frame"),
    here("samepage", () => {
      const { gst, graph } = open();
      const pointer = sample();
      return {
        run(count) {
          for (let i = 0; i < count; i++) {
            using frame = gst.attach(pointer);
            using mapped = graph.map(frame, host, { access: "read" });
            void mapped.planes[1];
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
    c("hand_over"),
    here("samepage", () => {
      const { gst, graph } = open();
      const picture = host.allocateFrame(imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT }));
      const mapped = graph.map(picture, gst);
      return {
        run(count) {
          for (let i = 0; i < count; i++) native().gst_mini_object_unref(gst.buffer(mapped));
        },
      };
    }),
  ],
});
