/** GStreamer's own tracer finds no object that pipelines have left. It prints as GStreamer ends, so that takes a process. */
import { assertEquals } from "@std/assert";
import { clip } from "../ffmpeg/clips.ts";
import { leftBy } from "./leaks.ts";
import { missing } from "./open.ts";

function leaksTest(name: string, program: string | Promise<string>): void {
  Deno.test({
    name: `leaks: ${name}${missing === undefined ? "" : ` (not here: ${missing})`}`,
    ignore: missing !== undefined,
    fn: async () => assertEquals(await leftBy(await program), []),
  });
}

leaksTest(
  "a loop to the end, one that breaks off, and a seek",
  clip("h264.mkv").then((path) => `
      for (const most of [1000, 3]) {
        await using pipeline = gst.launch("filesrc location=${path} ! decodebin ! appsink name=out sync=false");
        let frames = 0;
        for await (using frame of pipeline.sink("out")) if (++frames === most) break;
        await pipeline.seek(1);
      }`),
);

leaksTest(
  "errors in preroll, later, and in a description",
  `
      for (const wrong of ["filesrc location=/nonesuch ! decodebin ! appsink name=out", "videotestsrc ! identity error-after=5 ! appsink name=out", "videotestsrc ! nonesuch"]) {
        try {
          await using pipeline = gst.launch(wrong);
          for await (using frame of pipeline.sink("out")) continue;
        } catch {}
      }`,
);

leaksTest(
  "frames written, a source that is aborted, and one that is never ended",
  `
      const info = imageInfo({ format: "I420", width: 32, height: 16 });
      for (const end of ["close", "abort", undefined]) {
        await using pipeline = gst.launch("appsrc name=in ! videoflip video-direction=180 ! appsink name=out sync=false");
        const writer = pipeline.source("in", info).getWriter();
        for (let i = 0; i < 3; i++) {
          using picture = host.allocateFrame(info);
          using mapped = graph.map(picture, gst, { access: "read" });
          await writer.write(mapped);
        }
        if (end !== undefined) await writer[end]();
      }`,
);

leaksTest(
  "frames that come back, are stopped with, and go round once more",
  `
      const info = imageInfo({ format: "NV12", width: 32, height: 16 });
      await using first = gst.launch("appsrc name=in ! queue ! appsink name=out sync=false");
      await using second = gst.launch("appsrc name=in ! identity ! appsink name=out sync=false");
      for (let i = 0; i < 2; i++) {
        const [from, to] = [first, second].map((pipeline) => pipeline.source("in", info).getWriter());
        using picture = host.allocateFrame(info);
        using mapped = graph.map(picture, gst, { access: "read" });
        await from.write(mapped);
        for await (using back of first.sink("out")) {
          await to.write(back);
          break;
        }
        for await (using back of second.sink("out")) break;
        await Promise.all([first.stop(), second.stop()]);
      }`,
);

leaksTest(
  "frames in memory of the program's, that outlive a pipeline, and a pipeline that is stopped while its elements wait",
  `
      const kept = [];
      for (const machineCode of [true, false]) {
        await using pipeline = gst.launch("videotestsrc num-buffers=20 ! video/x-raw,width=32,height=16 ! queue ! appsink name=out sync=false");
        for await (const frame of pipeline.sink("out", { into: host, slots: 4, machineCode })) {
          if (kept.length < 2) kept.push(frame);
          else frame[Symbol.dispose]();
        }
        const waits = gst.launch("videotestsrc ! appsink name=out");
        waits.sink("out", { into: host, machineCode });
        const playing = waits.play().catch(() => {});
        await waits[Symbol.asyncDispose]();
        await playing;
      }
      for (const frame of kept) frame[Symbol.dispose]();`,
);

Deno.test({
  name: "leaks: the tracer finds what is left",
  ignore: missing !== undefined,
  async fn() {
    const left = await leftBy(`
      await using pipeline = gst.launch("videotestsrc ! fakesink");
      native().gst_object_ref(pipeline.handle);`);
    assertEquals(left.includes("GstPipeline"), true, left.join());
  },
});
