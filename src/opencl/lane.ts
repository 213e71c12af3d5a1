import { type Address, NULL } from "../../ffi/address.ts";
import type { ClCommandQueue, ClContext, ClEvent } from "../../ffi/opencl/handles.ts";
import type { Lane } from "../core/device/lanes.ts";
import type { LineEvents } from "../core/contract.ts";
import type { Gate } from "../core/device/fence.ts";
import { throwAll } from "../core/errors.ts";
import { ledger } from "../core/life/ledger.ts";
import { unwind } from "../core/life/undo.ts";
import { onThread } from "../core/native/thread_memory.ts";
import { check, LOST, openclError, workError } from "./errors.ts";
import { opencl } from "./library.ts";
import { checkWait, releaseEvent, statusOf, UserEvent, Words } from "./queues/event.ts";
import { FailedEvents } from "./queues/failed_events.ts";
import type { CommandLog } from "./queues/profiling.ts";

/** This many new commands trigger a search for finished ones. */
const SWEEP = 64;

/**
 * The most kernels in a row without an event: with more, memory that waits for one of them would be freed much too
 * late.
 */
const FAR = 16;

/** What a lane is made of. */
export interface LaneInit {
  /** The context of its user events. */
  readonly context: ClContext;
  /** The queue that takes its commands. */
  readonly queue: ClCommandQueue;
  /** The listener for its failures. */
  readonly events: LineEvents;
  /** The keeper of the events of failed commands. */
  readonly failed: FailedEvents;
  /** True where a command that fails takes all that follow with it. */
  readonly failsAsOne?: boolean;
  /** The log of its commands' times, if the queue keeps them. */
  readonly log?: CommandLog | undefined;
  /** Releases the queue. */
  readonly release?: () => void;
}

interface WaitList {
  readonly mark: number;
  readonly events: readonly ClEvent[];
}

/**
 * The lane of a line: a ring of the events of unfinished commands. PoCL 3.1 aborts the process when a command fails and
 * its event has no other owner.
 *
 * A command passes `queue`, `waitCount`, `waitList` and `slot` to its native call. Signals of semaphores, waits for
 * them, and acquires of other APIs' memory are frequent, and fail only where all that follows does: those have no event
 * ({@link ClLane.leaveOut}); nor have most kernels, where the same is true of them. A poll of such a mark polls the
 * next one that has an event, which may be later; or a marker is submitted for it. For mappers.
 */
export class ClLane implements Lane {
  /** The queue that takes its commands. */
  readonly queue: ClCommandQueue;
  /** The address for the next command's event. */
  slot: Address;
  /** The length of the next command's wait list. */
  waitCount = 0;
  /** The address of that list; null if it is empty. */
  waitList: Address = NULL;
  /** The newest mark that was seen over. */
  over = 0;
  /** The user event that its one mark stands for; only an attached event has one. */
  protected gate: Gate | undefined;
  /** The newest mark. */
  protected newest = 0;
  readonly #init: LaneInit;
  readonly #ring = new EventRing();
  #waits = new Words(8);
  #waitLists: WaitList[] = [];
  readonly #gates: GateEvents;
  /** Failures reported to the line already, of commands behind unfinished ones. */
  readonly #reported = new Set<number>();
  #sweepAt = SWEEP;
  /** The newest mark that has an event. */
  #newestWithEvent = 0;
  /** The newest mark that was handed to the device. */
  #flushed = 0;
  /** True if a later one was polled. */
  #isAsked = false;
  #isFlushedWith = false;
  #isLeftOut = false;
  /** The first failure that could not be reported to a caller; `close` throws it. */
  #failure: { readonly error: unknown } | undefined;

  /** A lane without commands. */
  constructor(init: LaneInit) {
    this.#init = init;
    this.queue = init.queue;
    this.#gates = new GateEvents(init.context, (call) => this.#keeping(call));
    this.slot = this.#ring.slot(1);
  }

  /** The gate that its one mark stands for, until that is set. */
  static unsetGate({ gate }: ClLane): Gate | undefined {
    return gate === undefined || gate.settled ? undefined : gate;
  }

