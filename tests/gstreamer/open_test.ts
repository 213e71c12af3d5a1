import { assert, assertEquals, assertMatch } from "@std/assert";
import { host, MapperGraph } from "@samepage/interop";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { SYMBOLS as ALLOCATORS } from "../../ffi/gst_allocators/symbols.ts";
import { SYMBOLS as VIDEO } from "../../ffi/gst_video/symbols.ts";
import { SYMBOLS } from "../../ffi/gstreamer/symbols.ts";
import { gst, gstAllocators, gstApp, gstAudio, gstVideo } from "../../src/gstreamer/library.ts";
import { bytesAt } from "../conformance/bytes.ts";
import { test } from "./open.ts";

test("open() names the version, and openSync() opens the same GStreamer", async () => {
  using context = await GStreamerContext.open();
  using other = GStreamerContext.openSync();
  assertMatch(context.name, /^GStreamer 1\.\d+\.\d+$/);
  assertEquals([context.api, context.kind, other.name], ["gstreamer", "gstbuffer", context.name]);
  assertEquals(gst().gst_is_initialized(), 1);
});

test("open() initializes once where two contexts are opened at a time", async () => {
  const opened = await Promise.all([GStreamerContext.open(), GStreamerContext.open()]);
  for (const context of opened) context[Symbol.dispose]();
  assertEquals(gst().gst_is_initialized(), 1);
});

Deno.test("no function that copies behind a route's back is bound, nor what every allocator of a process would follow", () => {
  const bound = [SYMBOLS, ALLOCATORS, VIDEO].flatMap((symbols) => Object.keys(symbols));
  const wrong = bound.filter((name) =>
    /^gst_buffer_(fill|extract|copy$)|_set_default$|^gst_video_frame_copy/.test(name)
  );
  assertEquals([wrong, bound.includes("gst_buffer_new")], [[], true]);
});

test("the libraries of pictures, sound, fds and appsink are of the build that is open", () => {
  for (const library of [gstApp, gstVideo, gstAudio, gstAllocators]) assert(library());
});

test("map() of the host's memory to GStreamer and back has the same address", async () => {
  using context = await GStreamerContext.open();
  using graph = new MapperGraph([host, context]);
  using tensor = host.allocate({ shape: [16], dtype: "u8" });
  tensor.view().fill(7);
  using mapped = graph.map(tensor, context);
  assert(context.is(mapped));
  assertEquals(mapped.route!.bytesMoved, 0);
  assertEquals([...bytesAt(mapped.address, 16)], Array(16).fill(7));
});
