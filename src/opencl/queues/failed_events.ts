import type { ClEvent } from "../../../ffi/opencl/handles.ts";
import { throwAll } from "../../core/errors.ts";
import { ledger } from "../../core/life/ledger.ts";
import { unwind } from "../../core/life/undo.ts";
import { sleepSync } from "../../core/native/sleep.ts";
import { check } from "../errors.ts";
import { opencl } from "../library.ts";
import { statusOf } from "./event.ts";

interface Failed {
  readonly event: ClEvent;
  readonly behind: readonly ClEvent[];
}

/** Events that nobody counts any more, and when they may be released. */
interface Resting {
  readonly events: readonly ClEvent[];
  readonly until: number;
}

/**
 * How long events are held after all is over, in milliseconds: PoCL 3.1 says of a command that it is over, and only then
 * looks at what waits for it. That takes its thread some microseconds, once it runs.
 */
const REST_MS = 20;

/** Those of contexts that have ended, behind what others have submitted: it goes on. */
let left: readonly Failed[] = [];

/**
 * The events of failed commands. PoCL 3.1 uses such an event again when the work that its command waited for ends,
 * which may be after the failure. It is held until then.
 */
export class FailedEvents {
  #held: readonly Failed[] = [];
  #resting: Resting[] = [];

  /** Takes over a failed event, and those of its wait list. */
  add(event: ClEvent, behind: readonly ClEvent[]): void {
    this.#held = [...this.#held, { event, behind }];
  }

  /** Releases those that the driver will not use again. */
  sweep(): void {
    if (this.#held.length + left.length > 0) this.#rest();
    const now = performance.now();
    while (this.#resting.length > 0 && this.#resting[0].until <= now) release(this.#resting.shift()!.events);
  }

  /** The context ends, and no work of its own is left. What still waits for others' work is released once that is over. */
  close(): void {
    left = [...left, ...this.#held];
    this.#held = [];
    this.#rest();
    if (this.#resting.length === 0) return;
    sleepSync(REST_MS);
    release(this.#resting.splice(0).flatMap(({ events }) => events));
  }

  /** Sees which of them have nothing left that they wait for. */
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
  const each = (event: ClEvent) => () => check(opencl().clReleaseEvent(event), "clReleaseEvent");
  throwAll(unwind(events.map(each)), "releasing events");
}
