import type { Address } from "../../ffi/address.ts";
import * as ze from "../../ffi/levelzero/constants.ts";
import { ZE_RESULT_ERROR_DEVICE_LOST as DEVICE_LOST, ZE_RESULT_NOT_READY } from "../../ffi/levelzero/errors.ts";
import type { ZeCommandListHandle, ZeEventHandle, ZeEventPoolHandle } from "../../ffi/levelzero/handles.ts";
import type { Call, Driver, LineEvents } from "../core/contract.ts";
import { type WaitingLane, waitingLines } from "../core/device/lanes.ts";
import { owned } from "../core/life/ledger.ts";
import { Shared } from "../core/life/shared.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import { addressOf } from "../core/native/pin.ts";
import { check, levelZero, levelZeroError, made } from "./library.ts";
import type { OpenContext } from "./open_context.ts";
import { struct } from "./struct.ts";

const FOREVER = 2n ** 64n - 1n;

/** The event that a command signals. */
interface Signal {
  readonly event: ZeEventHandle;
  readonly mark: number;
  /** The number of threads that wait for it. */
  waiters: number;
  /** The commands of other lanes that wait for it. */
  readonly users: { readonly lane: LevelZeroLane; readonly mark: number }[];
}

/**
 * The lane of an immediate command list. A driver may run its commands out of order, so each command waits for the event
 * of the one before. An event is reused once nothing can wait for it. For mappers.
 */
export class LevelZeroLane implements WaitingLane<LevelZeroLane> {
  /** The `ze_command_list_handle_t`, which takes its commands. */
  readonly handle: ZeCommandListHandle;
  readonly #reports: LineEvents;
  readonly #undo: Undo = [];
  readonly #events: Events;
  /** The events of the newest marks, one for each, the oldest first. */
  readonly #signals: Signal[] = [];
  #next: ZeEventHandle | undefined;
  #newest = 0;
  #over = 0;
  /** The number of events that the next command waits for. Valid after {@link signal}. */
  waitCount = 0;
  /** The address of those events. */
  waits: Address;
  #waits = new BigUint64Array(8);
  #chained = false;

