import { type Address, NULL } from "../../ffi/address.ts";
import * as native from "../../ffi/gstreamer/constants.ts";
import {
  GST_STATE_CHANGE_ASYNC,
  GST_STATE_CHANGE_FAILURE,
  GST_STATE_NULL,
  GST_STATE_PAUSED,
  GST_STATE_PLAYING,
  GST_STATE_READY,
} from "../../ffi/gstreamer/constants.ts";
import { InteropError } from "../core/errors.ts";
import { owned } from "../core/life/ledger.ts";
import { NativeCalls } from "../core/life/native_calls.ts";
import type { Resource } from "../core/life/resource.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { type ErrorMaker, errorOf } from "../core/native/codes.ts";
import { NativeKeep } from "../core/tensors/native_loans.ts";
import { cString, textAt } from "../core/native/text.ts";
import { Bus, type PipelineError } from "./bus.ts";
import { checks, gobject, gst, made, takenError } from "./library.ts";
import { unreference } from "./objects.ts";
import type { UpstreamPool } from "./pool.ts";

/** A state that a program has a pipeline go to. */
export type State = typeof GST_STATE_NULL | typeof GST_STATE_PAUSED | typeof GST_STATE_PLAYING;

/** How long a call on another thread waits, in nanoseconds: then it is seen whether there still is something to wait for. */
const SLICE = 50_000_000n;

/** The same, while elements may wait for JavaScript. */
const SOON = 1_000_000n;

/** What a program can do so that its pipeline releases a frame. */
const LET_GO =
  "End or stop the pipeline, or wait until it is through with the frame, and dispose the frames that came back.";

/** Nanoseconds. */
export const SECOND = 1e9;

const CODES = Object.entries(native).filter(([name]) => name.startsWith("GST_FLOW_"));

/** The error of a GstFlowReturn. */
const flowError: ErrorMaker = errorOf({
  ...{ api: "gstreamer", unknown: "an unknown GstFlowReturn" },
  names: new Map(CODES.map(([name, code]) => [Number(code), name])),
});

/** GStreamer's pipeline: its elements, its bus, its states, and the calls on it, which run on other threads. */
export class Playback {
  /** The calls that wait. */
  readonly calls: NativeCalls;
  /** What its elements report. */
  readonly bus: Bus;
  /** The GstPipeline. */
  readonly handle: Address;
  /** The frames that were written into it, and that it has references to. */
  readonly keep: NativeKeep = new NativeKeep(LET_GO);
  /** The pools at its sinks. */
  readonly pools: UpstreamPool[] = [];
  readonly #sinks: Address[] = [];
  readonly #undo: Undo;
  #wanted: State = GST_STATE_NULL;
  #asked: Promise<void> = Promise.resolve();
  #isPaused = false;

  constructor(owner: Resource, description: string, onWarning?: (warning: PipelineError) => void) {
    const undo: Undo = this.#undo = [];
    [this.handle, this.bus] = allOrNothing("making a pipeline", () => {
      const handle = parsed(description, undo);
      return [handle, new Bus(handle, onWarning, undo)] as const;
    }, undo);
    undo.push(() => {
      this.bus.reset();
      const code = gst().gst_element_set_state(this.handle, GST_STATE_NULL);
      if (code === GST_STATE_CHANGE_FAILURE) throw stateError("gst_element_set_state");
    });
    const { keep } = this;
    this.calls = new NativeCalls({
      name: "GStreamer pipeline",
      owner,
      undo,
      signal: undefined,
      error: flowError,
      keep,
    });
  }

  /** True where the program has not had it play, or has stopped it. */
  get isStopped(): boolean {
    return this.#wanted === GST_STATE_NULL;
  }

  /** An element of this name and type, as long as the pipeline is there. */
  element(name: string, type: bigint, kind: string): Address {
    checks.assertText(name, "name");
    this.calls.assertGoing();
    const element = gst().gst_bin_get_by_name(this.handle, cString(name));
    if (element === NULL) {
      throw checks.wrong("name", `the pipeline has no element "${name}".`, named(kind, name), "gst_bin_get_by_name");
    }
    const release = () => gst().gst_object_unref(element);
    if (gobject().g_type_check_instance_is_a(element, type) === 0) {
      release();
      throw checks.wrong("name", `the element "${name}" is not an ${kind}.`, named(kind, name));
    }
    this.#undo.unshift(release);
    return element;
  }

