import { type Address, NULL } from "../../ffi/address.ts";
import type { ClCommandQueue, ClContext, ClEvent } from "../../ffi/opencl/handles.ts";
import type { LineEvents } from "../core/device/driver.ts";
import type { Gate } from "../core/device/gate.ts";
import { throwAll } from "../core/errors.ts";
import { ledger } from "../core/life/ledger.ts";
import { unwind } from "../core/life/undo.ts";
import { check, workError } from "./errors.ts";
import { opencl } from "./library.ts";
import { checkWait, releaseEvent, statusOf, UserEvent } from "./queues/event.ts";
import type { FailedEvents } from "./queues/failed_events.ts";
import type { CommandLog } from "./queues/profiling.ts";
import { Words } from "./queues/words.ts";

/** Commands until those that are over are looked for, beyond what was left the last time. */
const SWEEP = 64;

/** What a lane is made of. */
export interface LaneInit {
  /** The context that its user events are made in. */
  readonly context: ClContext;
  /** What its commands are submitted to. */
  readonly queue: ClCommandQueue;
  /** Where its failures are told. */
  readonly events: LineEvents;
  /** Where the events of failed commands go. */
  readonly failed: FailedEvents;
  /** Where the times of its commands go, if the queue keeps them. */
  readonly log?: CommandLog | undefined;
  /** Gives the queue up. */
  readonly release?: () => void;
}

/** The wait list of a command, which is held until the command is over. */
interface WaitList {
  readonly mark: number;
  readonly events: readonly ClEvent[];
}

/**
 * What is kept for a line: the event of every command that was not seen over, in a ring. PoCL 3.1 aborts the process when a
 * command fails whose event nobody holds.
 *
 * A command passes `queue`, `waitCount`, `waitList` and `slot` on, as they are. For those who write mappers.
 */
export class ClLane {
  /** What commands are submitted to. */
  readonly queue: ClCommandQueue;
  /** Where the next command puts its event. */
  slot: Address;
  /** The wait list of the next command. */
  waitCount = 0;
  /** Where that lies; null where it is empty. */
  waitList: Address = NULL;
  /** The newest mark that was seen over. */
  over = 0;
  readonly #init: LaneInit;
  #newest = 0;
  #ring = new Words(128);
  #fns = new Array<string>(128);
  #waits = new Words(8);
  #waitLists: WaitList[] = [];
  #gates: Map<Gate, UserEvent> | undefined;
  #sweepAt = SWEEP;
  #isFlushed = true;
  /** The first failure that concerned nobody who was there: it is told when the lane closes. */
  #failure: { readonly error: unknown } | undefined;

  /** Nothing was submitted yet. */
  constructor(init: LaneInit) {
    this.#init = init;
    this.queue = init.queue;
    this.slot = this.#ring.addresses[1];
  }

  /** The event that its one mark is, and that somebody else sets, for as long as it is unset. */
  get unsetGate(): Gate | undefined {
    return undefined;
  }

  /** The event of a command that was not seen over. */
  eventAt(mark: number): ClEvent {
    const { words } = this.#ring;
    return words[mark & (words.length - 1)] as ClEvent;
  }

