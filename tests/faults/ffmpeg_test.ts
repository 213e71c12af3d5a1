/** Every native call of libavutil's fails once: what comes of it is typed, and no reference stays. */
import { assert, assertEquals } from "@std/assert";
import { Frame, host, imageInfo, ledger, MapperGraph } from "../../mod.ts";
import { FFmpegContext } from "../../src/ffmpeg/mod.ts";
import { until } from "../conformance/bytes.ts";
import { PROBES } from "../conformance/opencv_variants.ts";
import { buildFrames, CFrame, inC } from "../ffmpeg/frames.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();
const missing = await buildFrames();

interface There {
  readonly ffmpeg: FFmpegContext;
  readonly graph: MapperGraph;
  /** A frame of the program's, to which there are two references. */
  readonly made: CFrame;
}

/** The calls that were made to fail, over all tests. */
const seen = new Set<string>();

function test(name: string, operation: (there: There) => unknown): void {
  Deno.test({
    name: `faults: ffmpeg: ${name}${missing === undefined ? "" : ` (skipped: needs ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      using ffmpeg = FFmpegContext.open();
      using graph = new MapperGraph([host, ffmpeg]);
      using made = CFrame.picture("yuv420p", 16, 8);
      using _other = made.clone();
      const there = { ffmpeg, graph, made };
      await operation(there);
      const faults = await sweep(() => operation(there), () => assertEquals(made.references, 2, "references"), PROBES);
      for (const { call } of faults) seen.add(call);
    },
  });
}

test("attaching a frame for reading", ({ ffmpeg, made }) => ffmpeg.attach(made.pointer)[Symbol.dispose]());

test("attaching a frame that is copied", ({ ffmpeg, made }) => {
  const copied = ffmpeg.bytesCopied;
  try {
    ffmpeg.attach(made.pointer, { copy: "allow" })[Symbol.dispose]();
  } catch (error) {
    assertEquals(ffmpeg.bytesCopied, copied, "bytes of a copy that failed");
    throw error;
  }
});

test("handing over a frame whose planes lie in two blocks", async ({ ffmpeg, graph }) => {
  try {
    const planes = [[8, 16], [4, 8, 2]].map((shape) => host.allocate({ shape, dtype: "u8" }));
    using picture = Frame.of(planes, imageInfo({ format: "NV12", width: 16, height: 8 }));
    await using mapped = graph.map(picture, ffmpeg, { access: "read" });
    inC().freed(ffmpeg.avFrame(mapped));
  } finally {
    assert(await until(() => ledger.alive["native.flag"] === undefined), "a flag stays");
  }
});

test("handing over a frame with side data", async ({ ffmpeg, made }) => {
  try {
    inC().add_side_data(made.pointer);
    await using frame = ffmpeg.attach(made.pointer, { access: "read" });
    inC().freed(ffmpeg.avFrame(frame));
  } finally {
    assert(await until(() => ledger.alive["native.flag"] === undefined), "a flag stays");
  }
});

Deno.test({
  name: `faults: ffmpeg: every function that can fail was made to${missing === undefined ? "" : " (skipped)"}`,
  ignore: missing !== undefined,
  fn() {
    const expected = [
      "av_buffer_create",
      "av_frame_alloc",
      "av_frame_make_writable",
      "av_frame_new_side_data",
      "av_frame_ref",
    ];
    assertEquals([...seen].filter((call) => call.startsWith("ffmpeg.")).sort(), expected.map((fn) => `ffmpeg.${fn}`));
  },
});
