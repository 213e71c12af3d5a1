import {
  CL_COMMAND_USER,
  CL_COMPLETE,
  CL_EVENT_COMMAND_QUEUE,
  CL_EVENT_COMMAND_TYPE,
  CL_EVENT_CONTEXT,
} from "../../../ffi/opencl/constants.ts";
import type { ClCommandQueue, ClEvent } from "../../../ffi/opencl/handles.ts";
import { ArgumentError } from "../../core/errors.ts";
import { finalizers } from "../../core/life/finalizers.ts";
import { Resource } from "../../core/life/resource.ts";
import { handleIn } from "../check.ts";
import type { OpenCLContext } from "../context.ts";
import { check } from "../errors.ts";
import { OpenCLFence } from "../event.ts";
import type { Gate } from "./gate.ts";
import { infoU32, infoU64, type Query } from "../info.ts";
import { opencl } from "../library.ts";
import { Point, statusOf } from "./point.ts";

/** How often an event that is awaited is asked whether it was set, in milliseconds. */
const ASK_MS = 1;

/** Retains an event that somebody else made. @throws {ArgumentError} where it is of another context. */
export function attachedEvent(context: OpenCLContext, given: bigint): OpenCLFence {
  const event = handleIn<ClEvent>(given, "handle");
  const { handle: owner } = context;
  if (infoU64(FN, queryOf(event), CL_EVENT_CONTEXT) !== owner) {
    throw new ArgumentError("handle: the event is of another cl_context.", { api: "opencl", argument: "handle" });
  }
  const isUserEvent = infoU32(FN, queryOf(event), CL_EVENT_COMMAND_TYPE) === CL_COMMAND_USER;
  if (!isUserEvent) flushQueueOf(event);
  check(opencl().clRetainEvent(event), "clRetainEvent");
  return new AttachedEvent(context, event, isUserEvent);
}

const FN = "clGetEventInfo";

function queryOf(event: ClEvent): Query {
  return (name, size, value, written) => opencl().clGetEventInfo(event, name, size, value, written);
}

/** Its owner may not have: what is submitted behind it, or asks about it, would wait for ever. */
function flushQueueOf(event: ClEvent): void {
  const queue = infoU64(FN, queryOf(event), CL_EVENT_COMMAND_QUEUE) as ClCommandQueue;
  if (queue !== 0n) check(opencl().clFlush(queue), "clFlush");
}

/** The fence at such an event: its one owner, unlike a queue's. */
class AttachedEvent extends OpenCLFence {
  constructor(context: OpenCLContext, event: ClEvent, isUserEvent: boolean) {
    const gates: Gate[] = [];
    const point = new Point({ event, gates, behind: [], flush: () => {}, profiled: !isUserEvent });
    if (isUserEvent) gates.push(new ForeignGate(point));
    super(context, undefined, point);
    const resource = new Resource({ name: "an attached opencl event", undo: [() => point.drop()] });
    finalizers.register(this, resource, this);
  }

  override [Symbol.dispose](): void {
    finalizers.unregister(this);
    super[Symbol.dispose]();
  }
}

/**
 * A user event that somebody else sets. Who that is cannot be known: a thread of the driver's, or JavaScript that
 * cannot run while this thread blocks. So it is waited for like one of our own: never by blocking.
 */
class ForeignGate implements Gate {
  readonly #point: Point;
  #set = false;
  #opened: Promise<void> | undefined;

  constructor(point: Point) {
    this.#point = point;
  }

  get set(): boolean {
    return this.#set ||= this.#ask();
  }

  get opened(): Promise<void> {
    return this.#opened ??= this.#poll();
  }

  #ask(): boolean {
    const { event } = this.#point;
    if (event === undefined) return true; // released: nobody waits for it any more
    return statusOf(event) <= CL_COMPLETE;
  }

  async #poll(): Promise<void> {
    while (!this.set) await new Promise((resolve) => setTimeout(resolve, ASK_MS));
  }
}
