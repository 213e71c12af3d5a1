import { type Address, NULL } from "../../ffi/address.ts";
import type { Names } from "../core/argument.ts";
import { BOOLEAN, integer, SIGNAL } from "../core/checks.ts";
import { InteropError } from "../core/errors.ts";
import { powerOfTwo } from "../core/layout/layout.ts";
import { Pace } from "../core/pace.ts";
import { thenUndo } from "../core/life/undo.ts";
import { cString } from "../core/native/text.ts";
import { Printed } from "../core/printed.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { type BufferOptions, type FrameMemory, slotsIn } from "../core/tensors/native_buffers.ts";
import { checks, gst, gstApp, made } from "./library.ts";
import { unreference } from "./objects.ts";
import type { Pipeline } from "./pipeline.ts";
import type { Playback } from "./playback.ts";
import { UpstreamPool, type UpstreamPoolInit } from "./pool.ts";
import { numberIn, setProperty } from "./properties.ts";

/** Options of {@link Pipeline.sink}. */
export interface SinkOptions extends BufferOptions {
  /**
   * How many frames wait for the loop: then GStreamer stands still, or drops some. What the description says, else 4.
   */
  readonly queue?: number;
  /** True to drop the oldest frame that waits, rather than have GStreamer wait: for cameras. What the description says. */
  readonly drop?: boolean;
  /**
   * Each row of a picture begins at a multiple of so many bytes in what `into` allocates: a power of two up to 4096. Where an
   * element lays its pictures out by itself, the frame's `layout.strides` show it.
   */
  readonly rowAlign?: number;
  /** Ends the loop that begins next, which throws its reason. The pipeline goes on. */
  readonly signal?: AbortSignal;
  /**
   * False to have `into` do without machine code: buffers that elements have made get memory of ours once the first frame is
   * there, so that the first frames, and those of some elements, lie in GStreamer's.
   */
  readonly machineCode?: boolean;
}

/** Frames that wait, where neither the program nor the description says how many: without a bound they fill the memory. */
export const QUEUE = 4;
const MAX_QUEUED = 2 ** 20;

/** How many frames wait. */
export const QUEUED = integer(1, MAX_QUEUED);

/** Rows begin at a page, at most. */
const MAX_ALIGN = 4096;

const NAMES: Names<SinkOptions> = {
  ...{ queue: QUEUED, drop: BOOLEAN, signal: SIGNAL },
  ...{ into: true, slots: true, rowAlign: integer(1, MAX_ALIGN), machineCode: BOOLEAN },
};

/** Takes options over, which each call of `sink()` may have others of. */
export let configureSink: (sink: PipelineSink, options: SinkOptions) => void;

/**
 * The frames that reach an appsink: {@link Pipeline.sink} makes it, and a loop takes them. A loop has the pipeline play,
 * unless the program has paused it, and ends at the end of the stream, or where the pipeline is stopped. The next loop goes
 * on from there.
 */
export class PipelineSink extends Printed implements AsyncIterable<Frame, void> {
  /** Where they come from. */
  readonly pipeline: Pipeline; // which would be ended if it was collected
  readonly #playback: Playback;
  readonly #name: string;
  readonly #sink: Address;
  readonly #pace = new Pace();
  #signal: AbortSignal | undefined;
  #pool: UpstreamPool | undefined;
  #isTaken = false;

  static {
    configureSink = (sink, options) => sink.#configure(options);
  }