  /** Makes the command list. */
  constructor(context: OpenContext, reports: LineEvents) {
    const { handle, device } = context;
    this.#reports = reports;
    this.waits = addressOf(this.#waits, "levelzero");
    this.#events = new Events(context);
    this.#undo.push(this.#events.hold());
    this.handle = allOrNothing("making a command list", () => {
      const desc = struct("ze_command_queue_desc_t", {
        ordinal: device.queueOrdinal,
        mode: ze.ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
      });
      const fn = "zeCommandListCreateImmediate";
      const list = made<ZeCommandListHandle>(fn, (out) => levelZero()[fn](handle, device.handle, desc, out));
      const destroy = () => check(levelZero().zeCommandListDestroy(list), "zeCommandListDestroy");
      owned("levelzero.commandList", this.#undo, destroy);
      return list;
    }, this.#undo);
  }

  /** The event that the next command signals. Afterwards {@link waitCount} and {@link waits} hold for that command. */
  signal(): ZeEventHandle {
    this.#next ??= this.#reuse() ?? this.#events.create();
    if (!this.#chained && this.#newest > this.#over) {
      this.#chained = true;
      this.#push(this.#at(this.#newest)!.event);
    }
    return this.#next;
  }

  /** Makes the next command wait for a mark of another lane. */
  waitFor(of: LevelZeroLane, mark: number): boolean {
    if (mark <= of.#over) return true;
    const signal = of.#at(mark)!;
    this.#push(signal.event);
    signal.users.push({ lane: this, mark: this.#newest + 1 });
    return true;
  }

  /** Forgets the waits of a command that was refused. */
  refused(): void {
    this.waitCount = 0;
    this.#chained = false;
  }

  /** Records that the driver accepted the next mark's command. */
  submitted(mark: number): void {
    this.#signals.push({ event: this.#next!, mark, waiters: 0, users: [] });
    this.#next = undefined;
    this.#newest = mark;
    this.refused();
  }

  /** The newest mark that is known to be over: all marks, if the device is lost. */
  poll(mark: number): number {
    if (mark <= this.#over) return this.#over;
    return this.#ended(mark, levelZero().zeEventQueryStatus(this.#at(mark)!.event), "zeEventQueryStatus");
  }

  /** Blocks until a mark is over. */
  block(mark: number): void {
    if (mark <= this.#over) return;
    const code = levelZero().zeEventHostSynchronize(this.#at(mark)!.event, FOREVER);
    this.#ended(mark, code, "zeEventHostSynchronize");
  }

  /** Waits for a mark on another thread. */
  async waitElsewhere(mark: number): Promise<void> {
    if (mark <= this.#over) return;
    const signal = this.#at(mark)!;
    const leave = this.keep();
    signal.waiters++;
    try {
      const code = await levelZero().zeEventHostSynchronizeAsync(signal.event, FOREVER);
      this.#ended(mark, code, "zeEventHostSynchronize");
    } finally {
      signal.waiters--;
      leave();
    }
  }

  /** Keeps the events alive until the returned function is called. */
  keep(): () => void {
    return this.#events.hold();
  }

  /** Releases the list and the events. All marks are over. */
  close(): void {
    this.#over = Infinity;
    undoAll(this.#undo, "closing a command list");
  }

  #ended(mark: number, code: number, fn: string): number {
    if (code === ZE_RESULT_NOT_READY) return this.#over;
    if (code === 0) return this.#over = Math.max(this.#over, mark);
    const error = levelZeroError(code, fn);
    if (code !== DEVICE_LOST) throw error;
    if (this.#over < this.#newest) {
      this.#reports.failed(this.#over + 1, error, true);
      this.#over = this.#newest;
    }
    return this.#over;
  }

  #at(mark: number): Signal | undefined {
    return this.#signals[mark - this.#signals[0]?.mark];
  }

  /** Reuses the oldest event if nothing waits for it any longer: the next command, which waited for it, is over too. */
  #reuse(): ZeEventHandle | undefined {
    const [oldest] = this.#signals;
    if (oldest === undefined || oldest.waiters > 0) return undefined;
    const behind = oldest.mark + 1;
    if (behind > this.#newest || this.poll(behind) < behind) return undefined;
    if (!oldest.users.every(({ lane, mark }) => lane.#newest < mark || lane.poll(mark) >= mark)) return undefined;
    check(levelZero().zeEventHostReset(oldest.event), "zeEventHostReset");
    this.#signals.shift();
    return oldest.event;
  }

  #push(event: ZeEventHandle): void {
    if (this.waitCount === this.#waits.length) {
      const longer = new BigUint64Array(2 * this.waitCount);
      longer.set(this.#waits);
      this.#waits = longer;
      this.waits = addressOf(longer, "levelzero");
    }
    this.#waits[this.waitCount++] = event;
  }
}

/** The number of events in a pool. */
const POOL = 32;

/** The events of a command list. They live as long as the list or anything that waits for one of them. */
class Events {
  readonly #context: OpenContext;
  readonly #undo: Undo;
  readonly #shared = new Shared(() => undoAll(this.#undo, "destroying events"));
  #pool: ZeEventPoolHandle | undefined;
  #taken = POOL;

  constructor(context: OpenContext) {
    this.#context = context;
    this.#undo = [context.hold()];
  }

  /** Keeps the events alive until the returned function is called. */
  hold(): () => void {
    return this.#shared.hold();
  }

  /** A new event, which is not signalled. */
  create(): ZeEventHandle {
    if (this.#taken === POOL) {
      this.#pool = this.#createPool();
      this.#taken = 0;
    }
    const pool = this.#pool!;
    const desc = struct("ze_event_desc_t", {
      index: this.#taken,
      signal: ze.ZE_EVENT_SCOPE_FLAG_HOST,
      wait: ze.ZE_EVENT_SCOPE_FLAG_DEVICE,
    });
    const event = made<ZeEventHandle>("zeEventCreate", (out) => levelZero().zeEventCreate(pool, desc, out));
    owned("levelzero.event", this.#undo, () => check(levelZero().zeEventDestroy(event), "zeEventDestroy"));
    this.#taken++;
    return event;
  }

  #createPool(): ZeEventPoolHandle {
    const { handle, device } = this.#context;
    const desc = struct("ze_event_pool_desc_t", { flags: ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE, count: POOL });
    const devices = new BigUint64Array([device.handle]);
    const fn = "zeEventPoolCreate";
    const pool = made<ZeEventPoolHandle>(fn, (out) => levelZero()[fn](handle, desc, 1, devices, out));
    owned("levelzero.eventPool", this.#undo, () => check(levelZero().zeEventPoolDestroy(pool), "zeEventPoolDestroy"));
    return pool;
  }
}

/** A command that waits for the lane's events and signals the next one. */
export function signalling(
  fn: string,
  append: (lane: LevelZeroLane, signal: ZeEventHandle) => number,
): Call<LevelZeroLane> {
  return { fn, call: (lane) => append(lane, lane.signal()) };
}

const BARRIER = "zeCommandListAppendBarrier";

/** The driver of one context. Its lines wait for each other by their events. For mappers. */
export type LevelZeroDriver = Driver<LevelZeroLane>;

export function driverOf(): LevelZeroDriver {
  return {
    api: "levelzero",
    error: levelZeroError,
    marker: () =>
      signalling(
        BARRIER,
        ({ handle, waitCount, waits }, signal) => levelZero()[BARRIER](handle, signal, waitCount, waits),
      ),
    lines: { ...waitingLines<LevelZeroLane>(), keep: (lane) => lane.keep() },
  };
}
