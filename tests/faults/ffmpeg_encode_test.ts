/** Every native call of encoding fails once: what comes of it is typed, no file is left, and nothing stays open. */
import { assertEquals } from "@std/assert";
import { MapperGraph } from "../../mod.ts";
import { imageInfo } from "../../src/core/layout/frame_info.ts";
import type { Frame } from "../../src/core/tensors/frame.ts";
import { type EncodeOptions, FFmpegContext, type FFmpegTensor } from "../../src/ffmpeg/mod.ts";
import { host } from "../../src/host/mod.ts";
import { PROBES } from "../conformance/opencv_variants.ts";
import { clip, missing } from "../ffmpeg/clips.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { assertPairs, forgetPairs, installPairs } from "./pairs.ts";
import { sweep } from "./sweep.ts";

installPairs();

const seen = new Set<string>();

interface There {
  readonly ffmpeg: FFmpegContext;
  readonly graph: MapperGraph;
}

function test(
  name: string,
  file: string,
  options: EncodeOptions,
  write: (there: There, write: (frame: Frame<FFmpegTensor>) => Promise<void>) => Promise<void>,
): void {
  Deno.test({
    name: `faults: ffmpeg: ${name}${missing === undefined ? "" : ` (skipped: needs ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      const folder = await Deno.makeTempDir();
      try {
        using ffmpeg = FFmpegContext.open();
        using graph = new MapperGraph([host, ffmpeg]);
        const path = `${folder}/${file}`;
        const operation = async () => {
          await using out = ffmpeg.encode(path, options);
          await write({ ffmpeg, graph }, (frame) => out.write(frame));
          await out.close();
          Deno.removeSync(path);
        };
        await operation();
        forgetPairs();
        const fds = openFds();
        const intact = (failed = "") => {
          assertOpenFds(fds);
          assertPairs();
          const left = Array.from(Deno.readDirSync(folder), ({ name }) => name);
          // What fails once the file is in its place does not take it away again.
          const isRelease = failed.startsWith("libc_callbacks.") || failed === "libc.close";
          assertEquals(left, isRelease && left.length > 0 ? [file] : [], "files");
          for (const name of left) Deno.removeSync(`${folder}/${name}`);
        };
        for (const { call } of await sweep(operation, intact, PROBES)) seen.add(call);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

test("encoding pictures of the host's", "out.mkv", {
  ...{ codec: "ffv1", frameRate: 25, threads: 1 },
  options: { slices: 4 },
}, async ({ graph, ffmpeg }, write) => {
  for (let i = 0; i < 2; i++) {
    using picture = host.allocateFrame(imageInfo({ format: "I420", width: 64, height: 48 }), { rowAlign: 64 });
    using mapped = graph.map(picture, ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
    await write(mapped);
  }
});

test("encoding pictures and sound that were decoded", "out.mkv", {
  ...{ codec: "mpeg4", frameRate: 10, threads: 1 },
  audio: { codec: "aac", threads: 1 },
}, async ({ ffmpeg }, write) => {
  for (const frame of await decoded(ffmpeg)) await write(frame);
});

let kept: readonly Frame<FFmpegTensor>[] | undefined;

/** Two pictures and two frames of sound, decoded before anything fails. */
async function decoded(ffmpeg: FFmpegContext): Promise<readonly Frame<FFmpegTensor>[]> {
  if (kept !== undefined) return kept;
  const frames: Frame<FFmpegTensor>[] = [];
  for (const stream of ["video", "audio"] as const) {
    const taken = frames.length + 2;
    for await (const frame of ffmpeg.decode(await clip("small.mp4"), { stream, threads: 1 })) {
      frames.push(frame);
      if (frames.length === taken) break;
    }
  }
  return kept = frames;
}

test("encoding a still picture", "out.png", { threads: 1 }, async ({ graph, ffmpeg }, write) => {
  using picture = host.allocateFrame(imageInfo({ format: "RGB", width: 64, height: 48 }), { rowAlign: 64 });
  using mapped = graph.map(picture, ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
  await write(mapped);
});

Deno.test({
  name: `faults: ffmpeg: every function of encoding that can fail was made to${
    missing === undefined ? "" : " (skipped)"
  }`,
  ignore: missing !== undefined,
  fn() {
    const expected = [
      ...["avcodec_find_encoder", "avcodec_find_encoder_by_name", "avcodec_parameters_from_context"],
      ...["avcodec_send_frame", "avcodec_receive_packet", "avcodec_receive_packet_async", "avcodec_alloc_context3"],
      ...["avcodec_open2", "av_dict_set", "av_packet_alloc"],
    ].map((fn) => `ffmpeg_codec.${fn}`);
    expected.push(
      ...[
        ...["av_guess_format", "avformat_alloc_output_context2", "avformat_new_stream", "avformat_write_header"],
        ...["av_interleaved_write_frame", "av_write_trailer", "avio_open2", "avio_closep"],
      ].map((fn) => `ffmpeg_format.${fn}`),
      ...["ffmpeg.av_frame_alloc", "ffmpeg.av_frame_ref", "ffmpeg.av_buffer_create", "libc.rename"],
    );
    assertEquals(expected.filter((call) => !seen.has(call)), []);
  },
});
