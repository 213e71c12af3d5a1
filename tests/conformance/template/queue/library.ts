/**
 * The C library of an API that does not exist: handles, codes, out-parameters. Its device works later: when the event loop
 * turns, while the host waits, or when the host asks often enough. A real backend has a folder of ffi/ in its place.
 *
 * @module
 */
import { bytesAt } from "../../bytes.ts";
import { tapped } from "../../../faults/tap.ts";

/** It went well. */
export const FAKE_OK = 0;
/** No such handle. */
const FAKE_INVALID_HANDLE = -38;
/** A wait would take for ever: the work waits for an event that is not set. */
const FAKE_WOULD_HANG = -99;
/** The device gets on with its work at every so manieth question. */
const PATIENCE = 8;

/** What a command waits for: the so manieth command of a queue. An event is a queue with one. */
export interface FakeWait {
  readonly queue: bigint;
  readonly mark: number;
}

interface Job {
  readonly work: () => void;
  readonly memory: readonly bigint[];
  readonly waits: readonly { readonly queue: Queue; readonly mark: number }[];
}

interface Queue {
  readonly jobs: Job[];
  readonly failures: Set<number>;
  readonly waiting: Set<{ readonly mark: number; readonly tell: () => void }>;
  done: number;
  /** The first failure that was not reported yet; 0 where there is none. */
  untold: number;
}

const memories = new Map<bigint, Uint8Array>();
const queues = new Map<bigint, Queue>();
let nextHandle = 1n;
let scheduled = false;
let questions = 0;

/** What must not happen: memory that was released while the device had work on it. */
export const misuses: string[] = [];

/** How many objects are alive: what a test compares, beside the ledger. */
export function fakeAlive(): number {
  return memories.size + queues.size;
}

/** A memory's bytes, for its own commands. */
export function fakeBytes(memory: bigint): Uint8Array {
  return memories.get(memory)!;
}

/** The host address of a memory's first byte. */
export function fakeAddress(memory: bigint): bigint {
  return BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(fakeBytes(memory) as Uint8Array<ArrayBuffer>)));
}

function made<T>(table: Map<bigint, T>, value: T, out: BigUint64Array): number {
  out[0] = nextHandle++;
  table.set(out[0], value);
  return FAKE_OK;
}

/** One more command of a queue is over. */
function end(queue: Queue, failed: boolean): void {
  queue.done++;
  if (failed) {
    queue.failures.add(queue.done);
    queue.untold ||= queue.done;
  }
  for (const each of queue.waiting) if (each.mark <= queue.done && queue.waiting.delete(each)) each.tell();
}

/** Runs every job that is ready; true where there was one. */
function turn(): boolean {
  let ran = false;
  for (const queue of queues.values()) {
    while (queue.jobs.length > 0 && queue.jobs[0].waits.every((wait) => wait.queue.done >= wait.mark)) {
      const { work, waits } = queue.jobs.shift()!;
      const failed = waits.some((wait) => wait.queue.failures.has(wait.mark));
      if (!failed) work();
      end(queue, failed);
      ran = true;
    }
  }
  return ran;
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
  /** Zeroed memory of the device. */
  fakeAllocate(byteLength: number, out: BigUint64Array): number {
    return made(memories, new Uint8Array(byteLength), out);
  },
  /** The host's memory as the device's. */
  fakeImport(address: bigint, byteLength: number, out: BigUint64Array): number {
    return made(memories, bytesAt(address, byteLength), out);
  },
  fakeRelease(memory: bigint): number {
    const jobs = [...queues.values()].flatMap(({ jobs }) => jobs);
    if (jobs.some((job) => job.memory.includes(memory))) misuses.push(`memory ${memory} was released under the device`);
    return memories.delete(memory) ? FAKE_OK : FAKE_INVALID_HANDLE;
  },
  fakeCreateQueue(out: BigUint64Array): number {
    return made<Queue>(queues, { jobs: [], failures: new Set(), waiting: new Set(), done: 0, untold: 0 }, out);
  },
  fakeReleaseQueue(queue: bigint): number {
    return queues.delete(queue) ? FAKE_OK : FAKE_INVALID_HANDLE;
  },
  /** Work for the device with some of its memory, in the order of the queue, after some other work. */
  fakeSubmit(queue: bigint, work: () => void, memory: readonly bigint[], waits: readonly FakeWait[]): number {
    const found = waits.map(({ queue, mark }) => ({ queue: queues.get(queue)!, mark }));
    queues.get(queue)!.jobs.push({ work, memory, waits: found });
    turnSoon();
    return FAKE_OK;
  },
  /** How many commands are done, and the first that failed since somebody asked; 0 where none did. */
  fakeStatus(queue: bigint, out: BigUint64Array): number {
    if (++questions % PATIENCE === 0) turn();
    const state = queues.get(queue)!;
    out.set([BigInt(state.done), BigInt(state.untold)]);
    state.untold = 0;
    return FAKE_OK;
  },
  /** The device gets on with its work while the host stands here. */
  fakeWait(queue: bigint, mark: number): number {
    while (queues.get(queue)!.done < mark) if (!turn()) return FAKE_WOULD_HANG;
    return FAKE_OK;
  },
  /** The same without blocking this thread. */
  async fakeWaitAsync(queue: bigint, mark: number): Promise<number> {
    const { done, waiting } = queues.get(queue)!;
    if (done < mark) await new Promise<void>((tell) => waiting.add({ mark, tell }));
    return FAKE_OK;
  },
  /** Ends the one command of an event, which is a queue that nothing is submitted to. */
  fakeSetEvent(event: bigint, failed: boolean): number {
    end(queues.get(event)!, failed);
    turnSoon();
    return FAKE_OK;
  },
};

/** The functions of the library. */
export type FakeLibrary = typeof functions;

/** The library, whose calls are counted, and fail when a test says so, like those of a native one. */
export const fake: FakeLibrary = tapped("fake", functions) as FakeLibrary;
