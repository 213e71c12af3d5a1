import type { DeviceId } from "./device_id.ts";
import type { Gate } from "./gate.ts";
import type { Port, SyncKind } from "./port.ts";

/** What a driver reports to the line of a lane. */
export interface LineEvents {
  /** The command at `mark` failed. `lost`: every later command fails too. */
  failed(mark: number, error: unknown, lost?: boolean): void;
}

/** One native call, as a line makes it. */
export interface Call<L = unknown> {
  /** The name of the native function, for errors. */
  readonly fn: string;
  /** True if the call blocks until its work is done. It is refused behind an unsettled gate. */
  readonly blocks?: boolean;
  /** True if a failed call may have submitted work. It is recorded even then. */
  readonly partial?: boolean;
  /**
   * Set if the call submits commands that the lane does not see, as another library on the same queue does. A marker
   * before the call carries its waits, and a marker after it is its mark. If the second marker fails, `finish` blocks
   * until the commands are done.
   */
  readonly opaque?: { finish(): void };
  /** Makes the call; returns its code, 0 for success. */
  call(lane: L): number;
}

/**
 * In-order work. A lane is the driver's side of one line: a queue, a stream. A mark is the number of commands submitted to
 * the line; the core counts them. The methods check neither arguments nor liveness nor access, and run no code of the
 * program.
 */
export interface Lines<L = unknown> {
  /** Releases the lane. All its work is over. @throws failures that were not reported yet. */
  close(lane: L): void;
  /**
   * The driver accepted the call of `fn`. It is recorded as `mark`, and has used up the pending device waits. Does not
   * throw: `poll` or `close` reports failures.
   */
  submitted(lane: L, mark: number, fn: string): void;
  /** The driver refused a call: drops the pending device waits. */
  refused?(lane: L): void;
  /** Asks whether `mark` is over, without blocking; flushes if it must. Returns the newest mark known to be over. */
  poll(lane: L, mark: number): number;
  /**
   * The same without a command to the device where an earlier one shows that `mark` is not over: for callers that can have
   * the device wait, or ask again. It is `poll` if left out.
   */
  glance?(lane: L, mark: number): number;
  /** Blocks this thread until `mark` is over. May return early: the core polls, and blocks again. */
  block(lane: L, mark: number): void;
  /** One nonblocking native call that ends at about the time `mark` is over. */
  waitElsewhere(lane: L, mark: number): Promise<void>;
  /** False if `waitElsewhere` takes no thread: then any number of them are in flight. */
  readonly takesThread?: false;
  /** The next command waits for a mark of another lane of this driver. False if the device cannot wait for it. */
  waitOnDevice?(lane: L, of: L, mark: number): boolean;
  /**
   * Keeps what other lanes' commands wait for on the device, also past `close`, until the returned function is called. Leave
   * it out if the driver itself keeps it for them, as OpenCL keeps events.
   */
  keep?(lane: L): () => void;
  /** The next command waits for a gate, and fails if the gate does. False if the driver cannot do that. */
  waitOnHost?(lane: L, gate: Gate): boolean;
  /** The line begins to end: fails the commands that still wait for gates. */
  abandon?(lane: L): void;
  /** The unsettled gate that `mark` stands for, if it stands for one: no native call ends it. */
  gate?(lane: L, mark: number): Gate | undefined;
  /** Marks and semaphores as file descriptors, for lines of other drivers. */
  readonly sync?: Sync<L>;
}

/** A lane that is an object with these methods: see {@link Lines}. */
export interface Lane {
  /** Releases it. */
  close(): void;
  /** The driver accepted a call. */
  submitted(mark: number, fn: string): void;
  /** The driver refused one. */
  refused?(): void;
  /** The newest mark known to be over. */
  poll(mark: number): number;
  /** Blocks until a mark is over. */
  block(mark: number): void;
  /** Ends at about the time a mark is over. */
  waitElsewhere(mark: number): Promise<void>;
}

/** The lines of lanes that are objects. */
export const LANES: Lines<Lane> = {
  close: (lane) => lane.close(),
  submitted: (lane, mark, fn) => lane.submitted(mark, fn),
  refused: (lane) => lane.refused?.(),
  poll: (lane, mark) => lane.poll(mark),
  block: (lane, mark) => lane.block(mark),
  waitElsewhere: (lane, mark) => lane.waitElsewhere(mark),
};

/** Synchronization with other drivers. `I` is an imported sync file or semaphore, as the driver knows it. */
// deno-lint-ignore no-explicit-any -- each driver has its own
export interface Sync<L = unknown, I = any> {
  /** The kinds in which a lane exports its own marks, the best first. */
  readonly exports: readonly SyncKind[];
  /** The kinds it imports. */
  readonly imports: readonly SyncKind[];
  /** Why a lane does not take what comes by a kind that its driver imports; undefined where it does. */
  refuses?(lane: L, kind: SyncKind): string | undefined;
  /** The lane's device: a semaphore is made by a maker on the device of one of the two lanes. */
  device?(lane: L): DeviceId;
  /** Signals `mark` natively, flushes, and returns a port. It has no fd for a timeline that the importer knows already. */
  export?(lane: L, mark: number, kind: SyncKind, known: boolean): Port<SyncKind>;
  /** Takes the port's fd. A semaphore is kept for later waits and signals; a sync file is released after one wait. */
  import(port: Port<SyncKind>, lane: L): I;
  /** The next command waits for the import: a timeline reaches `value`, any other is signalled. */
  wait(lane: L, imported: I, value: bigint): void;
  /** The same as a command, where the driver's wait is one. */
  waiting?(imported: I, value: bigint): Call<L>;
  /**
   * A command that signals an imported semaphore, and is handed to the device at once. Leave it out if the driver signals
   * no foreign semaphores.
   */
  signal?(imported: I, value: bigint): Call<L>;
  /** Releases an import; no command uses it any more. */
  release(imported: I): void;
}

/**
 * What a backend implements for one context or device. It is mechanism only: access, waits, views and records are the
 * core's.
 */
export interface Driver<L = unknown> {
  /** The API, as errors name it. */
  readonly api: string;
  /** The error for a code other than 0. */
  error(code: number, fn: string): Error;
  /** Its in-order work. */
  readonly lines: Lines<L>;
  /** A command that does nothing but mark a point of the line. */
  marker?(): Call<L>;
}
