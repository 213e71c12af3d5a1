import { cudaStreamPerThread } from "../../ffi/cuda_runtime/constants.ts";
import type { CudaEvent as EventHandle, CudaStream as StreamHandle } from "../../ffi/cuda_runtime/handles.ts";
import { type EventPool, isReached, type PooledEvent, synchronize, synchronizeAsync } from "./events.ts";
import { check, CudaLostError } from "./errors.ts";
import { cudart } from "./library.ts";
import type { DeviceCalls, Within } from "./primary_context.ts";

/**
 * The commands of one `cudaStream_t`, in the order in which they run. A point in it is a number: how many commands there
 * were. An event is recorded only when somebody asks for a point, so that submitting takes no more than its own call; it
 * may stand behind later commands then, which is waiting for more than was asked for, never for less. For those who write
 * mappers.
 */
export class Timeline {
  /** The stream. */
  readonly stream: StreamHandle;
  readonly #pool: EventPool;
  readonly #within: Within;
  #submitted = 0;
  #completed = 0;
  #recorded: PooledEvent[] = []; // the oldest first
  #failure: { readonly error: unknown } | undefined;

  /** Of a stream that lives for as long as this is asked. */
  constructor(stream: StreamHandle, pool: EventPool, { within, near }: DeviceCalls) {
    this.stream = stream;
    this.#pool = pool;
    this.#within = stream <= cudaStreamPerThread ? within : near; // CUDA's own are of whichever device is the thread's
  }

  /** How many commands were submitted: the newest point. */
  get newest(): number {
    return this.#submitted;
  }

  /** One more command was submitted; answers its point. */
  advance(): number {
    return ++this.#submitted;
  }

  /** True once a point was seen reached, or can no more be asked about. */
  wasReached(mark: number): boolean {
    return mark <= this.#completed || this.#failure !== undefined;
  }

  /** True once a point is reached. @throws what made the work fail. */
  reached(mark: number): boolean {
    return mark <= this.#completed || this.#ask(mark, isReached);
  }

  /** Blocks until a point is reached. @throws what made the work fail. */
  wait(mark: number): void {
    if (mark <= this.#completed) return;
    if (mark < this.#submitted) this.#ask(mark, synchronize);
    else if (!this.#isSeenAt(mark)) this.finish(); // which waits as the device's context is to, and needs no event
  }

  /**
   * Blocks until all is done that was submitted, by whoever has the stream (cudaStreamSynchronize): what was freed in its
   * order is free then, which events do not tell the driver.
   */
  finish(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
    const mark = this.#submitted;
    try {
      this.#within(() => check(cudart().cudaStreamSynchronize(this.stream), "cudaStreamSynchronize"));
    } catch (error) {
      throw this.#kept(error);
    }
    this.#complete(mark);
  }

  /** One wait for a point off this thread, on an event that stays as it is until then. */
  async waitElsewhere(mark: number): Promise<void> {
    let event: PooledEvent | undefined;
    try {
      event = this.at(mark);
      event.waiters++;
      await synchronizeAsync(event.handle);
    } catch (error) {
      throw this.#kept(error);
    } finally {
      if (event !== undefined) this.release(event);
    }
  }

  /** Has what is submitted from now on wait for what an event marks. */
  waitFor(event: EventHandle): void {
    this.#within(() => check(cudart().cudaStreamWaitEvent(this.stream, event, 0), "cudaStreamWaitEvent"));
  }

  /** The earliest event at or behind a point; recorded now where there is none. */
  at(mark: number): PooledEvent {
    for (const event of this.#recorded) if (event.mark >= mark) return event;
    return this.record();
  }

  /** Records an event behind all that was submitted. */
  record(): PooledEvent {
    const event = this.#pool.take();
    try {
      this.#within(() => check(cudart().cudaEventRecord(event.handle, this.stream), "cudaEventRecord"));
    } catch (error) {
      this.#pool.give(event);
      throw error;
    }
    event.mark = this.#submitted;
    this.#recorded.push(event);
    return event;
  }

  /** A stream has ended that was waited for up to a point. */
  end(mark: number): void {
    this.#complete(mark);
  }

  /** A wait of another thread for an event is over. */
  release(event: PooledEvent): void {
    event.waiters--;
    if (event.waiters === 0 && !this.#recorded.includes(event)) this.#pool.give(event);
  }

  /** Is a point reached, as far as an event that was recorded there can tell? */
  #isSeenAt(mark: number): boolean {
    return this.#recorded.at(-1)?.mark === mark && this.#ask(mark, isReached);
  }

  /** Asks the event at a point whether it is over. */
  #ask(mark: number, ask: (event: EventHandle) => boolean): boolean {
    if (this.#failure !== undefined) throw this.#failure.error;
    try {
      const event = this.at(mark);
      if (!ask(event.handle)) return false;
      this.#complete(event.mark);
      return true;
    } catch (error) {
      throw this.#kept(error);
    }
  }

  /** A kernel that went wrong is remembered. Another failure is of the question: it can be asked again. */
  #kept(error: unknown): unknown {
    if (error instanceof CudaLostError) this.#failure = { error };
    return error;
  }

  /** All up to a point is over: its events go back. */
  #complete(mark: number): void {
    if (mark > this.#completed) this.#completed = mark;
    const recorded = this.#recorded;
    while (recorded.length > 0 && recorded[0].mark <= mark) {
      const event = recorded.length === 1 ? recorded.pop()! : recorded.shift()!; // the one takes less than the other
      if (event.waiters === 0) this.#pool.give(event);
    }
  }
}
