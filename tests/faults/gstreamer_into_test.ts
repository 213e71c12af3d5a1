/** Every native call of pipelines that write into other memory fails once: what comes of it is typed, and nothing stays. */
import { assertEquals } from "@std/assert";
import { type Frame, host, MapperGraph } from "../../mod.ts";
import { GStreamerContext } from "../../src/gstreamer/mod.ts";
import { PROBES } from "../conformance/opencv_variants.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import type { Address } from "../../ffi/address.ts";
import { gst as native, gstVideo } from "../../src/gstreamer/library.ts";
import { cString } from "../../src/core/native/text.ts";
import { assertPairs, forgetPairs, installPairs } from "./pairs.ts";
import { sweep } from "./sweep.ts";

installPairs(); // before any library is opened

const { lacking } = await import("../gstreamer/lacking.ts");
const missing = lacking();
const PICTURES =
  "videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=16,height=8 ! appsink name=out sync=false";

/** What only looks, is looked at again, or leaves a frame in GStreamer's memory, which is not a failure. */
const SILENT = [
  ...PROBES,
  "gstreamer_app.gst_app_sink_try_pull_sample",
  "gstreamer_app.gst_app_sink_try_pull_sampleAsync",
  "gstreamer_app.gst_app_sink_try_pull_preroll",
  "gstreamer.gst_bus_timed_pop_filtered",
  "gstreamer.gst_object_get_name",
  "gstreamer.gst_sample_get_buffer",
  "gstreamer.gst_pad_get_current_caps",
  "gstreamer.gst_pad_get_peer",
  "gstreamer.gst_pad_get_parent_element",
  "gstreamer.gst_buffer_pool_acquire_buffer",
  "gstreamer.gst_buffer_unset_flags",
  "gstreamer_video.gst_video_info_from_caps",
  // gstreamer_pipelines_test.ts fails these.
  "gstreamer_gobject.g_value_init",
  "gstreamer.gst_element_get_bus",
  "gstreamer.gst_bin_get_by_name",
  "gstreamer.gst_element_set_state",
  "gstreamer.gst_element_set_stateAsync",
  "gstreamer.gst_element_get_stateAsync",
];

const MADE = ["gstreamer.gst_memory_new_wrapped", "gstreamer.gst_element_get_static_pad"];
const MADE_BY_CODE = [
  "gstreamer.gst_pad_add_probe",
  ...["video_buffer_pool_new", "video_info_align"].map((fn) => `gstreamer_video.gst_${fn}`),
  ...["get_config", "set_config"].map((fn) => `gstreamer.gst_buffer_pool_${fn}`),
];

for (const machineCode of [true, false]) {
  const how = machineCode ? "by machine code" : "without machine code";
  Deno.test({
    name: `faults: gstreamer: writing into other memory ${how}${
      missing === undefined ? "" : ` (not here: ${missing})`
    }`,
    ignore: missing !== undefined,
    async fn() {
      using gst = await GStreamerContext.open();
      const rows = machineCode ? { rowAlign: 64 } : {};
      const operation = async () => {
        await using pipeline = gst.launch(PICTURES);
        for await (using _ of pipeline.sink("out", { into: host, slots: 2, machineCode, ...rows })) continue;
      };
      await operation();
      forgetPairs();
      const fds = openFds();
      const faults = await sweep(operation, () => {
        assertOpenFds(fds);
        assertPairs();
      }, SILENT);
      const seen = new Set(faults.map(({ call }) => call));
      const made = machineCode ? [...MADE, ...MADE_BY_CODE] : MADE;
      for (const call of made) assertEquals(seen.has(call), true, `${call} was made to fail`);
    },
  });
}

Deno.test({
  name: `faults: gstreamer: metas there and back${missing === undefined ? "" : ` (not here: ${missing})`}`,
  ignore: missing !== undefined,
  async fn() {
    using gst = await GStreamerContext.open();
    using graph = new MapperGraph([host, gst]);
    const { CBuffer, memory, Owned } = await import("../gstreamer/buffers.ts");
    const name = cString("SamepageFaultMeta");
    native().gst_meta_register_custom(name, new BigUint64Array(1), 0n as Address, 0n as Address, 0n as Address);
    using buffer = new CBuffer(memory(64));
    gstVideo().gst_buffer_add_video_region_of_interest_meta(buffer.address, cString("cat"), 0, 0, 4, 4);
    native().gst_buffer_add_custom_meta(buffer.address, name);
    const operation = async () => {
      using frame = gst.attach(buffer.address, { caps: "video/x-raw,format=GRAY8,width=8,height=8" });
      frame.metadata.set("SamepageFaultMeta", { list: [1], bytes: Uint8Array.of(1) });
      frame.metadata.add("detection", { xMin: 0, yMin: 0, xMax: 1, yMax: 1, confidence: 0.5 });
      await using mapped = graph.map(frame, host, { access: "read" });
      await using back = graph.map(mapped, gst, { access: "read" }) as Frame;
      new Owned(gst.buffer(back))[Symbol.dispose]();
    };
    await operation();
    forgetPairs();
    const faults = await sweep(operation, assertPairs, [...PROBES, "gstreamer.gst_meta_get_info"]);
    const seen = new Set(faults.map(({ call }) => call));
    const made = ["gst_buffer_copy_into", "gst_buffer_add_custom_meta", "gst_structure_new_empty"];
    for (const fn of made) assertEquals(seen.has(`gstreamer.${fn}`), true, `${fn} was made to fail`);
  },
});
