import type { Gate } from "./gate.ts";
import type { Port, SyncKind } from "./port.ts";

/** What a driver tells the line that a lane belongs to. */
export interface LineEvents {
  /** The command at `mark` failed. `lost`: so does every command after it, for ever. */
  failed(mark: number, error: unknown, lost?: boolean): void;
}

/** One native call, as a line makes it. */
export interface Call<L = unknown> {
  /** The name of the native function, for errors. */
  readonly fn: string;
  /** Does the call block until its work is done? Then it is refused behind an unsettled gate. */
  readonly blocks?: boolean;
  /** May the call have submitted work although it failed? Then it is recorded all the same. */
  readonly partial?: boolean;
  /**
   * Does the call submit commands that the lane does not see, as another library on the same queue does? Then a marker in
   * front of it carries its waits, and a marker behind it is its mark. Where that marker fails, `finish` has to block until
   * the commands are done.
   */
  readonly opaque?: { finish(): void };
  /** Makes the call; answers its code, 0 for success. */
  call(lane: L): number;
}

/**
 * In-order work. A lane is what the driver keeps for one line (a queue, a stream). A mark says how many commands the line
 * has had; the core counts them. The methods check no arguments, no liveness and no access, and run no code of the program.
 */
export interface Lines<L = unknown> {
  /** Releases the lane. Every mark has been seen over. @throws what went wrong on the way and was not told yet. */
  close(lane: L): void;
  /**
   * The call of `fn` that was just accepted is `mark`, and it is recorded already; device waits that were asked for are
   * used up.
   * Does not throw: what goes wrong here is told by `poll` or `close`.
   */
  submitted(lane: L, mark: number, fn: string): void;
  /** A call was refused: takes back the device waits that no command has used. */
  refused?(lane: L): void;
  /** Asks, without blocking, whether `mark` is over, and flushes where it must. Answers the newest mark known to be over. */
  poll(lane: L, mark: number): number;
  /** Blocks this thread until `mark` is over; it may be. The core polls afterwards, and blocks again where that was too early. */
  block(lane: L, mark: number): void;
  /** One nonblocking native call that ends when `mark` is over, or about then. */
  waitElsewhere(lane: L, mark: number): Promise<void>;
  /** The next command runs after a mark of another lane of this driver. False where it cannot. */
  waitOnDevice?(lane: L, of: L, mark: number): boolean;
  /** The next command runs once a gate opens, and fails with it. False where it cannot. */
  waitOnHost?(lane: L, gate: Gate): boolean;
  /** The line begins to end: commands that still wait for gates fail now, so that nothing waits for ever. */
  abandon?(lane: L): void;
  /** The unsettled gate that `mark` is itself: nothing native will ever end it. */
  gate?(lane: L, mark: number): Gate | undefined;
  /** Marks as file descriptors, for lines of other drivers. */
  readonly sync?: Sync<L>;
}

/** Synchronization with other drivers. `I` is an imported semaphore as the driver knows it. */
// deno-lint-ignore no-explicit-any -- each driver has its own
export interface Sync<L = unknown, I = any> {
  /** The kinds it exports, the best first. */
  readonly exports: readonly SyncKind[];
  /** The kinds it imports. */
  readonly imports: readonly SyncKind[];
  /** Signals `mark` natively, flushes, and answers a port. Of a timeline that is `known` to the importer, it has no fd. */
  export(lane: L, mark: number, kind: SyncKind, known: boolean): Port<SyncKind>;
  /** Takes the port's fd. A timeline is kept and waited for again; any other import is released after one wait. */
  import(port: Port<SyncKind>): I;
  /** The next command runs after the import has reached `value`. */
  wait(lane: L, imported: I, value: bigint): void;
  /** Releases an import. The command that waits for it is over. */
  release(imported: I): void;
}

/**
 * What a backend implements for one context or device: mechanism only. Every rule (who may use what, who waits for whom,
 * which views end, what is recorded) is the core's.
 */
export interface Driver<L = unknown> {
  /** The API, as errors name it. */
  readonly api: string;
  /** The error of a code other than 0. */
  error(code: number, fn: string): Error;
  /** Its in-order work. */
  readonly lines: Lines<L>;
  /** A command that does nothing, at which a line can be asked. */
  marker?(): Call<L>;
}
