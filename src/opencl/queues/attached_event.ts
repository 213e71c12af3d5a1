import { CL_EVENT_COMMAND_QUEUE, CL_EVENT_CONTEXT } from "../../../ffi/opencl/constants.ts";
import type { ClCommandQueue, ClEvent } from "../../../ffi/opencl/handles.ts";
import { NULL } from "../../../ffi/address.ts";
import type { Call, LineEvents } from "../../core/contract.ts";
import type { Fence, Gate } from "../../core/device/fence.ts";
import { Line } from "../../core/device/line.ts";
import { warn } from "../../core/errors.ts";
import { checks } from "../check.ts";
import type { BaseContext } from "../base_context.ts";
import { check, openclError, workError } from "../errors.ts";
import { ClLane, type LaneInit } from "../lane.ts";
import { opencl } from "../library.ts";
import { isUserEvent, ownerOf, statusOf } from "./event.ts";
import type { FailedEvents } from "./failed_events.ts";

/** The interval at which an attached user event is polled, in milliseconds. */
const ASK_MS = 1;

interface Retained {
  readonly event: ClEvent;
  isReleased: boolean;
}

const forgotten = new FinalizationRegistry<Retained>(release);

/** Warns of a failure: no caller could catch it in a finalizer or a poll. */
function release(retained: Retained): void {
  if (retained.isReleased) return;
  retained.isReleased = true;
  const code = opencl().clReleaseEvent(retained.event);
  if (code !== 0) warn(`an attached opencl event: ${openclError(code, "clReleaseEvent").message}`);
}

/** Retains an event that other code made: a line of one mark. @throws {ArgumentError} if it is of another context. */
export function attachedEvent({ handle: context, driver }: BaseContext, given: bigint): Fence {
  const event = checks.handleIn<ClEvent>(given, "handle");
  if (ownerOf(event, CL_EVENT_CONTEXT) !== context) {
    throw checks.wrong("handle", "the event is of another cl_context.");
  }
  const isSetByHand = isUserEvent(event);
  if (!isSetByHand) flushQueueOf(event);
  const { failed } = driver;
  const retained: Retained = { event, isReleased: false };
  const line = new Line<ForeignLane>({
    driver,
    name: "an attached opencl event",
    open: (events) => new ForeignLane({ context, queue: NO_QUEUE, events, failed }, retained, isSetByHand),
  });
  line.submit([], RETAIN);
  forgotten.register(line, retained);
  return line.fence();
}

const NO_QUEUE = NULL as bigint as ClCommandQueue;

/** The event's owner may not have flushed its queue: a wait for the event would last for ever. */
function flushQueueOf(event: ClEvent): void {
  const queue = ownerOf(event, CL_EVENT_COMMAND_QUEUE) as ClCommandQueue;
  if (queue !== 0n) check(opencl().clFlush(queue), "clFlush");
}

/** The one command of such a line. It submits nothing. */
const RETAIN: Call<ForeignLane> = { fn: "clRetainEvent", call: (lane) => lane.retain() };

class ForeignLane extends ClLane {
  readonly #retained: Retained;
  readonly #events: LineEvents;
  readonly #failed: FailedEvents;
  readonly #gate: ForeignGate | undefined;

  constructor(init: LaneInit, retained: Retained, isSetByHand: boolean) {
    super(init);
    this.#failed = init.failed;
    this.#retained = retained;
    this.#events = init.events;
    if (isSetByHand) this.gate = this.#gate = new ForeignGate(this);
  }

  retain(): number {
    this.put(this.#retained.event);
    return opencl().clRetainEvent(this.#retained.event);
  }

  override submitted(mark: number): void {
    this.newest = mark;
    this.wasFlushed(); // by its owner, or at once
  }

  override sweep(): void {
    if (this.over > 0) return;
    const status = statusOf(this.#retained.event);
    if (status > 0) return;
    this.over = 1;
    if (status === 0) release(this.#retained);
    else {
      const error = workError(status, undefined);
      this.#gate?.failed(error);
      this.#events.failed(1, error);
    }
    this.#failed.sweep(); // this may be what they waited for
  }
}

/**
 * A user event of another owner. That may be a thread of the driver, or JavaScript that cannot run while this thread
 * blocks. So, like a promise, it is never waited for by blocking. It is polled while work stands behind it.
 */
class ForeignGate implements Gate {
  failure: { readonly error: unknown } | undefined;
  readonly #lane: ForeignLane;
  readonly #waiting: ((failed: boolean) => void)[] = [];
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
    if (this.#timer !== undefined) this.#timer.ref();
    else if (!this.#isSet) this.#askLater();
    return this.#opening.promise;
  }

  /** Does not poll now: a failed poll would leave its caller half done. */
  whenOpen(notify: (failed: boolean) => void): void {
    if (this.#isSet) return notify(this.failure !== undefined);
    this.#waiting.push(notify);
    if (this.#timer === undefined) this.#askLater();
  }

  failed(error: unknown): void {
    this.failure = { error };
  }

  #ask(): void {
    this.#lane.sweep();
    if (this.#lane.over === 0) return;
    this.#isSet = true;
    for (const notify of this.#waiting.splice(0)) notify(this.failure !== undefined);
    this.#opening.resolve();
  }

  /** Polls later. The timer keeps the process alive only while the gate is awaited. */
  #askLater(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      try {
        this.#ask();
      } catch {
        // The poll failed: it is repeated.
      }
      if (!this.#isSet) this.#askLater();
    }, ASK_MS);
    if (!this.#isAwaited) this.#timer.unref();
  }
}
