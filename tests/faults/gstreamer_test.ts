/** Every native call for GStreamer's memory fails once: what comes of it is typed, and no reference stays. */
import { assert, assertEquals } from "@std/assert";
import { Frame, host, imageInfo, ledger, MapperGraph } from "../../mod.ts";
import { frameInfo } from "../../src/core/layout/frame_info.ts";
import { GStreamerContext } from "../../src/gstreamer/mod.ts";
import { until } from "../conformance/bytes.ts";
import { PROBES } from "../conformance/opencv_variants.ts";
import { CBuffer, memory, Owned } from "../gstreamer/buffers.ts";
import { lacking } from "../gstreamer/lacking.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();
const missing = lacking();

interface There {
  readonly gst: GStreamerContext;
  readonly graph: MapperGraph;
  /** A buffer of the program's, to which there are two references: its sample has one. */
  readonly made: CBuffer;
  readonly sample: Owned;
  /** Another of one memory. */
  readonly single: CBuffer;
}

const NV12 = "video/x-raw,format=NV12,width=16,height=8";

/** The calls that were made to fail, over all tests. */
const seen = new Set<string>();

function test(name: string, operation: (there: There) => unknown): void {
  Deno.test({
    name: `faults: gstreamer: ${name}${missing === undefined ? "" : ` (skipped: needs ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      using gst = GStreamerContext.openSync();
      using graph = new MapperGraph([host, gst]);
      using made = new CBuffer(memory(128), memory(64));
      using sample = made.sample(NV12);
      using single = new CBuffer(memory(64));
      const there = { gst, graph, made, sample, single };
      await operation(there);
      const faults = await sweep(() => operation(there), () => assertEquals(made.references, 2, "references"), PROBES);
      for (const { call } of faults) seen.add(call);
    },
  });
}

/** Waits for the memory of flags, which is freed soon, and not at once. */
async function settled(): Promise<void> {
  assert(await until(() => ledger.alive["native.flag"] === undefined), "a flag stays");
}

test("attaching a sample for reading", ({ gst, sample }) => gst.attach(sample.address)[Symbol.dispose]());

test("reading caps", ({ sample }) => {
  using other = GStreamerContext.openSync(); // it has seen none yet
  other.attach(sample.address)[Symbol.dispose]();
  other.attach(sample.address, { caps: NV12.replace("16", "14") })[Symbol.dispose]();
});

test("attaching a buffer of sound", ({ single }) => {
  using other = GStreamerContext.openSync();
  const caps = "audio/x-raw,format=S16LE,rate=48000,channels=2,layout=interleaved";
  other.attach(single.address, { caps })[Symbol.dispose]();
});

test("attaching bytes", ({ gst, single }) => gst.attachBytes(single.address)[Symbol.dispose]());

test("attaching a buffer that is copied", ({ gst, sample }) => {
  const copied = gst.bytesCopied;
  try {
    gst.attach(sample.address, { copy: "allow" })[Symbol.dispose]();
  } catch (error) {
    assertEquals(gst.bytesCopied, copied, "bytes of a copy that failed");
    throw error;
  }
});

test("handing over a frame whose planes lie in two blocks", async ({ gst, graph }) => {
  try {
    const planes = [[8, 16], [4, 8, 2]].map((shape) => host.allocate({ shape, dtype: "u8" }));
    using picture = Frame.of(planes, imageInfo({ format: "NV12", width: 16, height: 8 }));
    await using mapped = graph.map(picture, gst, { access: "read" });
    new Owned(gst.buffer(mapped))[Symbol.dispose]();
  } finally {
    await settled();
  }
});

test("handing over sound with a plane for each channel", async ({ gst, graph }) => {
  try {
    const about = { sampleRate: 48000, channels: 2, samples: 8, layout: "planar" } as const;
    using sound = host.allocateFrame(frameInfo({ type: "audio", format: "i16", ...about }));
    await using mapped = graph.map(sound, gst, { access: "read" });
    new Owned(gst.buffer(mapped))[Symbol.dispose]();
  } finally {
    await settled();
  }
});

Deno.test({
  name: `faults: gstreamer: every function that can fail was made to${missing === undefined ? "" : " (skipped)"}`,
  ignore: missing !== undefined,
  fn() {
    const expected = [
      ...["gst_buffer_copy_into", "gst_buffer_new", "gst_caps_from_string", "gst_memory_map", "gst_memory_new_wrapped"],
      "gst_sample_get_buffer",
    ];
    const calls = (api: string) => [...seen].filter((call) => call.startsWith(`${api}.`)).sort();
    assertEquals(calls("gstreamer"), expected.map((fn) => `gstreamer.${fn}`));
    assertEquals(
      calls("gstreamer_video"),
      ["gst_buffer_add_video_meta_full", "gst_video_info_from_caps"].map((fn) => `gstreamer_video.${fn}`),
    );
    assertEquals(
      calls("gstreamer_audio"),
      ["gst_audio_info_from_caps", "gst_buffer_add_audio_meta"].map((fn) => `gstreamer_audio.${fn}`),
    );
  },
});
