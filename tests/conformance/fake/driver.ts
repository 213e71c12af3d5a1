/**
 * The driver of an API that does not exist, as a C library would offer it: handles, codes, out-parameters. Its device
 * works later: when the event loop turns, while somebody waits for it, or when a test sets the event that it waits for.
 *
 * @module
 */
import { tapped } from "../../faults/tap.ts";
import { bytesAt } from "../bytes.ts";

/** A code: it went well, or the work is done. */
export const FAKE_OK = 0;
/** The work is not done. */
export const FAKE_PENDING = 1;
/** The work failed, or what it waited for. */
export const FAKE_WORK_FAILED = -14;
/** No such handle. */
export const FAKE_INVALID_HANDLE = -38;
/** Waiting would take for ever: the work waits for an event that nobody has set. */
export const FAKE_WOULD_HANG = -99;

interface Memory {
  readonly address: bigint;
  readonly bytes: Uint8Array;
}

interface Event {
  status: number;
  references: number;
  readonly ended: PromiseWithResolvers<void>;
}

interface Job {
  readonly work: () => void;
  readonly memory: readonly bigint[];
  readonly waits: readonly Event[];
  readonly event: Event;
}

const memories = new Map<bigint, Memory>();
const events = new Map<bigint, Event>();
const queues = new Map<bigint, Job[]>();
let nextHandle = 1n;
let scheduled = false;
let questions = 0;

/** The device gets on with its work while the host asks for the status, at every so manieth question. */
const PATIENCE = 8;

/** What must not happen: memory that was released while the device had work on it. */
export const misuses: string[] = [];

/** How many objects are alive: what a test compares, beside the ledger. */
export function fakeAlive(): number {
  return memories.size + events.size + queues.size;
}

/** The host address of a memory's first byte. */
export function fakeAddress(memory: bigint): bigint {
  return memories.get(memory)!.address;
}

/** A memory's bytes; they are there for as long as somebody holds them. */
export function fakeBytes(memory: bigint): Uint8Array {
  return memories.get(memory)!.bytes;
}

/** Settles when an event is over. */
export function fakeEnded(event: bigint): Promise<void> {
  return events.get(event)!.ended.promise;
}

function added<T>(table: Map<bigint, T>, value: T, out: BigUint64Array): number {
  out[0] = nextHandle++;
  table.set(out[0], value);
  return FAKE_OK;
}

/** Runs every job that is ready; true where there was one. */
function turn(): boolean {
  let ran = false;
  for (const jobs of queues.values()) {
    while (jobs.length > 0 && jobs[0].waits.every((event) => event.status !== FAKE_PENDING)) {
      const { work, waits, event } = jobs.shift()!;
      const failed = waits.some((wait) => wait.status < 0);
      if (!failed) work();
      end(event, failed ? FAKE_WORK_FAILED : FAKE_OK);
      ran = true;
    }
  }
  return ran;
}

function end(event: Event, status: number): void {
  event.status = status;
  event.ended.resolve();
}

function turnSoon(): void {
  if (scheduled) return;
  scheduled = true;
  setTimeout(() => {
    scheduled = false;
    while (turn());
  }, 0);
}

const functions = {
  /** Memory of the device. */
  fakeAllocate(byteLength: number, out: BigUint64Array): number {
    const bytes = new Uint8Array(new ArrayBuffer(byteLength));
    const address = BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes)));
    return added(memories, { address, bytes }, out);
  },
  /** The host's memory as the device's. */
  fakeImport(address: bigint, byteLength: number, out: BigUint64Array): number {
    return added(memories, { address, bytes: bytesAt(address, byteLength) }, out);
  },
  fakeRelease(memory: bigint): number {
    const jobs = [...queues.values()].flat();
    if (jobs.some((job) => job.memory.includes(memory))) misuses.push(`memory ${memory} was released under the device`);
    return memories.delete(memory) ? FAKE_OK : FAKE_INVALID_HANDLE;
  },
  fakeCreateQueue(out: BigUint64Array): number {
    return added(queues, [], out);
  },
  fakeReleaseQueue(queue: bigint): number {
    return queues.delete(queue) ? FAKE_OK : FAKE_INVALID_HANDLE;
  },
  /** Work for the device with some of its memory, in the order of the queue, after some events. */
  fakeSubmit(
    queue: bigint,
    work: () => void,
    memory: readonly bigint[],
    waits: readonly bigint[],
    out: BigUint64Array,
  ): number {
    const event: Event = { status: FAKE_PENDING, references: 1, ended: Promise.withResolvers<void>() };
    queues.get(queue)!.push({ work, memory, waits: waits.map((wait) => events.get(wait)!), event });
    turnSoon();
    return added(events, event, out);
  },
  fakeCreateUserEvent(out: BigUint64Array): number {
    return added(events, { status: FAKE_PENDING, references: 1, ended: Promise.withResolvers<void>() }, out);
  },
  fakeSetUserEvent(event: bigint, status: number): number {
    end(events.get(event)!, status);
    turnSoon();
    return FAKE_OK;
  },
  fakeEventStatus(event: bigint, out: Int32Array): number {
    if (++questions % PATIENCE === 0) turn();
    out[0] = events.get(event)!.status;
    return FAKE_OK;
  },
  /** The device gets on with its work while the host stands here. */
  fakeWait(event: bigint): number {
    const { status } = events.get(event)!;
    if (status !== FAKE_PENDING) return FAKE_OK;
    return turn() ? functions.fakeWait(event) : FAKE_WOULD_HANG;
  },
  fakeRetainEvent(event: bigint): number {
    events.get(event)!.references++;
    return FAKE_OK;
  },
  fakeReleaseEvent(event: bigint): number {
    if (--events.get(event)!.references === 0) events.delete(event);
    return FAKE_OK;
  },
};

/** The functions of the driver. */
export type FakeDriver = typeof functions;

/** The driver, whose calls are counted, and fail, like those of a native library. */
export const fake: FakeDriver = tapped("fake", functions) as FakeDriver;
