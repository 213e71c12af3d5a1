/** Every native call of decoding into other memory fails once: what comes of it is typed, and nothing stays. */
import { assertEquals } from "@std/assert";
import { host } from "../../mod.ts";
import { FFmpegContext } from "../../src/ffmpeg/mod.ts";
import { PROBES } from "../conformance/opencv_variants.ts";
import { clip, missing } from "../ffmpeg/clips.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { assertPairs, installPairs } from "./pairs.ts";
import { sweep } from "./sweep.ts";

installPairs();

Deno.test({
  name: `faults: ffmpeg: decoding into other memory${missing === undefined ? "" : ` (skipped: needs ${missing})`}`,
  ignore: missing !== undefined,
  async fn() {
    using ffmpeg = FFmpegContext.open();
    const bytes = await Deno.readFile(await clip("small.png"));
    const operation = async () => {
      for await (using frame of ffmpeg.decode(bytes, { threads: 1, into: host, slots: 3 })) {
        assertEquals(frame.target, host);
      }
    };
    await operation();
    assertPairs();
    const fds = openFds();
    const faults = await sweep(operation, () => {
      assertOpenFds(fds);
      assertPairs();
    }, PROBES);
    const seen = new Set(faults.map(({ call }) => call));
    for (const call of ["ffmpeg.av_buffer_create", "ffmpeg_codec.av_buffer_pool_init2"]) {
      assertEquals(seen.has(call), true, `${call} was made to fail`);
    }
  },
});
