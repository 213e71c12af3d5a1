import type { Context } from "../../core/graph/context.ts";
import type { GStreamerContext } from "../../gstreamer/context.ts";
import type { Pipeline as GStreamerPipeline } from "../../gstreamer/pipeline.ts";
import type { SinkOptions } from "../../gstreamer/sink.ts";
import type { SourceOptions } from "../../gstreamer/source.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import { Source } from "../pipeline.ts";
import { checks, Sink } from "../stage.ts";

/**
 * The frames that reach an appsink of a GStreamer pipeline: `appsink name=out sync=false`. The source ends at the end
 * of the stream; an element's error ends the pipeline. The program ends the GStreamer pipeline itself.
 *
 * @param from what `gst.launch()` has returned
 * @param name the appsink's name in the description
 * @throws {ArgumentError} for anything but such a pipeline, and if it has no such element.
 *
 * @example
 * ```ts
 * import { GStreamerContext } from "@samepage/interop/gstreamer";
 * import { fromGStreamer } from "@samepage/interop/pipeline";
 *
 * using gst = await GStreamerContext.open();
 * await using camera = gst.launch("videotestsrc num-buffers=3 ! appsink name=out sync=false");
 * let count = 0;
 * for await (using _ of fromGStreamer(camera, "out")) count++;
 * console.log(count); // 3
 * ```
 */
export function fromGStreamer(
  from: GStreamerPipeline,
  name: string,
  options: Omit<SinkOptions, "signal"> = {},
): Source {
  const contexts = contextsOf(from, "from");
  return new Source({ name, contexts, frames: ({ signal }) => from.sink(name, { ...options, signal }) });
}

/**
 * An appsrc of a GStreamer pipeline, as a sink: `appsrc name=in`, whose frames are like the first. The end of the frames
 * is the end of its stream, and is waited for; then, or after an error, GStreamer's pipeline is stopped. Where the same
 * pipeline has an appsink, begin with {@link fromGStreamer} there once the first frame was written.
 *
 * @param to what `gst.launch()` has returned
 * @param name the appsrc's name in the description
 * @throws {ArgumentError} for anything but such a pipeline. The run throws what `pipeline.source()` throws.
 */
export function toGStreamer(to: GStreamerPipeline, name: string, options: SourceOptions = {}): Sink {
  const contexts = contextsOf(to, "to");
  let writer: WritableStreamDefaultWriter<Frame> | undefined;
  const taken = () => {
    const last = writer;
    writer = undefined;
    return last;
  };
  return new Sink({
    ...{ name, contexts, takes: { memory: contexts[0] } },
    write: (frame: Frame) => (writer ??= to.source(name, frame.info, options).getWriter()).write(frame),
    async close() {
      try {
        await taken()?.close();
        await to.ended();
      } finally {
        await to.stop(); // sinks keep the last frame
      }
    },
    async abort(reason) {
      await taken()?.abort(reason);
      await to.stop(); // a write that failed has ended the stream, and not GStreamer's pipeline
    },
  });
}

/** GStreamer, and the context that it was opened on. */
function contextsOf(given: GStreamerPipeline, argument: string): readonly [GStreamerContext, ...Context[]] {
  const context = given?.context;
  if (context?.api !== "gstreamer" || (context as unknown) === given) {
    throw checks.wrongKind(argument, "a GStreamer pipeline", given, "Pass what gst.launch() returns.");
  }
  return context.on === undefined ? [context] : [context, context.on];
}
