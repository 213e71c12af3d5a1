/** Frames whose planes begin where no sub-buffer may, as those of 854 × 480 and 426 × 240 do. */
import { assert, assertEquals } from "@std/assert";
import {
  type Frame,
  host,
  type HostTensor,
  imageInfo,
  LayoutError,
  MapperGraph,
  NoRouteError,
} from "@samepage/interop";
import { chain } from "@samepage/interop/backend";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { hostToOpenCL, type OpenCLContext, type OpenCLTensor } from "@samepage/interop/opencl";
import { caps, CBuffer, memory } from "../gstreamer/buffers.ts";
import { lacking } from "../gstreamer/lacking.ts";
import { assertBytes, type Bench, bench, MIGRATING, random, testEach, thrown } from "./help.ts";

const SIZES = [[854, 480], [426, 240]] as const;
const FORMATS = ["NV12", "I420"] as const;
const FRAMES = SIZES.flatMap(([width, height]) => FORMATS.map((format) => imageInfo({ format, width, height })));

/** Keeps a kernel at work while its map ends. */
const TURNS = 20;

/** How a map with work in flight ends. */
const ENDS: { readonly [how: string]: (mapped: Frame<OpenCLTensor>, cl: OpenCLContext) => unknown } = {
  dispose: (mapped) => mapped[Symbol.dispose](),
  asyncDispose: (mapped) => mapped[Symbol.asyncDispose](),
  disposeAfter: (mapped, { queue }) => mapped.disposeAfter(queue.fence()),
};

/** Random bytes in each plane of a host frame, and a copy of them. */
function filled({ planes }: Frame<HostTensor>): Uint8Array[] {
  return planes.map((plane) => {
    const bytes = random(plane.byteLength);
    plane.bytes().set(bytes);
    return bytes;
  });
}

/** Has kernels add 1 to the first plane, 2 to the next, and so on; nothing waits for them. */
function add({ kernels: { slow } }: Bench, { planes }: Frame<OpenCLTensor>): void {
  planes.forEach((plane, i) => slow.run({ items: [plane.byteLength] }, [plane, 1 + i, TURNS]));
}

function assertAdded({ planes, info }: Frame<HostTensor>, before: readonly Uint8Array[]): void {
  planes.forEach((plane, i) => {
    const expected = before[i].map((byte) => byte + 1 + i);
    assertBytes(plane.bytes({ access: "read" }), expected, `plane ${i} of ${info.format}`);
  });
}

for (const [how, end] of Object.entries(ENDS)) {
  testEach(
    `graph.map() of a frame of any size gives kernels each plane, and ${how} brings all back`,
    async (platform) => {
      using b = bench(platform);
      for (const info of FRAMES) {
        using frame = host.allocateFrame(info);
        const before = filled(frame);
        const mapped = b.graph.map(frame, b.cl);
        const transfer = MIGRATING.includes(platform) ? "migrate" : "alias";
        assertEquals(mapped.route!.steps.map((step) => step.transfer), [transfer]);
        add(b, mapped);
        await end(mapped, b.cl);
        await frame.finished();
        assertAdded(frame, before);
      }
    },
  );
}

testEach("graph.map() of a GStreamer's frame of any size gives kernels each plane", (platform) => {
  using b = bench(platform);
  using gst = GStreamerContext.openSync();
  using graph = new MapperGraph([host, gst, b.cl]);
  for (const { format, width, height } of FRAMES) {
    const row = 4 * Math.ceil(width / 4); // of GStreamer's own layout
    using buffer = new CBuffer(memory(row * height * 2));
    using its = caps(`video/x-raw,format=${format},width=${width},height=${height},framerate=25/1`);
    using frame = gst.attach(buffer.address, { caps: its.address });
    const there = () => graph.map(frame, host) as Frame<HostTensor>;
    let before: readonly Uint8Array[];
    {
      using seen = there();
      before = filled(seen);
    }
    {
      using mapped = graph.map(frame, b.cl) as Frame<OpenCLTensor>;
      add(b, mapped);
    }
    using seen = there();
    assertAdded(seen, before);
  }
}, () => lacking());

testEach("graph.map() takes a frame as one whose planes lie among each other, in one buffer", (platform) => {
  using b = bench(platform);
  using gst = GStreamerContext.openSync();
  using graph = new MapperGraph([host, gst, b.cl]);
  using buffer = new CBuffer(memory(1000));
  buffer.addVideoMeta("I420", [20, 20], [0, 400, 410], [20, 20, 20]); // a row of U, a row of V, and so on
  using its = caps("video/x-raw,format=I420,width=20,height=20,framerate=25/1");
  using frame = gst.attach(buffer.address, { caps: its.address });
  using mapped = graph.map(frame, b.cl) as Frame<OpenCLTensor>;
  assertEquals(new Set(mapped.planes.map((plane) => plane.root)).size, 1);
  b.kernels.fill.run({ items: [400] }, [mapped.planes[0], 0]);
  const error = thrown(LayoutError, () => b.kernels.fill.run({ items: [1] }, [mapped.planes[1], 0]));
  assert(error.hint!.includes("copy"), error.hint);
}, () => lacking());

testEach("maps of a frame of any size, and of its planes, share a buffer for each plane", (platform) => {
  using b = bench(platform);
  for (const info of FRAMES) {
    using frame = host.allocateFrame(info);
    const before = filled(frame);
    using plane = b.graph.map(frame.planes[1], b.cl, { access: "read" });
    using one = b.graph.map(frame, b.cl, { access: "read" });
    using two = b.graph.map(frame, b.cl, { access: "read" });
    const handles = (mapped: Frame<OpenCLTensor>) => mapped.planes.map(({ handle }) => handle);
    assertEquals(handles(one)[1], plane.handle);
    assertEquals(handles(two), handles(one));
    const seen = new Uint8Array(plane.byteLength);
    b.cl.queue.read(two.planes[1], seen);
    assertBytes(seen, before[1]);
  }
});

testEach(
  "graph.map() of a frame within a live buffer shares that, and of more than such a frame is refused",
  (platform) => {
    using b = bench(platform);
    for (const info of FRAMES) {
      using frame = host.allocateFrame(info);
      const byteLength = frame.planes.reduce((sum, plane) => sum + plane.byteLength, 0);
      using block = host.wrap(frame.planes[0].handle, { shape: [byteLength], dtype: "u8" });
      {
        using whole = b.graph.map(block, b.cl, { access: "read" });
        using mapped = b.graph.map(frame, b.cl, { access: "read" });
        for (const plane of mapped.planes) assertEquals(plane.root, whole.root);
      }
      using _ = b.graph.map(frame, b.cl, { access: "read" });
      thrown(NoRouteError, () => b.graph.map(block, b.cl, { access: "read" }));
    }
  },
);

testEach("chain() maps a frame of any size plane by plane, as its first edge does", (platform) => {
  using b = bench(platform);
  using graph = new MapperGraph([host, b.cl], [chain([hostToOpenCL, b.cl])]);
  for (const info of FRAMES) {
    using frame = host.allocateFrame(info);
    const before = filled(frame);
    {
      using mapped = graph.map(frame, b.cl);
      add(b, mapped);
    }
    assertAdded(frame, before);
  }
});
