import { throwAll } from "../errors.ts";
import type { ErrorMaker } from "../native/codes.ts";
import { Turns } from "../turns.ts";
import { Resource } from "./resource.ts";
import type { Undo } from "./undo.ts";

/** What {@link NativeCalls} are made of. */
export interface NativeCallsInit {
  /** What is called, for messages: `"FFmpeg encoder"`. */
  readonly name: string;
  /** It ends before this does. */
  readonly owner: Resource;
  /** Its native objects. They end once no call is in flight. */
  readonly undo: Undo;
  /** Ends it. Calls in flight and later ones throw the signal's reason. */
  readonly signal: AbortSignal | undefined;
  /** The library's errors, by the codes below zero that its functions return. */
  readonly error: ErrorMaker;
  /** Has a call in flight return soon, as its end begins. Left out where calls are short. */
  readonly stop?: () => void;
  /** The frames that its native objects have references to, where it is a sink. */
  readonly keep?: { readonly count: number };
  /** Called after each call, as to report what the library has logged. */
  readonly after?: () => void;
}

/**
 * The calls of one object that works on other threads, a source of frames or a sink: its end waits for the one in flight, and
 * a call that was stopped in the middle failed for that reason, whatever it returned. For backends.
 */
export class NativeCalls {
  /** Its end of life. */
  readonly resource: Resource;
  readonly #signal: AbortSignal | undefined;
  readonly #error: ErrorMaker;
  readonly #after: () => void;
  readonly #turns = new Turns();
  #isOver = false;

  /** Takes `undo` over. */
  constructor({ name, owner, undo, signal, error, stop, keep, after = () => {} }: NativeCallsInit) {
    [this.#signal, this.#error, this.#after] = [signal, error, after];
    const giveUp = () => {
      stop?.();
      // With its owner, newer frames end first, and would wait for it: so it ends by itself.
      if (keep !== undefined && keep.count > 0) queueMicrotask(() => void resource.settleAsync());
    };
    const resource = this.resource = new Resource({
      ...{ name, owners: [owner], undo },
      hooks: { giveUp, lastWork: () => undefined },
    });
    const end = () => void resource.disposeAsync().catch(() => {}); // it rejects where its end is awaited
    signal?.addEventListener("abort", end);
    undo.push(() => signal?.removeEventListener("abort", end));
  }

  /** @throws the signal's reason, or a {@link DisposedError} once its end has begun. */
  assertGoing(): void {
    this.#signal?.throwIfAborted();
    this.resource.assertLive();
  }

  /** @throws as {@link assertGoing}, or the library's error for a code below zero. */
  assertPassed(code: number, fn: string, hint?: string): void {
    this.assertGoing();
    if (code < 0) throw this.#error(code, fn, hint === undefined ? {} : { hint });
  }

  /** Makes calls, until whose end its own is held off. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.assertGoing();
    const letGo = this.resource.hold();
    try {
      return await work();
    } finally {
      letGo();
      this.#after();
    }
  }

  /** The same, one after the other, in the order in which they came. One that has ended it is over once all is freed. */
  inTurn(work: () => Promise<void>): Promise<void> {
    return this.#turns.run(async () => {
      try {
        await this.run(work);
      } catch (error) {
        const ended = this.#isOver ? await Promise.allSettled([this.resource.disposeAsync()]) : [];
        throwAll([error, ...ended.flatMap((end) => end.status === "rejected" ? [end.reason] : [])], "calling");
      }
      if (this.#isOver) await this.resource.disposeAsync();
    });
  }

  /** Within a turn: makes calls after whose failure there is nothing to go on with. */
  async orEnd<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.end("ended by a failure");
      throw error;
    }
  }

  /** Within a turn: nothing comes after it. @param how what has ended it, in messages: `"closed"` */
  end(how: string): void {
    this.resource.ending = how;
    this.#isOver = true;
  }
}
