import type { ClEvent } from "../../../ffi/opencl/handles.ts";
import { ledger } from "../../core/life/ledger.ts";
import { undoAll } from "../../core/life/undo.ts";
import { sleepSync } from "../../core/pace.ts";
import { check } from "../errors.ts";
import { opencl } from "../library.ts";
import { statusOf } from "./event.ts";

interface Failed {
  readonly event: ClEvent;
  readonly behind: readonly ClEvent[];
}

/** Events that the ledger no longer counts, and the time of their release. */
interface Resting {
  readonly events: readonly ClEvent[];
  readonly until: number;
}

/** PoCL 3.1 reports the end of a command some microseconds before its thread visits the commands that wait for it. */
const REST_MS = 20;

/** The failed events of ended contexts that still wait for others' work. */
let left: readonly Failed[] = [];

/** PoCL 3.1 uses a failed command's event again when the work that it waited for ends: it is held until then. */
export class FailedEvents {
  /** The events that all contexts hold. Most programs have none, and a poll looks here first. */
  static count = 0;
  #held: readonly Failed[] = [];
  #resting: Resting[] = [];

  /** Takes over a failed event, and those of its wait list. */
  add(event: ClEvent, behind: readonly ClEvent[]): void {
    this.#held = [...this.#held, { event, behind }];
    FailedEvents.count += 1 + behind.length;
  }

  /** Releases those that the driver will not use again. */
  sweep(): void {
    if (this.#held.length + left.length > 0) this.#rest();
    if (this.#resting.length === 0) return;
    const now = performance.now();
    while (this.#resting.length > 0 && this.#resting[0].until <= now) release(this.#resting.shift()!.events);
  }

  /** The context ends, and its own work is over. Events that wait for others' work are released once that is over. */
  close(): void {
    left = [...left, ...this.#held];
    this.#held = [];
    this.#rest();
    if (this.#resting.length === 0) return;
    sleepSync(REST_MS);
    release(this.#resting.splice(0).flatMap(({ events }) => events));
  }

  /** Moves the events whose wait lists are over to rest. */
  #rest(): void {
    const past = [...this.#held, ...left].filter(({ behind }) => behind.every((event) => statusOf(event) <= 0));
    if (past.length === 0) return;
    this.#held = this.#held.filter((failed) => !past.includes(failed));
    left = left.filter((failed) => !past.includes(failed));
    const events = past.flatMap(({ event, behind }) => [event, ...behind]);
    for (const _ of events) ledger.remove("opencl.cl_event");
    this.#resting.push({ events, until: performance.now() + REST_MS });
  }
}

function release(events: readonly ClEvent[]): void {
  FailedEvents.count -= events.length;
  const each = (event: ClEvent) => () => check(opencl().clReleaseEvent(event), "clReleaseEvent");
  undoAll(events.map(each), "releasing events");
}
