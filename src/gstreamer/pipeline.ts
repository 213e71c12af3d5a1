import type { Address } from "../../ffi/address.ts";
import {
  GST_FORMAT_TIME,
  GST_SEEK_FLAG_ACCURATE,
  GST_SEEK_FLAG_KEY_UNIT,
  GST_STATE_NULL,
  GST_STATE_PAUSED,
  GST_STATE_PLAYING,
} from "../../ffi/gstreamer/constants.ts";
import type { Names } from "../core/argument.ts";
import { BOOLEAN, FUNCTION, SECONDS } from "../core/checks.ts";
import type { FrameInfo } from "../core/layout/frame_info.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import type { Resource } from "../core/life/resource.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { PipelineError } from "./bus.ts";
import type { GStreamerContext } from "./context.ts";
import { checks, gst } from "./library.ts";
import { Playback, SECOND } from "./playback.ts";
import { configureSink, PipelineSink, type SinkOptions } from "./sink.ts";
import { Source, type SourceOptions } from "./source.ts";

/** Options of {@link GStreamerContext.launch}. */
export interface LaunchOptions {
  /**
   * Called for each warning of an element, on the program's own thread. What it throws is thrown by what waits for the
   * pipeline, as an element's error is. Left out, warnings are written with `console.warn`.
   */
  readonly warning?: (warning: PipelineError) => void;
}

const LAUNCH: Names<LaunchOptions> = { warning: FUNCTION };

/** Options of {@link Pipeline.seek}. */
export interface SeekOptions {
  /** True for the nearest key frame, which is faster; the exact time if it is left out. */
  readonly keyFrame?: boolean;
}

const SEEK: Names<SeekOptions> = { keyFrame: BOOLEAN };

/**
 * A GStreamer pipeline: {@link GStreamerContext.launch} makes it. Its elements run on threads of their own. Whatever it
 * does when it is disposed, it is stopped, and all that it holds is given back; frames taken out of it live on.
 */
export class Pipeline extends NativeObject {
  /** Its end of life. */
  readonly resource: Resource;
  readonly #inside: { readonly context: GStreamerContext; readonly playback: Playback };
  readonly #sinks = new Map<string, PipelineSink>();
  readonly #sources = new Map<string, Source>();

  /** Made by a context. */
  constructor(context: GStreamerContext, description: string, options: LaunchOptions) {
    super();
    context.resource.assertLive();
    checks.assertText(description, "description");
    const { warning } = checks.optionsIn(options, LAUNCH);
    const playback = new Playback(context.resource, description, warning);
    this.#inside = { context, playback };
    const said = context.native?.said;
    if (said !== undefined) gst().gst_element_set_context(playback.handle, said);
    this.resource = playback.calls.resource;
    finalizers.register(this, this.resource, this);
  }

  /** The `GstPipeline*`, for code of GStreamer's own. Its bus is read here: what else reads it, takes messages away. */
  get handle(): Address {
    this.resource.assertLive();
    return this.#inside.playback.handle;
  }

  /** The context that has launched it. */
  get context(): GStreamerContext {
    return this.#inside.context;
  }

  /** Seconds since the beginning of what is played; undefined where the pipeline does not know. */
  get position(): number | undefined {
    return this.#seconds("gst_element_query_position");
  }

  /** Seconds that all of it takes; undefined where the pipeline does not know: a live source has no end. */
  get duration(): number | undefined {
    return this.#seconds("gst_element_query_duration");
  }

  /**
   * Has it play. Returns once it does: each sink has got its first frame. So where a program writes frames itself, this
   * returns after the first of them; a write has the pipeline play, too, as does a loop over a sink.
   *
   * @throws {PipelineError} if an element fails.
   * @throws {NativeCallError} if one does not change its state, without a reason.
   */
  play(): Promise<void> {
    return this.#inside.playback.go(GST_STATE_PLAYING);
  }

  /**
   * Has it stand still where it is. Returns once each sink has a frame. A pipeline that is about to play gets that far first.
   *
   * @throws as {@link play}.
   */
  pause(): Promise<void> {
    return this.#inside.playback.go(GST_STATE_PAUSED);
  }

