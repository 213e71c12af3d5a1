/** Every native call of decoding fails once: what comes of it is typed, and nothing stays open. */
import { assertEquals } from "@std/assert";
import { FFmpegContext } from "../../src/ffmpeg/mod.ts";
import { PROBES } from "../conformance/opencv_variants.ts";
import { clip, missing } from "../ffmpeg/clips.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { assertPairs, installPairs } from "./pairs.ts";
import { sweep } from "./sweep.ts";

installPairs();

const seen = new Set<string>();

/** @param silent calls of which a failure may go unsaid */
function test(
  name: string,
  fn: (ffmpeg: FFmpegContext) => Promise<() => Promise<void>>,
  silent: readonly string[] = [],
): void {
  Deno.test({
    name: `faults: ffmpeg: ${name}${missing === undefined ? "" : ` (skipped: needs ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      using ffmpeg = FFmpegContext.open();
      const operation = await fn(ffmpeg);
      await operation();
      assertPairs();
      const fds = openFds();
      const faults = await sweep(operation, () => {
        assertOpenFds(fds);
        assertPairs();
      }, [...PROBES, ...silent]);
      for (const { call } of faults) seen.add(call);
    },
  });
}

test("decoding pictures from a time on", async (ffmpeg) => {
  const bytes = await Deno.readFile(await clip("small.mp4"));
  return async () => {
    for await (using _ of ffmpeg.decode(bytes, { from: 0.55, threads: 1 })) { /* each is decoded */ }
  };
});

test("decoding pictures from a time on, where a seek is a guess", async (ffmpeg) => {
  const bytes = await Deno.readFile(await clip("h264.ts"));
  return async () => {
    for await (using _ of ffmpeg.decode(bytes, { from: 0.45, threads: 1 })) { /* each is decoded */ }
  };
}, ["ffmpeg_format.av_read_frame"]); // what was read ahead, or failed to be, is read anew after the second seek

test("decoding sound from a file", async (ffmpeg) => {
  const path = await clip("small.wav");
  return async () => {
    for await (using _ of ffmpeg.decode(path, { stream: "audio", threads: 1 })) { /* each is decoded */ }
  };
});

Deno.test({
  name: `faults: ffmpeg: every function of decoding that can fail was made to${
    missing === undefined ? "" : " (skipped)"
  }`,
  ignore: missing !== undefined,
  fn() {
    const codec = [
      ...["av_dict_set", "av_packet_alloc", "avcodec_alloc_context3", "avcodec_find_decoder", "avcodec_open2"],
      ...["avcodec_parameters_to_context", "avcodec_receive_frame", "avcodec_receive_frame_async"],
      "avcodec_send_packet",
    ];
    const format = [
      ...["av_find_best_stream", "av_read_frame", "avformat_alloc_context", "avformat_find_stream_info"],
      ...["avformat_open_input", "avformat_seek_file", "avio_open2"],
    ];
    const expected = [
      ...codec.map((fn) => `ffmpeg_codec.${fn}`),
      ...format.map((fn) => `ffmpeg_format.${fn}`),
      "ffmpeg.av_frame_alloc",
    ];
    assertEquals([...seen].filter((call) => call.startsWith("ffmpeg")).sort(), expected.sort());
  },
});