  /** Made by a pipeline. */
  constructor(pipeline: Pipeline, playback: Playback, name: string) {
    super();
    [this.pipeline, this.#playback, this.#name] = [pipeline, playback, name];
    const sink = this.#sink = playback.element(name, gstApp().gst_app_sink_get_type(), "appsink");
    playback.addSink(sink);
    setProperty(sink, "enable-last-sample", "false"); // else it would have a reference to the last one
    setProperty(sink, "buffer-list", "false"); // each buffer of a list is a frame
    gstApp().gst_app_sink_set_emit_signals(sink, 0);
    if (numberIn(sink, "max-buffers") === 0n) gstApp().gst_app_sink_set_max_buffers(sink, QUEUE);
  }

  /** The element's name, and its pipeline. */
  toString(): string {
    return `appsink ${this.#name} of ${this.pipeline}`;
  }

  #configure(options: SinkOptions): void {
    const about = checks.optionsIn(options, NAMES);
    const { queue, drop, signal, into, rowAlign, machineCode = true } = about;
    const slots = slotsIn(about, checks);
    if (rowAlign !== undefined) assertRowAlign(about);
    if (queue !== undefined) gstApp().gst_app_sink_set_max_buffers(this.#sink, queue);
    if (drop !== undefined) gstApp().gst_app_sink_set_drop(this.#sink, Number(drop));
    this.#signal = signal;
    if (into !== undefined) this.#write(into, { slots, rowAlign, machineCode });
  }

  /** Has the elements in front write into memory of the program's. */
  #write(memory: FrameMemory, how: Pick<UpstreamPoolInit<Tensor>, "slots" | "rowAlign" | "machineCode">): void {
    const playback = this.#playback;
    if (this.#pool !== undefined || !playback.isStopped) {
      const what = this.#pool === undefined ? "The pipeline has begun" : "This sink has memory to write to";
      const hint = "Pass into to the first sink() of this name, before the first loop or play().";
      throw new InteropError(`${what}: it is too late to set up into.`, { api: "gstreamer", hint });
    }
    const pad = made(gst().gst_element_get_static_pad(this.#sink, cString("sink")), "gst_element_get_static_pad");
    const pool = thenUndo("preparing a sink", () => {
      return new UpstreamPool({ writer: playback.calls.resource, pad, memory, ...how });
    }, [() => gst().gst_object_unref(pad)]);
    playback.pools.push(this.#pool = pool);
    playback.atEnd(() => pool.end());
  }

  /**
   * Takes the frames. Each is yours: dispose it.
   *
   * @throws {InteropError} while another loop takes them.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void> {
    if (this.#isTaken) {
      const hint = "Take them in one loop, or put a tee and another appsink into the description.";
      throw new InteropError("The frames of this sink are taken by another loop.", { api: "gstreamer", hint });
    }
    this.#isTaken = true;
    const signal = this.#signal; // sink() may be called again in the middle of the loop
    try {
      if (this.#pool !== undefined) await this.#adopt(this.#pool);
      await this.#playback.begin();
      for (;;) {
        await this.#pace.next();
        const sample = await this.#pull(signal);
        if (sample === undefined) return;
        yield this.#frameOf(sample);
      }
    } finally {
      this.#isTaken = false;
    }
  }

  #frameOf(sample: Address): Frame {
    try {
      this.#playback.calls.assertGoing();
      return this.pipeline.context.take(sample, this.#pool);
    } finally {
      unreference(sample);
    }
  }

  /** Without machine code: has the elements' pool take memory of ours, once there is one. */
  async #adopt(pool: UpstreamPool): Promise<void> {
    if (!pool.adopts) return;
    await this.#playback.preroll();
    const sample = gstApp().gst_app_sink_try_pull_preroll(this.#sink, 0n);
    if (sample === NULL) return;
    const buffer = gst().gst_sample_get_buffer(sample);
    thenUndo("looking at a first frame", () => buffer !== NULL && pool.adopt(buffer), [
      () => unreference(sample),
    ]);
  }

  /** The next GstSample; undefined at the end. */
  async #pull(signal: AbortSignal | undefined): Promise<Address | undefined> {
    const playback = this.#playback;
    for (;;) {
      signal?.throwIfAborted();
      playback.calls.assertGoing();
      const { gst_app_sink_try_pull_sample: taken, gst_app_sink_try_pull_sampleAsync: waited } = gstApp();
      let sample = taken(this.#sink, 0n);
      if (sample === NULL) sample = await playback.calls.run(() => waited(this.#sink, playback.attend()));
      if (sample !== NULL) {
        this.#pool?.settle();
        return sample;
      }
      playback.assertGoing(); // after an error, the sink is at the end, too
      if (playback.isStopped || gstApp().gst_app_sink_is_eos(this.#sink) !== 0) return undefined;
    }
  }
}

function assertRowAlign({ into, rowAlign = 1, machineCode }: SinkOptions): void {
  powerOfTwo(rowAlign, "rowAlign");
  if (into !== undefined && machineCode !== false) return;
  const hint = "Pass { into: host } as well, and leave machineCode out.";
  throw checks.wrong(
    "rowAlign",
    "elements lay pictures out by themselves without into, or without machine code.",
    hint,
  );
}