  /**
   * Stops it: its elements give back all that they have, loops over its sinks end, and `play` begins anew, also after an
   * error.
   */
  stop(): Promise<void> {
    return this.#inside.playback.go(GST_STATE_NULL);
  }

  /**
   * Returns true once all of its sinks have reached the end of the stream, and false if it is stopped before. It has the
   * pipeline play. An appsink is at the end once the program has taken all frames.
   *
   * @throws {PipelineError} if an element fails.
   */
  ended(): Promise<boolean> {
    return this.#inside.playback.ended();
  }

  /**
   * Goes to a time, and drops what is under way. Returns once each sink has a frame from there, or the end.
   *
   * @param seconds from the beginning
   * @throws {ArgumentError} if the pipeline cannot go there: it is live, or a program writes its frames.
   * @throws {PipelineError} if an element fails.
   */
  async seek(seconds: number, options: SeekOptions = {}): Promise<void> {
    const { keyFrame = false } = checks.optionsIn(options, SEEK);
    SECONDS(checks, seconds, "seconds");
    const to = BigInt(Math.round(seconds * SECOND));
    await this.#inside.playback.seek(to, keyFrame ? GST_SEEK_FLAG_KEY_UNIT : GST_SEEK_FLAG_ACCURATE);
  }

  /**
   * Drops all frames that are under way in it, from its sources to its sinks: what they share of the program's memory is
   * given back. Frames that are taken live on. A file goes on at a key frame at or before where it has been read to, so that
   * frames which were taken can come again: `frame.info.media.pts` says so.
   *
   * @throws {PipelineError} if an element has failed.
   */
  async flush(): Promise<void> {
    await this.#inside.playback.flush();
  }

  /**
   * The frames that reach an appsink of the description: `appsink name=out`. They come as fast as the sink's clock lets
   * them, which `sync=false` in the description sets aside.
   *
   * @throws {ArgumentError} if it has no such element, and for wrong options.
   */
  sink(name: string, options: SinkOptions = {}): PipelineSink {
    this.resource.assertLive();
    const sink = this.#sinks.get(name) ?? new PipelineSink(this, this.#inside.playback, name);
    configureSink(sink, options);
    this.#sinks.set(name, sink);
    return sink;
  }

  /**
   * A stream of frames into an appsrc of the description: `appsrc name=in`. A write has the pipeline play, and waits while
   * the source is full. The bytes are not copied: GStreamer keeps them, and they can be read and not written meanwhile. A
   * frame over samepage's memory ends once GStreamer has let go. `close` is the end of the stream; after `abort`, the
   * pipeline is stopped, and calls that wait for it throw the reason.
   *
   * A frame of another size or format than the one before changes what the elements after it are told. `media.pts` and
   * `timeBase` say when it is shown; one without follows the one before, by `media.duration` or `media.frameRate`.
   *
   * The stream's `write` throws a `PipelineError` if an element fails, an `ArgumentError` for anything but a frame of
   * this context or not later than the one before, and an `AccessError` if the bytes are lent for writing.
   *
   * @param info what the frames are: `imageInfo({ format: "NV12", width: 640, height: 480 })`
   * @throws {ArgumentError} if it has no such element, and for wrong options.
   * @throws {LayoutError} for what describes no frame.
   * @throws {InteropError} if the pipeline has begun, and was not stopped.
   */
  source(name: string, info: FrameInfo, options: SourceOptions = {}): WritableStream<Frame> {
    const source = new Source(this, this.#inside, name, info, options);
    this.#sources.get(name)?.replace();
    this.#sources.set(name, source);
    return new WritableStream(source);
  }

  /** Ends it without blocking the event loop: elements stop on another thread. */
  override async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (this.resource.isLive) await this.#inside.playback.ask(GST_STATE_NULL);
    } catch (error) {
      if (this.resource.isLive) throw error; // else another end came first
    } finally {
      await super[Symbol.asyncDispose]();
    }
  }

  #seconds(query: "gst_element_query_position" | "gst_element_query_duration"): number | undefined {
    this.resource.assertLive();
    const found = new BigInt64Array(1);
    const isKnown = gst()[query](this.#inside.playback.handle, GST_FORMAT_TIME, found) !== 0 && found[0] >= 0n;
    return isKnown ? Number(found[0]) / SECOND : undefined;
  }
}
