/** DL Streamer's frame batches, which are lists of buffers: each is a frame, with its own planes, times and metadata. */
import { assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, LayoutError } from "@samepage/interop";
import type { Address } from "../../ffi/address.ts";
import { cString } from "../../src/core/native/text.ts";
import { gst, gstVideo } from "../../src/gstreamer/library.ts";
import { CBuffer, listOf, memory, write } from "./buffers.ts";
import { missing, testOpen } from "./open.ts";

const NV12 = "video/x-raw,format=NV12,width=4,height=4,framerate=1/1";

/** A buffer with a time, a layout and a region of its own. */
function picture(i: number): CBuffer {
  const made = new CBuffer(memory(64, i));
  made.addVideoMeta("NV12", [4, 4], [i, 32], [8, 4 + 2 * i]);
  write(made.address, "pts", BigInt(i) * 1_000_000n);
  gstVideo().gst_buffer_add_video_region_of_interest_meta(made.address, cString(`cat ${i}`), 0, 0, 2, 2);
  return made;
}

testOpen("attachBatch() makes a frame of each buffer of a list", (open) => {
  using one = picture(1);
  using two = picture(2);
  using list = listOf(one, two);
  const frames = open.gst.attachBatch(list.address, { caps: NV12 });
  assertEquals(frames.map(({ handle }) => handle), [one.address, two.address]);
  assertEquals(frames.map(({ info }) => info.media!.pts), [1_000_000n, 2_000_000n]);
  assertEquals(frames.map(({ regions: [{ detection }] }) => detection.label), ["cat 1", "cat 2"]);
  assertEquals(
    frames.map(({ planes }) => planes.map(({ layout: { byteOffset, strides } }) => [byteOffset, strides[0]])),
    [
      [[1, 8], [32, 6]],
      [[2, 8], [32, 8]],
    ],
  );
  for (const [i, frame] of frames.entries()) {
    using seen = open.map(frame);
    assertEquals(seen.planes.map((plane) => plane.bytes()[0]), [2 * (i + 1), i + 1 + 32]);
  }
  assertEquals([one.references, two.references, list.references], [3, 3, 1]);
  for (const frame of frames) frame[Symbol.dispose]();
  assertEquals([one.references, two.references], [2, 2]);
});

testOpen("attachBatch() lets a batch be written that has no other holder", (open) => {
  const made = picture(1);
  using list = listOf(made);
  made[Symbol.dispose]();
  const [frame] = open.gst.attachBatch(list.address, { caps: NV12 });
  using _frame = frame;
  assertEquals(frame.access, "read-write");
});

testOpen("attachBatch() attaches all of a batch, or none", (open) => {
  using one = picture(1);
  using short = new CBuffer(memory(8));
  using list = listOf(one, short);
  assertThrows(() => open.gst.attachBatch(list.address, { caps: NV12 }), LayoutError);
  assertEquals([one.references, short.references], [2, 2]);
});

testOpen("attachBatch() refuses anything but a batch, and an empty one", (open) => {
  using one = picture(1);
  using sample = one.sample(NV12);
  using empty = listOf();
  assertThrows(() => open.gst.attachBatch(one.address as Address), ArgumentError, "GstBufferList or a GstSample");
  for (const { address } of [sample, empty]) {
    const error = assertThrows(() => open.gst.attachBatch(address), ArgumentError, "no list of buffers");
    assertEquals(error.hint, "attach() takes one buffer.");
  }
  using list = listOf(one);
  assertThrows(() => open.gst.attach(list.address), ArgumentError, "GstBuffer or a GstSample");
});

const { gst_app_src_push_buffer_list } = missing !== undefined
  ? { gst_app_src_push_buffer_list: undefined }
  : Deno.dlopen("libgstapp-1.0.so.0", {
    gst_app_src_push_buffer_list: { parameters: ["u64", "u64"], result: "i32" },
  }).symbols;

testOpen("a loop over a sink has each frame of a list, also where the description asks for lists", async (open) => {
  await using pipeline = open.gst.launch(
    `appsrc name=in format=time caps="${NV12}" ! appsink name=out buffer-list=true sync=false`,
  );
  const source = gst().gst_bin_get_by_name(pipeline.handle, cString("in"));
  using one = picture(1);
  using two = picture(2);
  const sink = pipeline.sink("out");
  const playing = pipeline.play();
  gst_app_src_push_buffer_list!(source, listOf(one, two).address); // which takes the list
  gst().gst_object_unref(source);
  await playing;
  const seen: (bigint | undefined)[] = [];
  for await (using frame of sink) if (seen.push(frame.info.media!.pts) === 2) break;
  assertEquals(seen, [1_000_000n, 2_000_000n]);
});