  /** Puts an event where the next command would. */
  put(event: ClEvent): void {
    const { words } = this.#ring;
    words[(this.#newest + 1) & (words.length - 1)] = event;
  }

  /** The next command waits for an event. */
  waitFor(event: ClEvent): void {
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

  /** The next command waits for a gate, by a user event that opens with it. */
  waitForGate(gate: Gate): void {
    this.#gates ??= new Map();
    let opening = this.#gates.get(gate);
    if (opening === undefined) {
      this.#gates.set(gate, opening = new UserEvent(this.#init.context));
      gate.whenOpen((failed) => this.#open(gate, !failed));
    }
    this.waitFor(opening.event);
  }

  /** The next command waits for nothing: the one that should have was refused. */
  takeBack(): void {
    for (const event of this.#takeWaits()) this.#keeping(() => releaseEvent(event));
  }

  /** Fails what still waits for gates. */
  abandon(): void {
    for (const gate of this.#gates?.keys() ?? []) this.#open(gate, false);
  }

  /** The command that was just accepted is `mark`. Asks for those that are over from time to time, and flushes nothing. */
  submitted(mark: number, fn: string): void {
    this.#newest = mark;
    this.#isFlushed = false;
    this.#fns[mark & (this.#fns.length - 1)] = fn;
    ledger.add("opencl.cl_event");
    if (this.waitCount > 0) this.#waitLists.push({ mark, events: this.#takeWaits() });
    if (mark - this.over >= this.#sweepAt) {
      try {
        this.sweep(mark);
      } catch {
        // It concerns none of those that were asked for: they are asked again.
      }
      this.#sweepAt = SWEEP + 2 * (mark - this.over);
    }
    if (mark - this.over >= this.#ring.words.length - 1) this.#grow();
    const { addresses } = this.#ring;
    this.slot = addresses[(mark + 1) & (addresses.length - 1)];
  }

  /** Sees over what is, oldest first, as far as `mark`: rusticl 22.3 may tell it of a later one first. */
  sweep(mark: number): void {
    while (this.over < mark) {
      const event = this.eventAt(this.over + 1);
      const status = statusOf(event);
      if (status > 0) break;
      this.#end(++this.over, event, status);
    }
    this.#keeping(() => this.#init.failed.sweep());
  }

  /** Hands what was submitted to the device. */
  flush(): void {
    if (this.#isFlushed) return;
    check(opencl().clFlush(this.queue), "clFlush");
    this.#isFlushed = true;
  }

  /** Blocks until a mark is over, or rusticl 22.3 says so too early. */
  block(mark: number): void {
    if (mark <= this.over) return;
    this.flush();
    const { addresses } = this.#ring;
    checkWait(opencl().clWaitForEvents(1, addresses[mark & (addresses.length - 1)]));
  }

  /** The same off this thread, on an event that stays retained until it returns. */
  async waitElsewhere(mark: number): Promise<void> {
    if (mark <= this.over) return;
    const event = this.eventAt(mark);
    this.flush();
    check(opencl().clRetainEvent(event), "clRetainEvent");
    const events = new BigUint64Array([event]);
    try {
      checkWait(await opencl().clWaitForEventsAsync(1, events));
    } finally {
      events.fill(0n); // so that it lives for as long as the other thread may read it
      this.#keeping(() => check(opencl().clReleaseEvent(event), "clReleaseEvent"));
    }
  }

  /** Gives the queue up. @throws what failed, also on the way here where that was not told. */
  close(): void {
    this.abandon();
    const { release = () => {} } = this.#init;
    const errors = unwind([release, () => this.sweep(this.#newest)]);
    const kept = this.#failure === undefined ? [] : [this.#failure.error];
    throwAll([...kept, ...errors], "releasing a queue");
  }

  /** A command is over. Its failure is told even where an event cannot be released. */
  #end(mark: number, event: ClEvent, status: number): void {
    const { events, failed, log } = this.#init;
    const waited = this.#waitLists[0]?.mark === mark ? this.#waitLists.shift()!.events : NONE;
    if (status < 0) {
      failed.add(event, waited);
      events.failed(mark, workError(status, this.#fns[mark & (this.#fns.length - 1)]));
      return;
    }
    log?.record(mark, event); // now: its event goes
    this.#keeping(() => releaseEvent(event));
    for (const each of waited) this.#keeping(() => releaseEvent(each));
  }

  #open(gate: Gate, succeeds: boolean): void {
    const event = this.#gates?.get(gate);
    if (event === undefined) return;
    this.#gates!.delete(gate);
    this.#keeping(() => event.set(succeeds));
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

  #grow(): void {
    const ring = new Words(2 * this.#ring.words.length);
    const fns = new Array<string>(ring.words.length);
    for (let mark = this.over + 1; mark <= this.#newest; mark++) {
      ring.words[mark & (fns.length - 1)] = this.eventAt(mark);
      fns[mark & (fns.length - 1)] = this.#fns[mark & (this.#fns.length - 1)];
    }
    this.#ring = ring;
    this.#fns = fns;
  }
}

const NONE: readonly ClEvent[] = [];