  /** The event of an unfinished command, or of one behind it; undefined where all has failed. */
  eventAt(mark: number): ClEvent | undefined {
    const at = this.#markWithEvent(mark);
    return at > this.newest ? undefined : this.#ring.event(at);
  }

  /**
   * The event of the newest command up to a mark that has not failed; undefined if none is in flight. PoCL 3.1 never ends
   * what waits for an event that has failed: one may, behind a promise that was rejected, before what was submitted before
   * it.
   */
  unfailedAt(mark: number): ClEvent | undefined {
    for (let at = Math.min(this.#markWithEvent(mark), this.newest); at > this.over; at--) {
      const event = this.#ring.event(at);
      if (event === 0n) continue; // left out
      const status = statusOf(event);
      if (status >= 0) return event;
      this.#reportFailure(at, at, status);
    }
    return undefined;
  }

  /** The slot of a command without an event; it has one if it waits for others, or the queue keeps its times. */
  leaveOut(): Address {
    this.#isLeftOut = this.waitCount === 0 && this.#init.log === undefined;
    return this.#isLeftOut ? NULL : this.slot;
  }

  /** The slot of a kernel. */
  get kernelSlot(): Address {
    return this.#init.failsAsOne && this.newest - this.#newestWithEvent < FAR ? this.leaveOut() : this.slot;
  }

  /** The next command's own call hands it to the device, and all before it. */
  flushWithNext(): void {
    this.#isFlushedWith = true;
  }

  /** Puts an event into the next command's slot. */
  put(event: ClEvent): void {
    this.#ring.put(this.newest + 1, event);
  }

  /** The next command waits for an event. */
  waitFor(event: ClEvent): void {
    if (this.newest > this.over) this.#markWithEvent(this.newest); // what was submitted is not behind this event
    if (this.waitCount === this.#waits.words.length) {
      const more = new Words(2 * this.waitCount);
      more.words.set(this.#waits.words);
      this.#waits = more;
    }
    check(opencl().clRetainEvent(event), "clRetainEvent");
    ledger.add("opencl.cl_event");
    this.#waits.words[this.waitCount++] = event;
    this.waitList = this.#waits.addresses[0];
  }

  /** The next command waits for a gate, by a user event that the gate sets. */
  waitForGate(gate: Gate): void {
    this.waitFor(this.#gates.of(gate));
  }

  /** Empties the wait list: the command that was to use it was refused. */
  refused(): void {
    this.#isLeftOut = false;
    this.#isFlushedWith = false;
    for (const event of this.#takeWaits()) this.#release(event);
  }

  /** Fails the commands that still wait for gates. */
  abandon(): void {
    this.#gates.abandon();
  }

  /** The queue accepted command `mark`. Looks for finished commands now and then; does not flush. */
  submitted(mark: number, fn: string): void {
    this.newest = mark;
    if (this.#isFlushedWith) this.wasFlushed();
    this.#ring.setFn(mark, fn);
    if (this.#isLeftOut) this.#ring.put(mark);
    else this.#hasEvent(mark);
    this.#isLeftOut = false;
    if (this.waitCount > 0) this.#waitLists.push({ mark, events: this.#takeWaits() });
    if (mark - this.over >= this.#sweepAt) {
      try {
        this.#sweep(mark, false);
      } catch {
        // The caller did not poll: a later poll reports it.
      }
      this.#sweepAt = SWEEP + 2 * (mark - this.over);
    }
    if (mark - this.over >= this.#ring.length - 1) this.#ring.grow(this.over + 1, mark);
    this.slot = this.#ring.slot(mark + 1);
  }

  /** Ends finished commands up to `mark`, oldest first: in rusticl 22.3 a later one may finish first. */
  sweep(mark: number): void {
    this.#sweep(mark, true);
  }

  /** Ends the commands whose events report that they are over. If `asks`, one event stands for all. */
  #sweep(mark: number, asks: boolean): void {
    while (this.over < mark) {
      const at = asks ? this.#markWithEvent(this.over + 1) : this.#ring.next(this.over + 1, this.newest);
      if (at > this.newest) break;
      const event = this.#ring.event(at);
      const status = statusOf(event);
      if (status > 0) break;
      this.#end(at, event, status);
    }
    if (FailedEvents.count > 0) this.#sweepFailed();
  }

  #sweepFailed(): void {
    this.#keeping(() => this.#init.failed.sweep());
  }

  /** Polls a mark, and hands all commands to the device. */
  poll(mark: number): number {
    this.flush();
    this.sweep(mark);
    return this.over;
  }

  /**
   * The same, but hands commands to the device only at the second poll: callers that wait on the device flush them
   * anyway.
   */
  glance(mark: number): number {
    if (mark > this.#flushed && !this.#isAsked) {
      this.#isAsked = true;
      return this.over;
    }
    return this.poll(mark);
  }

  /** Hands all commands to the device. */
  flush(): void {
    if (this.#flushed === this.newest) return;
    const code = opencl().clFlush(this.queue);
    if (code !== 0) return this.#lose(code, "clFlush");
    this.wasFlushed();
  }

  /** Blocks until a mark is over; rusticl 22.3 may return early. */
  block(mark: number): void {
    if (mark <= this.over) return;
    const at = this.#markWithEvent(mark);
    this.flush();
    if (mark <= this.over) return; // all has failed
    checkWait(opencl().clWaitForEvents(1, this.#ring.slot(at)));
  }

  /** The same on another thread, which retains the event until it returns. */
  async waitElsewhere(mark: number): Promise<void> {
    if (mark <= this.over) return;
    const event = this.eventAt(mark);
    this.flush();
    if (event === undefined || mark <= this.over) return; // all has failed
    check(opencl().clRetainEvent(event), "clRetainEvent");
    try {
      checkWait(
        await onThread("opencl", ({ words }) => {
          words[0] = event;
          return opencl().clWaitForEventsAsync(1, words);
        }),
      );
    } finally {
      this.#keeping(() => check(opencl().clReleaseEvent(event), "clReleaseEvent"));
    }
  }

  /** Releases the queue. @throws its failures, and earlier ones that were not reported. */
  close(): void {
    this.abandon();
    const { release = () => {} } = this.#init;
    const errors = unwind([release, () => this.sweep(this.newest)]);
    const kept = this.#failure === undefined ? [] : [this.#failure.error];
    throwAll([...kept, ...errors], "releasing a queue");
  }

  /**
   * Returns the first mark from this one on that has an event. If none has, the newest command gets a marker's event. If
   * all commands have failed, the result lies past the newest.
   */
  #markWithEvent(mark: number): number {
    const at = this.#ring.next(mark, this.newest);
    if (at <= this.newest) return at;
    const fn = "clEnqueueMarkerWithWaitList";
    const code = opencl()[fn](this.queue, 0, NULL, this.#ring.slot(this.newest));
    if (code !== 0) {
      this.#lose(code, fn);
      return this.newest + 1;
    }
    this.#hasEvent(this.newest);
    this.#flushed = Math.min(this.#flushed, this.newest - 1); // the marker is not
    this.flush();
    return this.over < this.newest ? this.newest : this.newest + 1;
  }

  #hasEvent(mark: number): void {
    this.#newestWithEvent = mark;
    ledger.add("opencl.cl_event");
  }

  /** All commands are in the device's hands. */
  protected wasFlushed(): void {
    this.#flushed = this.newest;
    this.#isAsked = false;
    this.#isFlushedWith = false;
  }

  /** Ends a finished command, and those without events before it. Reports its failure even if an event cannot be released. */
  #end(mark: number, event: ClEvent, status: number): void {
    const { failed, log } = this.#init;
    const first = this.over + 1;
    this.over = mark;
    const waited = this.#waitLists[0]?.mark === mark ? this.#waitLists.shift()!.events : NONE;
    if (status < 0) {
      failed.add(event, waited);
      this.#reportFailure(first, mark, status);
      this.#reported.delete(mark);
      return;
    }
    log?.record(mark, event); // before its event is released
    this.#release(event);
    for (const each of waited) this.#release(each);
  }

  #release(event: ClEvent): void {
    try {
      releaseEvent(event);
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  /** The driver refuses a marker or a flush: all that was submitted has failed if the context is lost. */
  #lose(code: number, fn: string): void {
    const error = openclError(code, fn);
    if (code !== LOST) throw error;
    const first = this.over + 1;
    this.over = this.newest;
    this.wasFlushed();
    for (let at = first; (at = this.#ring.next(at, this.newest)) <= this.newest; at++) {
      this.#release(this.#ring.event(at));
    }
    for (const { events } of this.#waitLists.splice(0)) events.forEach((event) => this.#release(event));
    this.#init.events.failed(first, error, true);
  }

  /** Reports once that a command failed, and perhaps those from `first` on that have no events. */
  #reportFailure(first: number, mark: number, status: number): void {
    if (this.#reported.has(mark)) return;
    this.#reported.add(mark);
    this.#init.events.failed(first, workError(status, this.#ring.fn(mark)));
  }

  #takeWaits(): ClEvent[] {
    const events = Array.from(this.#waits.words.subarray(0, this.waitCount)) as ClEvent[];
    this.waitCount = 0;
    this.waitList = NULL;
    return events;
  }

  #keeping(release: () => void): void {
    try {
      release();
    } catch (error) {
      this.#failure ??= { error };
    }
  }
}

const NONE: readonly ClEvent[] = [];

const NOTHING = 0n as ClEvent;

/** The unfinished commands of a queue, by mark: the event of each that has one, and its function. */
class EventRing {
  #words = new Words(128);
  #fns = new Array<string>(128);

  get length(): number {
    return this.#fns.length;
  }

  /** Where the driver puts the event of a mark. */
  slot(mark: number): Address {
    const { addresses } = this.#words;
    return addresses[mark & (addresses.length - 1)];
  }

  event(mark: number): ClEvent {
    const { words } = this.#words;
    return words[mark & (words.length - 1)] as ClEvent;
  }

  /** The first mark that has an event, from one mark to another; past the last if no mark has one. */
  next(first: number, last: number): number {
    let mark = first;
    while (mark <= last && this.event(mark) === NOTHING) mark++;
    return mark;
  }

  fn(mark: number): string {
    return this.#fns[mark & (this.#fns.length - 1)];
  }

  setFn(mark: number, fn: string): void {
    this.#fns[mark & (this.#fns.length - 1)] = fn;
  }

  put(mark: number, event: ClEvent = NOTHING): void {
    const { words } = this.#words;
    words[mark & (words.length - 1)] = event;
  }

  /** Makes room for twice as many commands; keeps those from one mark to another. */
  grow(first: number, last: number): void {
    const [words, fns] = [this.#words, this.#fns];
    this.#words = new Words(2 * fns.length);
    this.#fns = new Array<string>(2 * fns.length);
    for (let mark = first; mark <= last; mark++) {
      const at = mark & (fns.length - 1);
      this.put(mark, words.words[at] as ClEvent);
      this.setFn(mark, fns[at]);
    }
  }
}

/** The user events by which a queue's commands wait for gates. Each gate sets its own. */
class GateEvents {
  readonly #context: ClContext;
  /** Makes a call, and keeps what it throws, because no caller could catch it. */
  readonly #keeping: (call: () => void) => void;
  #events: Map<Gate, UserEvent> | undefined;

  constructor(context: ClContext, keeping: (call: () => void) => void) {
    this.#context = context;
    this.#keeping = keeping;
  }

  of(gate: Gate): ClEvent {
    this.#events ??= new Map();
    let opening = this.#events.get(gate);
    if (opening === undefined) {
      this.#events.set(gate, opening = new UserEvent(this.#context));
      gate.whenOpen((failed) => this.#open(gate, !failed));
    }
    return opening.event;
  }

  abandon(): void {
    for (const gate of this.#events?.keys() ?? []) this.#open(gate, false);
  }

  #open(gate: Gate, succeeds: boolean): void {
    const event = this.#events?.get(gate);
    if (event === undefined) return;
    this.#events!.delete(gate);
    this.#keeping(() => event.set(succeeds));
  }
}
