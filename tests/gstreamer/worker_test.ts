/** Pipelines of Workers, some of which are terminated in the middle. */
import { assert, assertEquals } from "@std/assert";
import { runModule } from "../process.ts";
import { missing } from "./open.ts";

Deno.test({
  name: `a Worker that is terminated while it waits for a frame leaves its pipeline, and harms no other${
    missing === undefined ? "" : ` (not here: ${missing})`
  }`,
  ignore: missing !== undefined,
  async fn() {
    const { code, signal, stdout, stderr } = await runModule(
      `
      import { GStreamerContext } from "@samepage/interop/gstreamer";
      for (let round = 0; round < 4; round++) {
        const worker = new Worker(new URL("../../tests/gstreamer/workers/pulls.ts", import.meta.url), { type: "module" });
        const { promise, resolve } = Promise.withResolvers<void>();
        worker.onmessage = ({ data }) => data === 5 && resolve();
        await promise;
        worker.terminate();
      }
      {
        using gst = await GStreamerContext.open();
        await using pipeline = gst.launch("videotestsrc num-buffers=100 ! appsink name=out sync=false");
        let frames = 0;
        for await (using _ of pipeline.sink("out")) frames++;
        console.log(frames);
      }`,
    );
    assertEquals([code, signal, stdout.trim()], [0, null, "100"], stderr);
    assert(!stderr.includes("CRITICAL"), stderr);
  },
});