  /** Makes the buffers that elements wait for. Returns how long a call may wait before this is asked again, in nanoseconds. */
  attend(): bigint {
    for (const pool of this.pools) if (pool.isAwaited) pool.make();
    return this.pools.some(({ mayBeAwaited }) => mayBeAwaited) ? SOON : SLICE;
  }

  /** Calls this once GStreamer's objects are gone. */
  atEnd(release: () => void): void {
    this.#undo.unshift(release);
  }

  /**
   * Has it go to a state. Returns once the request has reached each element; the state itself may come much later.
   *
   * @param why what calls that wait for it throw, where the program stops it for a reason
   */
  ask(state: State, why?: unknown): Promise<void> {
    if (state === this.#wanted && state !== GST_STATE_NULL) return this.#asked;
    this.#wanted = state;
    this.#asked = this.calls.inTurn(async () => {
      if (state === GST_STATE_NULL) this.bus.reset(why);
      const code = await gst().gst_element_set_stateAsync(this.handle, state);
      if (state === GST_STATE_NULL) this.#stopped();
      if (code !== GST_STATE_CHANGE_FAILURE) return;
      this.bus.read();
      this.bus.failure ??= stateError("gst_element_set_state");
      this.bus.assertSound();
    });
    this.#asked.catch(() => {}); // a call that waits for it throws it
    return this.#asked;
  }

  /** An appsink of its has to release its last sample where the pipeline stops. */
  addSink(sink: Address): void {
    this.#sinks.push(sink);
  }

  #stopped(): void {
    for (const pool of this.pools) pool.stopped();
    for (const sink of this.#sinks) {
      // It keeps the sample that it has handed out last until the next one, or until it leaves this state.
      for (const state of [GST_STATE_READY, GST_STATE_NULL] as const) {
        if (gst().gst_element_set_state(sink, state) === GST_STATE_CHANGE_FAILURE) {
          throw stateError("gst_element_set_state");
        }
      }
    }
  }

  /** Has it play, unless the program has paused it. */
  begin(): Promise<void> {
    return this.#isPaused ? this.#asked : this.ask(GST_STATE_PLAYING);
  }

  /** The same for a program, which waits until the state is reached. */
  async go(state: State): Promise<void> {
    const isPaused = this.#isPaused = state === GST_STATE_PAUSED;
    // A pipeline that is set to PAUSED in the middle of another change may never report that it is paused.
    const states = isPaused && !this.isStopped ? [this.#wanted, state] : [state];
    for (const one of states) {
      if (!await this.#reach(one) || isPaused !== this.#isPaused) throw overtaken(state);
    }
  }

  /** Has it stand still at its first frames, unless it has begun. */
  async preroll(): Promise<void> {
    if (this.isStopped) await this.#reach(GST_STATE_PAUSED);
  }

  async #assertReached(state: State): Promise<void> {
    if (!await this.#reach(state)) throw overtaken(state);
  }

  /** Returns false if another state was wanted meanwhile. */
  async #reach(state: State): Promise<boolean> {
    this.ask(state);
    let failed: Promise<void> | undefined;
    for (;;) {
      const asked = this.#asked;
      await asked;
      const code = await this.waiting(() => gst().gst_element_get_stateAsync(this.handle, null, null, this.attend()));
      if (state !== this.#wanted) return false;
      if (code === GST_STATE_CHANGE_ASYNC || asked !== this.#asked) continue;
      if (code !== GST_STATE_CHANGE_FAILURE) return true;
      if (failed === asked) throw stateError("gst_element_get_state");
      failed = asked; // a wait that another change has interrupted fails, too: the next one does not
    }
  }

  /** Returns once all sinks have reached the end of the stream; false where it was stopped before. */
  async ended(): Promise<boolean> {
    await this.begin();
    for (;;) {
      this.assertGoing(); // after an error, sinks reach the end, too
      if (this.bus.isEnded || this.isStopped) return this.bus.isEnded;
      await this.calls.run(() => this.bus.wait(this.attend()));
    }
  }

  /** Goes to a time, in nanoseconds. */
  async seek(to: bigint, flags: number): Promise<void> {
    await this.#assertReached(this.isStopped ? GST_STATE_PAUSED : this.#wanted);
    await this.waiting(async () => {
      if (await this.#sought(flags, native.GST_SEEK_TYPE_SET, to)) return;
      const hint = "Sources that read files can go to a time; a camera, and frames that a program writes, cannot.";
      throw checks.wrong("seconds", "this pipeline cannot go there.", hint, "gst_element_seek");
    });
    this.bus.isEnded = false; // what was on the bus before is read
    await this.#assertReached(this.#wanted);
  }

  /** Throws away what is in the pipeline. */
  async flush(): Promise<void> {
    this.assertGoing();
    if (this.isStopped) return;
    await this.waiting(async () => {
      const asked = this.#asked;
      await asked; // before that it takes no events
      // An element that reads a file would stop reading at these events.
      if (await this.#sought(0, native.GST_SEEK_TYPE_NONE, -1n)) return;
      const { gst_element_send_event: send, gst_event_new_flush_start, gst_event_new_flush_stop } = gst();
      const stop = made(gst_event_new_flush_stop(1), "gst_event_new_flush_stop");
      const start = allOrNothing("flushing", () => made(gst_event_new_flush_start(), "gst_event_new_flush_start"), [
        () => unreference(stop),
      ]);
      const isDone = [start, stop].map((event) => send(this.handle, event) !== 0); // the second lets waiting threads go on
      // Once it is stopped, there is nothing to throw away; it may play again by now.
      if (isDone.includes(false) && asked === this.#asked) throw takenError(NULL, "gst_element_send_event");
    });
    this.bus.isEnded = false; // what was on the bus before is read
  }

  /** Has it go on from a place, without what is under way. Returns false where it cannot. */
  async #sought(flags: number, type: number, to: bigint): Promise<boolean> {
    const { GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_NONE } = native;
    const { gst_element_seekAsync: seek } = gst();
    const all = flags | GST_SEEK_FLAG_FLUSH;
    return await seek(this.handle, 1, GST_FORMAT_TIME, all, type, to, GST_SEEK_TYPE_NONE, -1n) !== 0;
  }

  /** Makes a call that waits for a slice. @throws what the pipeline has failed with meanwhile. */
  async waiting<T>(call: () => Promise<T>): Promise<T> {
    const result = await this.calls.run(call);
    this.assertGoing();
    return result;
  }

  /** @throws what it has failed with, or a {@link DisposedError}. */
  assertGoing(): void {
    this.calls.assertGoing();
    this.bus.assertSound();
  }
}

function parsed(description: string, undo: Undo): Address {
  const error = new BigUint64Array(1);
  // A description of one element would make that element, and not a pipeline.
  const handle = gst().gst_parse_launch(cString(`pipeline.( ${description} )`), error);
  if (handle !== NULL) {
    gst().gst_object_ref_sink(handle);
    owned("gstreamer.GstPipeline", undo, () => gst().gst_object_unref(handle));
  }
  if (handle !== NULL && error[0] === 0n) return handle;
  const { message } = takenError(error[0] as Address, "gst_parse_launch");
  const hint = "`gst-inspect-1.0 ELEMENT` shows whether an element is installed, and its properties.";
  throw checks.wrong("description", message, hint, "gst_parse_launch");
}

function named(kind: string, name: string): string {
  return `Name one in the description: ${kind} name=${name}.`;
}

function overtaken(state: State): InteropError {
  const name = textAt(gst().gst_element_state_get_name(state))!;
  return new InteropError(`The pipeline was asked for another state before it was ${name}.`, {
    ...{ api: "gstreamer", hint: "Await one change of its state before the next." },
  });
}

function stateError(fn: string) {
  const fields = { code: GST_STATE_CHANGE_FAILURE, codeName: "GST_STATE_CHANGE_FAILURE" };
  return takenError(NULL, fn, fields);
}
