import type { Address } from "../../ffi/address.ts";
import { GST_APP_STREAM_TYPE_STREAM } from "../../ffi/gst_app/constants.ts";
import { GST_FLOW_FLUSHING, GST_STATE_NULL } from "../../ffi/gstreamer/constants.ts";
import type { Names } from "../core/argument.ts";
import { InteropError } from "../core/errors.ts";
import { type FrameInfo, frameInfo } from "../core/layout/frame_info.ts";
import { Timeline } from "../core/layout/sequence.ts";
import type { Undo } from "../core/life/undo.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { frameIn, referring } from "../media/given.ts";
import { capsOf, haveSameCaps, NANOSECONDS, nanoseconds } from "./caps.ts";
import type { GStreamerContext } from "./context.ts";
import { lend } from "./lent.ts";
import { checks, gst, gstApp } from "./library.ts";
import { structs, unreference } from "./objects.ts";
import type { Pipeline } from "./pipeline.ts";
import type { Playback } from "./playback.ts";
import { numberIn, setProperty } from "./properties.ts";
import { QUEUE, QUEUED } from "./sink.ts";

/** Options of {@link Pipeline.source}. */
export interface SourceOptions {
  /** How many frames wait in the source: then a write waits. What the description says as `max-buffers`, else 4. */
  readonly queue?: number;
}

const NAMES: Names<SourceOptions> = { queue: QUEUED };

/** How often a full queue is polled, in milliseconds: GStreamer reports room only by a callback. */
const EVERY_MS = 1;

/** An appsrc, as what a program's stream writes to. */
export class Source implements UnderlyingSink<Frame> {
  /** Where the frames go. */
  readonly pipeline: Pipeline; // which would be ended if it was collected
  readonly #playback: Playback;
  readonly #context: GStreamerContext;
  readonly #source: Address;
  readonly #times = new Timeline(checks, NANOSECONDS);
  readonly #most: bigint;
  #info: FrameInfo;
  #isNative = false;
  #isHidden = false;
  #isReplaced = false;

  constructor(
    pipeline: Pipeline,
    { context, playback }: { readonly context: GStreamerContext; readonly playback: Playback },
    name: string,
    given: FrameInfo,
    options: SourceOptions,
  ) {
    const { queue } = checks.optionsIn(options, NAMES);
    this.#info = frameInfo(given);
    if (!playback.isStopped) {
      const hint = "Call source() before the first loop, write or play(), or after stop().";
      throw new InteropError("The pipeline has begun: it is too late to set up a source.", { api: "gstreamer", hint });
    }
    [this.pipeline, this.#context, this.#playback] = [pipeline, context, playback];
    const app = gstApp();
    const source = this.#source = playback.element(name, app.gst_app_src_get_type(), "appsrc");
    playback.atEnd(() => playback.keep.letGo());
    app.gst_app_src_set_stream_type(source, GST_APP_STREAM_TYPE_STREAM);
    app.gst_app_src_set_emit_signals(source, 0);
    setProperty(source, "block", "false"); // it would hold up all of the program
    setProperty(source, "format", "time");
    this.#most = BigInt(queue ?? (Number(numberIn(source, "max-buffers")) || QUEUE));
    this.#negotiate(this.#info, false, false);
  }

  async write(frame: Frame): Promise<void> {
    const playback = this.#playback;
    frameIn(checks, this.#context, frame, this.#context.on);
    this.#assertCurrent();
    using _ = frame.borrow("read"); // it may wait for room
    await playback.begin();
    await frame.finished();
    while (this.#isFull()) await playback.calls.run(() => new Promise((resolve) => void setTimeout(resolve, EVERY_MS)));
    const buffer = playback.keep.lend(
      frame,
      referring(this.#context, frame, refer),
      (access) => lend(this.#context, frame, access),
    );
    try {
      this.#setTime(frame.info, buffer);
      const isNative = frame.target.context !== this.#context;
      const isHidden = isNative && frame.described.planes.some(({ fd }) => fd?.hidden !== undefined);
      const isSame = isNative === this.#isNative && isHidden === this.#isHidden && haveSameCaps(frame.info, this.#info);
      if (!isSame) this.#negotiate(frame.info, isNative, isHidden);
    } catch (error) {
      unreference(buffer);
      throw error;
    }
    const { gst_app_src_push_buffer: push } = gstApp(); // it takes the buffer over, whatever it returns
    const code = push(this.#source, buffer);
    if (code === GST_FLOW_FLUSHING) throw noMore("it was stopped"); // and may play again since
    playback.calls.assertPassed(code, "gst_app_src_push_buffer");
  }

  async close(): Promise<void> {
    this.#assertCurrent();
    await this.#playback.begin();
    this.#assertTaking();
    this.#playback.calls.assertPassed(gstApp().gst_app_src_end_of_stream(this.#source), "gst_app_src_end_of_stream");
  }

  async abort(why: unknown): Promise<void> {
    if (this.#isReplaced) return;
    await this.#playback.ask(GST_STATE_NULL, why ?? new DOMException("The source was aborted.", "AbortError"));
  }

  /** True if there is no room for a frame. @throws if there never will be. */
  #isFull(): boolean {
    this.#assertTaking();
    return gstApp().gst_app_src_get_current_level_buffers(this.#source) >= this.#most;
  }

  /** Another stream writes to the appsrc from now on. */
  replace(): void {
    this.#isReplaced = true;
  }

  #assertCurrent(): void {
    if (!this.#isReplaced) return;
    const hint = "Write to the stream that the newest source() of this name has returned.";
    throw new InteropError("Another stream writes to this source.", { api: "gstreamer", hint });
  }

  #assertTaking(): void {
    this.#assertCurrent();
    const { bus: { isEnded }, isStopped } = this.#playback;
    this.#playback.assertGoing();
    if (isStopped) throw noMore("it was stopped");
    if (isEnded) throw noMore("it is at the end of the stream");
  }

  #negotiate(info: FrameInfo, isNative: boolean, isHidden: boolean): void {
    [this.#info, this.#isNative, this.#isHidden] = [info, isNative, isHidden];
    const caps = capsOf(info, isNative ? this.#context.native : undefined, isHidden);
    gstApp().gst_app_src_set_caps(this.#source, caps);
    unreference(caps);
  }

  /** One without a time follows the one before, where it is known how long that is shown. Else GStreamer may say when. */
  #setTime(info: FrameInfo, buffer: Address): void {
    const { media = {} } = info;
    const length = lengthOf(info);
    if (media.pts === undefined && length === undefined) return;
    const fields = structs.GstBuffer.at(buffer);
    fields.pts = this.#times.add(media, length ?? 0n);
    if (length !== undefined) fields.duration = length;
  }
}

function noMore(why: string): InteropError {
  const hint = "Stop it, and call source() again.";
  return new InteropError(`The pipeline takes no more frames: ${why}.`, { api: "gstreamer", hint });
}

/** How long a frame is shown, in nanoseconds. */
function lengthOf(info: FrameInfo): bigint | undefined {
  const { media = {} } = info;
  if (media.duration !== undefined) return nanoseconds(media.duration, media, 0n);
  if (info.type === "audio") return nanoseconds(BigInt(info.samples), { timeBase: [1, info.sampleRate] }, 0n);
  const { frameRate } = media;
  return frameRate && nanoseconds(1n, { timeBase: [frameRate[1], frameRate[0]] }, 0n);
}

function refer(buffer: Address, undo: Undo): void {
  gst().gst_mini_object_ref(buffer);
  undo.push(() => unreference(buffer));
}
