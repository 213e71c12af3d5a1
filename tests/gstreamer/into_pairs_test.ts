/** Memory that GStreamer's elements use, and what else has it meanwhile: a slow device that copies, and another process. */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { AccessError, type Frame, host, type HostTensor, imageInfo, MapperGraph } from "@samepage/interop";
import { type FrameMemory, GStreamerContext } from "@samepage/interop/gstreamer";
import { connect, listen } from "@samepage/interop/channel";
import { sleepSync } from "../../src/core/pace.ts";
import { temporaryPath } from "../channel/help.ts";
import { FakeContext } from "../conformance/template/queue/context.ts";
import { fakeAlive, misuses } from "../conformance/template/queue/library.ts";
import type { FakeTensor } from "../conformance/template/queue/tensor.ts";
import { testOfLateEnds } from "./open.ts";

const [WIDTH, HEIGHT, FRAMES] = [64, 48, 40];
const PICTURES =
  `videotestsrc pattern=ball num-buffers=${FRAMES} ! video/x-raw,format=GRAY8,width=${WIDTH},height=${HEIGHT} ! ` +
  "appsink name=out sync=false";

/** The pixels of each frame, as they are without any of this. */
async function expected(gst: GStreamerContext): Promise<Uint8Array[]> {
  using graph = new MapperGraph([host, gst]);
  await using pipeline = gst.launch(PICTURES);
  const frames = [];
  for await (using frame of pipeline.sink("out")) {
    using seen = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
    frames.push(seen.planes[0].bytes({ access: "read" }).slice());
  }
  return frames;
}

for (const [how, most] of [["reaches its end", FRAMES], ["is disposed", 7]] as const) {
  testOfLateEnds(
    `a device that copies slot by slot, later, has each frame whole while the pipeline ${how}`,
    async () => {
      using gst = await GStreamerContext.open();
      const wanted = await expected(gst);
      const before = fakeAlive();
      const copies: FakeTensor[] = [];
      {
        using fake = new FakeContext("slow");
        using graph = new MapperGraph([host, gst, fake]);
        using results = new DisposableStack();
        const pipeline = gst.launch(PICTURES);
        for await (const frame of pipeline.sink("out", { into: host, slots: 3 })) {
          const copy = results.use(fake.target("fake.copy").allocate({ shape: [HEIGHT, WIDTH], dtype: "u8" }));
          const there = graph.map(frame, fake.target("fake.migrate"), { access: "read" }) as Frame<FakeTensor>;
          fake.queue.copy(there.planes[0], copy);
          const done = fake.queue.fence();
          there.disposeAfter(done);
          frame.disposeAfter(done);
          sleepSync(2); // the device has no turn, and the elements write on
          if (copies.push(copy) === most) break;
        }
        if (most < FRAMES) pipeline[Symbol.dispose]();
        else await pipeline[Symbol.asyncDispose]();
        for (const [i, copy] of copies.entries()) {
          const seen = new Uint8Array(WIDTH * HEIGHT);
          fake.queue.read(copy, seen);
          await fake.queue.fence().wait();
          assertEquals(seen, wanted[i], `frame ${i}`);
        }
      }
      assertEquals([copies.length, misuses.splice(0), fakeAlive()], [most, [], before]);
    },
  );
}

testOfLateEnds(
  "a frame goes to another process while an element holds its buffer, and writes are refused",
  async () => {
    using gst = await GStreamerContext.open();
    using graph = new MapperGraph([host, gst]);
    await using at = await temporaryPath();
    using server = listen(at.path);
    using one = connect(at.path, { contexts: [host] });
    using other = await server.accept();
    const info = imageInfo({ format: "GRAY8", width: WIDTH, height: HEIGHT });
    using picture = host.allocateFrame(info, { sharable: true });
    picture.planes[0].bytes().fill(42);
    await using pipeline = gst.launch("appsrc name=in ! queue min-threshold-buffers=2 ! fakesink");
    const writer = pipeline.source("in", info).getWriter();
    const mapped = graph.map(picture, gst, { access: "read" }) as Frame;
    await writer.write(mapped);
    const ended = mapped[Symbol.asyncDispose]();

    await other.send(picture);
    {
      using received = await one.receive() as Frame<HostTensor>;
      assertEquals([received.access, received.planes[0].bytes({ access: "read" })[99]], ["read", 42]);
      await assertRejects(() => other.send(picture, { access: "read-write" }), AccessError);
      assertThrows(() => picture.planes[0].bytes(), AccessError, "End or stop the pipeline");
    }
    await pipeline.stop();
    await ended;
    picture.planes[0].bytes().fill(43);
  },
);

testOfLateEnds(
  "a slot that was sent is refused here while elements may write it, and is read once they are gone",
  async () => {
    using gst = await GStreamerContext.open();
    await using at = await temporaryPath();
    using server = listen(at.path);
    using one = connect(at.path, { contexts: [host] });
    using other = await server.accept();
    const into = {
      allocate: ({ shape }: { readonly shape: readonly number[] }) =>
        host.allocate({ shape: [...shape], dtype: "u8", sharable: true }),
    };
    const pipeline = gst.launch(PICTURES.replace("ball", "white"));
    const frames = pipeline.sink("out", { into: into as FrameMemory, slots: 4 })[Symbol.asyncIterator]();
    const frame = (await frames.next()).value as Frame;
    await other.send(frame);
    using received = await one.receive() as Frame<HostTensor>;
    assertThrows(() => received.planes[0].bytes({ access: "read" }), AccessError, "lent");
    frame[Symbol.dispose]();
    await frames.return!();
    await pipeline[Symbol.asyncDispose]();
    assertEquals(received.planes[0].bytes({ access: "read" })[99], 235);
  },
);

testOfLateEnds("a source gets what a device that copies has written, though that is on its way back", async () => {
  using gst = await GStreamerContext.open();
  using fake = new FakeContext("slow");
  using graph = new MapperGraph([host, gst, fake]);
  const info = {
    ...imageInfo({ format: "GRAY8", width: WIDTH, height: HEIGHT }),
    media: { frameRate: [25, 1] as const },
  };
  await using pipeline = gst.launch(
    "appsrc name=in ! videoscale ! video/x-raw,width=32,height=24 ! appsink name=out sync=false",
  );
  const writer = pipeline.source("in", info).getWriter();
  const frames = pipeline.sink("out")[Symbol.asyncIterator]();
  for (let i = 1; i < 9; i++) {
    using picture = host.allocateFrame(info);
    const there = graph.map(picture, fake.target("fake.migrate")) as Frame<FakeTensor>;
    fake.queue.fill(there.planes[0], i);
    there.disposeAfter(fake.queue.fence());
    assertEquals(there.resource.state === "freed", false);
    using mapped = graph.map(picture, gst, { access: "read" }) as Frame;
    await writer.write(mapped);
    using frame = (await frames.next()).value as Frame;
    using seen = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
    assertEquals(new Set(seen.planes[0].bytes({ access: "read" })), new Set([i]));
  }
  await writer.close();
  assertEquals(misuses.splice(0), []);
});
