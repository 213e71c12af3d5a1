/**
 * Samples that a test has taken out of a pipeline itself.
 *
 * @module
 */
import type { GStreamerContext, Pipeline } from "@samepage/interop/gstreamer";
import type { Address } from "../../ffi/address.ts";
import { cString } from "../../src/core/native/text.ts";
import { gst, gstApp } from "../../src/gstreamer/library.ts";
import { Owned } from "./buffers.ts";

/** The longest that a frame may take, in nanoseconds: a guest is slow. */
const LONGEST = 60_000_000_000n;

/** A sample of `appsink name=out`, from a pipeline that plays. The sink has references to the one after it. */
export async function sampleOf(
  gstreamer: GStreamerContext,
  description: string,
): Promise<{ pipeline: Pipeline; sample: Owned; buffer: Address }> {
  const pipeline = gstreamer.launch(description);
  pipeline.sink("out");
  await pipeline.play();
  const sink = gst().gst_bin_get_by_name(pipeline.handle, cString("out"));
  const pull = async () => new Owned(await gstApp().gst_app_sink_try_pull_sampleAsync(sink, LONGEST));
  const [sample, next] = [await pull(), await pull()];
  next[Symbol.dispose]();
  gst().gst_object_unref(sink);
  return { pipeline, sample, buffer: gst().gst_sample_get_buffer(sample.address) };
}
