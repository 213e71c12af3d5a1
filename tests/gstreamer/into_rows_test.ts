/** `pipeline.sink(name, { into, rowAlign })`: elements that write rows where the program wants them. */
import { assert, assertEquals } from "@std/assert";
import { type Frame, host, type HostTensor, type ImageInfo, MapperGraph, type Tensor } from "@samepage/interop";
import { GStreamerContext, type SinkOptions } from "@samepage/interop/gstreamer";
import { cString } from "../../src/core/native/text.ts";
import { gst as native, version } from "../../src/gstreamer/library.ts";
import { missing, testOfLateEnds } from "./open.ts";

const ALIGN = 256;
const WIDTH = 336;
const PICTURES =
  `videotestsrc pattern=ball num-buffers=12 ! video/x-raw,format=I420,width=${WIDTH},height=240,framerate=30/1`;
const SINK = " ! appsink name=out sync=false";
const INTO = { into: host, rowAlign: ALIGN, slots: 12 };

function test(name: string, fn: (gst: GStreamerContext) => Promise<void>): void {
  testOfLateEnds(`sink rowAlign: ${name}`, async () => {
    using gst = await GStreamerContext.open();
    await fn(gst);
  });
}

function isAligned({ planes }: Frame): boolean {
  return planes.every(({ layout: { strides: [stride] } }) => stride % ALIGN === 0);
}

/** A sum over the pixels, and not over what lies between the rows. */
function sumOf(planes: readonly Tensor[]): number {
  let sum = 0;
  for (const plane of planes as readonly HostTensor[]) {
    const { shape: [rows, ...row], strides: [stride] } = plane.layout;
    const width = row.reduce((length, size) => length * size, 1);
    const bytes = plane.bytes({ access: "read" });
    for (let y = 0; y < rows; y++) {
      for (let x = 0; x < width; x++) sum = (Math.imul(sum, 31) + bytes[y * stride + x]) | 0;
    }
  }
  return sum;
}

async function framesOf(gst: GStreamerContext, description: string, options: SinkOptions) {
  using graph = new MapperGraph([host, gst]);
  await using pipeline = gst.launch(description + SINK);
  const seen = [];
  for await (using frame of pipeline.sink("out", options)) {
    const isOurs = frame.target === host;
    using mapped = isOurs ? undefined : graph.map(frame, host, { access: "read" });
    const { width, height } = frame.info as ImageInfo;
    seen.push({
      ...{ isOurs, isAligned: isAligned(frame), sum: sumOf((mapped ?? frame).planes) },
      about: { format: frame.info.format, width, height, media: frame.info.media },
    });
  }
  return seen;
}

/** How many of 12 frames lie in the program's memory, and how many have their rows where it wants them. */
const ELEMENTS: Record<string, readonly [ours: number, aligned: number]> = {
  "identity": [12, 12],
  "queue ! videoconvert ! video/x-raw,format=RGB": [12, 12],
  "videoscale ! video/x-raw,width=168,height=120": [12, 12],
  "theoraenc ! theoradec": [12, 12],
  "x264enc tune=zerolatency ! avdec_h264": [12, 12],
  "jpegenc ! jpegdec": [12, 12],
  "vp8enc ! vp8dec": [12, 12],
  "tee ! queue": [0, 0],
  "videorate": [12, missing === undefined && version()[1] >= 24 ? 12 : 0],
};

for (const [elements, [ours, aligned]] of Object.entries(ELEMENTS)) {
  test(`${elements} writes ${aligned} of 12 frames by rows of ours, with the same pixels`, async (gst) => {
    const description = `${PICTURES} ! ${elements}`;
    const theirs = await framesOf(gst, description, {});
    const seen = await framesOf(gst, description, INTO);
    assertEquals(seen.length, 12);
    assertEquals(seen.filter(({ isOurs }) => isOurs).length, ours);
    assertEquals(seen.filter(({ isAligned }) => isAligned).length, aligned);
    assertEquals(seen.map(({ sum, about }) => ({ sum, about })), theirs.map(({ sum, about }) => ({ sum, about })));
  });
}

test("rows of several alignments begin there, as does each slot", async (gst) => {
  for (const rowAlign of [1, 64, 128, 4096]) {
    await using pipeline = gst.launch(PICTURES + SINK);
    let count = 0;
    for await (using frame of pipeline.sink("out", { into: host, slots: 12, rowAlign })) {
      const planes = frame.planes as readonly HostTensor[];
      assertEquals(frame.target, host);
      for (const { address, layout: { strides: [stride] } } of planes) {
        assertEquals([stride % rowAlign, Number(address % BigInt(rowAlign))], [0, 0]);
      }
      count++;
    }
    assertEquals(count, 12);
  }
});

test("a pipeline that was stopped plays again by rows of ours, in the same slots", async (gst) => {
  await using pipeline = gst.launch(PICTURES.replace("num-buffers=12 ", "") + SINK);
  let made = 0;
  const into = {
    allocate(layout: { readonly shape: readonly number[] }) {
      made++;
      return host.allocate({ shape: [...layout.shape], dtype: "u8" });
    },
  };
  const sink = pipeline.sink("out", { into: into as never, rowAlign: ALIGN, slots: 8 });
  for (let turn = 0; turn < 3; turn++) {
    let count = 0;
    for await (using frame of sink) {
      assert(frame.target === host && isAligned(frame), `frame ${count} of turn ${turn}`);
      if (++count === 20) break;
    }
    await pipeline.stop();
  }
  assertEquals(made, 8);
});

test("a stream whose caps change goes on with what its elements do by themselves", async (gst) => {
  const caps = (width: number) => `video/x-raw,format=GRAY8,width=${width},height=16,framerate=30/1`;
  await using pipeline = gst.launch(`videotestsrc ! capsfilter name=size caps=${caps(36)}${SINK}`);
  const size = native().gst_bin_get_by_name(pipeline.handle, cString("size"));
  const seen = new Map<string, boolean>();
  let count = 0;
  for await (using frame of pipeline.sink("out", { into: host, rowAlign: ALIGN, slots: 8 })) {
    const { width } = frame.info as ImageInfo;
    seen.set(`${width} ${frame.target === host} ${frame.planes[0].layout.strides[0]}`, true);
    if (++count === 5) native().gst_util_set_object_arg(size, cString("caps"), cString(caps(20)));
    if (seen.size === 2) break;
  }
  native().gst_object_unref(size);
  assertEquals([...seen.keys()], ["36 true 256", "20 true 20"]);
});
