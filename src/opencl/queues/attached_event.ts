import { CL_EVENT_COMMAND_QUEUE, CL_EVENT_CONTEXT } from "../../../ffi/opencl/constants.ts";
import type { ClCommandQueue, ClEvent } from "../../../ffi/opencl/handles.ts";
import type { Call } from "../../core/device/driver.ts";
import type { Fence } from "../../core/device/fence.ts";
import type { Gate } from "../../core/device/gate.ts";
import { Line } from "../../core/device/line.ts";
import { ArgumentError } from "../../core/errors.ts";
import { handleIn } from "../check.ts";
import type { OpenCLContext } from "../context.ts";
import { check, workError } from "../errors.ts";
import { ClLane, type LaneInit } from "../lane.ts";
import { opencl } from "../library.ts";
import { isUserEvent, ownerOf, releaseEvent, statusOf } from "./event.ts";

/** How often an event that somebody else sets is asked for, in milliseconds. */
const ASK_MS = 1;

/** An event of somebody else's that is retained here until it is seen over, or forgotten. */
interface Retained {
  readonly event: ClEvent;
  isOver: boolean;
}

const forgotten = new FinalizationRegistry<Retained>(({ event, isOver }) => {
  if (!isOver) releaseEvent(event);
});

/** Retains an event that somebody else made: a line of one mark. @throws {ArgumentError} where it is of another context. */
export function attachedEvent({ handle: context, driver }: OpenCLContext, given: bigint): Fence {
  const event = handleIn<ClEvent>(given, "handle");
  if (ownerOf(event, CL_EVENT_CONTEXT) !== context) {
    throw new ArgumentError("handle: the event is of another cl_context.", { api: "opencl", argument: "handle" });
  }
  const isSetByHand = isUserEvent(event);
  if (!isSetByHand) flushQueueOf(event);
  const retained: Retained = { event, isOver: false };
  const { failed } = driver;
  const line = new Line<ForeignLane>({
    driver: driver,
    name: "an attached opencl event",
    open: (events) => new ForeignLane({ context, events, failed }, retained, isSetByHand),
  });
  line.submit([], RETAIN);
  forgotten.register(line, retained);
  return line.fence();
}

/** Its owner may not have: what is submitted behind it, or asks about it, would wait for ever. */
function flushQueueOf(event: ClEvent): void {
  const queue = ownerOf(event, CL_EVENT_COMMAND_QUEUE) as ClCommandQueue;
  if (queue !== 0n) check(opencl().clFlush(queue), "clFlush");
}

/** The one command of such a line: there is nothing to submit. */
const RETAIN: Call<ForeignLane> = { fn: "clRetainEvent", call: (lane) => lane.retain() };

/** What is kept for an event of somebody else's. */
class ForeignLane extends ClLane {
  readonly #retained: Retained;
  readonly #gate: ForeignGate | undefined;

  constructor(init: LaneInit, retained: Retained, isSetByHand: boolean) {
    super(init);
    this.#retained = retained;
    if (isSetByHand) this.#gate = new ForeignGate(this);
  }

  retain(): number {
    this.put(this.#retained.event);
    return opencl().clRetainEvent(this.#retained.event);
  }

  override get unsetGate(): Gate | undefined {
    return this.#gate === undefined || this.#gate.settled ? undefined : this.#gate;
  }

  /** Its status; 0 where it is over and released. */
  get status(): number {
    return this.over > 0 ? 0 : statusOf(this.#retained.event);
  }

  override sweep(mark: number): void {
    super.sweep(mark);
    this.#retained.isOver = this.over > 0;
  }
}

/**
 * A user event that somebody else sets. Who that is cannot be known: a thread of the driver's, or JavaScript that
 * cannot run while this thread blocks. So it is waited for like a promise of the program's: never by blocking. It is
 * asked from time to time while something stands behind it.
 */
class ForeignGate implements Gate {
  failure: { readonly error: unknown } | undefined;
  readonly #lane: ForeignLane;
  readonly #told: ((failed: boolean) => void)[] = [];
  readonly #opening = Promise.withResolvers<void>();
  #isSet = false;
  #isAwaited = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(lane: ForeignLane) {
    this.#lane = lane;
  }

  get settled(): boolean {
    if (!this.#isSet) this.#ask();
    return this.#isSet;
  }

  get opened(): Promise<void> {
    this.#isAwaited = true;
    if (this.#timer !== undefined) Deno.refTimer(this.#timer);
    else if (!this.#isSet) this.#askLater();
    return this.#opening.promise;
  }

  whenOpen(tell: (failed: boolean) => void): void {
    if (this.settled) return tell(this.failure !== undefined);
    this.#told.push(tell);
    if (this.#timer === undefined) this.#askLater();
  }

  #ask(): void {
    const { status } = this.#lane;
    if (status > 0) return;
    this.#isSet = true;
    if (status < 0) this.failure = { error: workError(status, undefined) };
    for (const tell of this.#told.splice(0)) tell(status < 0);
    this.#opening.resolve();
  }

  /** Where nobody awaits it, that keeps no process alive. */
  #askLater(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      try {
        this.#ask();
      } catch {
        // The driver could not be asked: it is asked again.
      }
      if (!this.#isSet) this.#askLater();
    }, ASK_MS);
    if (!this.#isAwaited) Deno.unrefTimer(this.#timer);
  }
}
