/**
 * A Worker that takes samples of the main thread's pipeline by GStreamer's own calls, and attaches them. It is sent the
 * address of an appsink, and says how many frames it has had; it holds the last one.
 *
 * @module
 */
import type { Frame } from "@samepage/interop";
import { GStreamerContext } from "@samepage/interop/gstreamer";

const { gst_app_sink_try_pull_sample } = Deno.dlopen("libgstapp-1.0.so.0", {
  gst_app_sink_try_pull_sample: { parameters: ["u64", "u64"], result: "u64", nonblocking: true },
}).symbols;
const { gst_mini_object_unref } = Deno.dlopen("libgstreamer-1.0.so.0", {
  gst_mini_object_unref: { parameters: ["u64"], result: "void" },
}).symbols;
const gst = await GStreamerContext.open();
const worker = self as unknown as Worker;
worker.onmessage = async ({ data: sink }) => {
  let last: Frame | undefined;
  for (let frames = 1;; frames++) {
    const sample = await gst_app_sink_try_pull_sample(sink, 10_000_000_000n);
    if (sample === 0n) return;
    last?.[Symbol.dispose]();
    last = gst.attach(sample);
    gst_mini_object_unref(sample);
    worker.postMessage(frames);
  }
};
worker.postMessage(0);
