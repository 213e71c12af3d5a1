import { CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS } from "../../../ffi/opencl/constants.ts";
import type { ClEvent } from "../../../ffi/opencl/handles.ts";
import { type NativeCallError, throwAll } from "../../core/errors.ts";
import { ledger } from "../../core/life/ledger.ts";
import { unwind } from "../../core/life/undo.ts";
import { check, workError } from "../errors.ts";
import type { Gate } from "./gate.ts";
import { opencl } from "../library.ts";
import { type CommandTimes, timesOf } from "./profiling.ts";

const status = new Int32Array(1);
const NONE: readonly Point[] = [];
const NO_FAILURES: readonly unknown[] = [];

/** What a point is made of. */
export interface PointInit {
  /** The event; the point takes it over. */
  readonly event: ClEvent;
  /** The function that submitted it, where we did. */
  readonly fn?: string;
  /** The user events that were unset when the command was submitted, and which it waits for. */
  readonly gates: readonly Gate[];
  /** What it waits for beside the order of its queue: its wait list, and the barrier in front of it. */
  readonly behind: readonly Point[];
  /** The command in front of it, where its queue runs them in order. */
  readonly before?: Point | undefined;
  /** One of these that nothing has been chained to yet, if any: this is chained to it. */
  readonly follows?: Point | undefined;
  /** Hands the command to the device. */
  readonly flush: () => void;
  /** Does the driver keep its times? */
  readonly profiled: boolean;
}

/**
 * A `cl_event` and those who share it. It is released as soon as it is seen done: PoCL 3.1 aborts the process when a
 * command fails whose event nobody holds, so every command's event is held until then. That of a failed one is held
 * longer: PoCL looks at it again when what the command had waited for ends, which may be later.
 */
export class Point {
  /** Does the driver keep its times? */
  readonly profiled: boolean;
  /** Hands the command to the device: who waits behind it needs that too. */
  readonly flush: () => void;
  /**
   * The first of a chain in which each waits for the one in front of it, as commands of an in-order queue do: it stands
   * for their order where no queue does, so that whoever has to wait for all of them waits for the last.
   */
  readonly chain: Point;
  #lastOfChain: Point = this;
  readonly #fn: string | undefined;
  #event: ClEvent | undefined;
  #over = false;
  #failure: NativeCallError | undefined;
  #gates: readonly Gate[];
  #behind: readonly Point[];
  #before: Point | undefined;
  #times: CommandTimes | undefined;
  #untimed: unknown;
  #unreleased: readonly unknown[] = NO_FAILURES;
  #sharers = 0;

  /** Takes the event over. */
  constructor({ event, fn, gates, behind, before, follows, flush, profiled }: PointInit) {
    this.#event = event;
    this.#fn = fn;
    this.#gates = gates;
    this.#behind = behind;
    this.#before = before;
    this.flush = flush;
    this.profiled = profiled;
    this.chain = follows?.chain ?? this;
    this.chain.#lastOfChain = this;
    // They are asked as long as this is not over, and some have no other owner: somebody else's event.
    for (const point of behind) point.share();
    ledger.add("opencl.cl_event");
  }

  /** True for what this class has made. */
  static owns(value: object): boolean {
    return #over in value;
  }

  /** Is nothing chained to it yet? */
  get endsChain(): boolean {
    return this.chain.#lastOfChain === this;
  }

  /** One more holds it. */
  share(): this {
    this.#sharers++;
    return this;
  }

  /** One less; the last one releases the event. */
  drop(): void {
    if (--this.#sharers === 0 && this.#event !== undefined) this.#release();
  }

  /** The queue has no more use for it, and with that nobody: whoever shares it is told by what was seen. */
  letGo(): void {
    try {
      this.#passed();
    } finally {
      this.drop();
    }
  }

  /** The event, for a wait list; undefined once it was seen over. */
  get event(): ClEvent | undefined {
    return this.#over ? undefined : this.#event;
  }

  /** What stands in its wait list and may not be over yet; empty once it is done itself. */
  get behind(): readonly Point[] {
    return this.#behind;
  }

  /** The user events that have to be set before this can be reached. */
  get gates(): readonly Gate[] {
    if (this.#gates.length > 0) this.#gates = this.#gates.filter((gate) => !gate.set);
    return this.#gates;
  }

  /**
   * True once the command is done, or failed, and so are those in front of it in a queue in order: rusticl 22.3 may tell
   * it of a later one first.
   */
  over(): boolean {
    if (this.#over || this.#event === undefined) return true;
    if (this.gates.length > 0) return false;
    this.flush();
    const line: Point[] = [this];
    for (let point = this.#before; point?.event !== undefined; point = point.#before) line.push(point);
    if (!line.reverse().every((point) => this.#seenOver(point))) return false;
    this.raiseUnreleased();
    return true;
  }

  /** Throws what made the command fail, if it did. */
  raise(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Throws why an event, its own or one in front of it, could not be released when this was asked about. */
  raiseUnreleased(): void {
    throwAll(this.#unreleased, "releasing events");
  }

  /** Its times, once it is over and did not fail; undefined before. @throws where the driver would not tell them. */
  get times(): CommandTimes | undefined {
    if (this.#untimed !== undefined) throw this.#untimed;
    return this.#times;
  }

  /** Asks about one of its line. An event that could not be released stops nothing: that is told once this is over. */
  #seenOver(point: Point): boolean {
    try {
      return point.#ask();
    } catch (error) {
      if (point.#event !== undefined) throw error;
      this.#unreleased = [...this.#unreleased, error];
      return true;
    }
  }

  /** Asks the driver, of this alone. */
  #ask(): boolean {
    const state = statusOf(this.#event!);
    if (state > CL_COMPLETE) return false;
    this.#over = true;
    this.#before = undefined;
    if (state < CL_COMPLETE) this.#failure = workError(state, this.#fn);
    else this.#complete(this.#event!);
    return true;
  }

  #complete(event: ClEvent): void {
    if (this.profiled) {
      try {
        this.#times = timesOf(event); // now: its event goes
      } catch (error) {
        this.#untimed = error;
      }
    }
    this.#passed();
  }

  /** Nobody will ask about it, or about what it waited for. */
  #passed(): void {
    const behind = this.#behind;
    this.#behind = NONE;
    try {
      if (this.#over && this.#event !== undefined) this.#release();
    } finally {
      if (behind.length > 0) throwAll(unwind(behind.map((point) => () => point.drop())), "releasing events");
    }
  }

  #release(): void {
    const event = this.#event!;
    this.#event = undefined;
    ledger.remove("opencl.cl_event");
    check(opencl().clReleaseEvent(event), "clReleaseEvent");
  }
}

/** How far an event's command is (CL_EVENT_COMMAND_EXECUTION_STATUS); negative where it failed. */
export function statusOf(event: ClEvent): number {
  check(opencl().clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, 4n, status, null), "clGetEventInfo");
  return status[0];
}
