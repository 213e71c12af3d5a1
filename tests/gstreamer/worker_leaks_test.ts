/** What terminated Workers leave of pipelines: by GStreamer's own tracer, and by the threads of the process. */
import { assert, assertEquals } from "@std/assert";
import { runModule } from "../process.ts";
import { aliveIn, leftBy, traced } from "./leaks.ts";
import { missing } from "./open.ts";

function test(name: string, fn: () => Promise<void>): void {
  const ignore = missing !== undefined;
  Deno.test({ name: `leaks: ${name}${ignore ? ` (not here: ${missing})` : ""}`, ignore, fn });
}

const worker = (file: string) =>
  `new Worker(new URL("${new URL(`workers/${file}`, import.meta.url)}"), { type: "module" })`;

test("a Worker takes frames of the main thread's pipeline; terminated, it leaves one, and its pool", async () => {
  const left = await leftBy(`
    await using pipeline = gst.launch("videotestsrc ! appsink name=out sync=false max-buffers=2");
    const sink = native().gst_bin_get_by_name(pipeline.handle, new TextEncoder().encode("out\\0"));
    const playing = pipeline.play();
    const worker = ${worker("takes.ts")};
    const { promise, resolve } = Promise.withResolvers();
    worker.onmessage = ({ data }) => {
      if (data === 0) worker.postMessage(sink);
      if (data === 5) resolve();
    };
    await promise;
    await playing;
    worker.terminate();
    await pipeline.stop();
    native().gst_object_unref(sink);`);
  const kinds = new Set(left);
  assert(kinds.has("GstBuffer"), "it held none: this shows nothing");
  kinds.delete("GstSample"); // one that it was about to attach
  assertEquals(kinds, new Set(["GstVideoBufferPool", "GstMemory", "GstBuffer"]), left.join());
  assertEquals(left.filter((kind) => kind === "GstVideoBufferPool").length, 1);
});

for (const last of ["ended", "5"]) {
  test(`a Worker that is terminated leaves ${last === "5" ? "its own pipeline" : "none that it has ended"}`, async () => {
    const log = await Deno.makeTempFile();
    const env = { ...traced, GST_DEBUG: `${traced.GST_DEBUG},leaks:7`, GST_DEBUG_FILE: log, GST_LEAKS_TRACER_SIG: "1" };
    const { code, stderr } = await runModule(
      `
      const worker = ${worker("pulls.ts")};
      const { promise, resolve } = Promise.withResolvers<void>();
      worker.onmessage = ({ data }) => {
        if (String(data) === "${last}") resolve();
        else if (data === 5) worker.postMessage("end");
      };
      await promise;
      worker.terminate();
      Deno.kill(Deno.pid, "SIGUSR1"); // the tracer says what is alive
      while (!/listed \\d+ alive objects/.test(Deno.readTextFileSync(${JSON.stringify(log)}))) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }`,
      { env },
    );
    const traces = await Deno.readTextFile(log);
    await Deno.remove(log);
    assertEquals([code, aliveIn(traces).includes("GstPipeline")], [0, last === "5"], stderr);
  });
}
