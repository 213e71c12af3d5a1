import { cudaStreamPerThread } from "../../ffi/cuda_runtime/constants.ts";
import type { CudaEvent as EventHandle, CudaStream as StreamHandle } from "../../ffi/cuda_runtime/handles.ts";
import { type EventPool, isReached, type PooledEvent, synchronize } from "./events.ts";
import { check, CudaLostError } from "./errors.ts";
import { cudart } from "./library.ts";
import type { DeviceCalls, Within } from "./primary_context.ts";

/** An event that was recorded, and how many commands were in front of it. */
export interface Recorded {
  /** How many. */
  readonly mark: number;
  /** The event. */
  readonly event: PooledEvent;
}

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
  #recorded: Recorded[] = [];
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
    this.#lostIn(() => this.#within(() => check(cudart().cudaStreamSynchronize(this.stream), "cudaStreamSynchronize")));
    this.#complete(mark);
  }

  /** One wait for a point off this thread, on an event that stays as it is until then. */
  async waitElsewhere(mark: number): Promise<void> {
    const { event } = this.#lostIn(() => this.at(mark));
    event.waiters++;
    try {
      const code = await cudart().cudaEventSynchronizeAsync(event.handle);
      this.#lostIn(() => check(code, "cudaEventSynchronize"));
    } finally {
      this.release(event);
    }
  }

  /** Has what is submitted from now on wait for what an event marks. */
  waitFor(event: EventHandle): void {
    this.#within(() => check(cudart().cudaStreamWaitEvent(this.stream, event, 0), "cudaStreamWaitEvent"));
  }

  /** The earliest event at or behind a point; recorded now where there is none. */
  at(mark: number): Recorded {
    for (const recorded of this.#recorded) if (recorded.mark >= mark) return recorded;
    return this.record();
  }

  /** Records an event behind all that was submitted. */
  record(): Recorded {
    const event = this.#pool.take();
    try {
      this.#within(() => check(cudart().cudaEventRecord(event.handle, this.stream), "cudaEventRecord"));
    } catch (error) {
      this.#pool.give(event);
      throw error;
    }
    const recorded = { mark: this.#submitted, event };
    this.#recorded.push(recorded);
    return recorded;
  }

  /** A stream has ended that was waited for up to a point. */
  end(mark: number): void {
    this.#complete(mark);
  }

  /** A wait of another thread for an event is over. */
  release(event: PooledEvent): void {
    event.waiters--;
    if (event.waiters === 0 && !this.#recorded.some((recorded) => recorded.event === event)) this.#pool.give(event);
  }

  /** Is a point reached, as far as an event that was recorded there can tell? */
  #isSeenAt(mark: number): boolean {
    return this.#recorded.at(-1)?.mark === mark && this.#ask(mark, isReached);
  }

  /** Asks the event at a point whether it is over. */
  #ask(mark: number, isOver: (event: EventHandle) => boolean): boolean {
    if (this.#failure !== undefined) throw this.#failure.error;
    const recorded = this.#lostIn(() => this.at(mark));
    if (!this.#lostIn(() => isOver(recorded.event.handle))) return false;
    this.#complete(recorded.mark);
    return true;
  }

  /** Asks something; a kernel that went wrong is remembered. Another failure is of the question: it can be asked again. */
  #lostIn<R>(ask: () => R): R {
    try {
      return ask();
    } catch (error) {
      if (error instanceof CudaLostError) this.#failure = { error };
      throw error;
    }
  }

  #complete(mark: number): void {
    this.#completed = Math.max(this.#completed, mark);
    while (this.#recorded.length > 0 && this.#recorded[0].mark <= mark) {
      const { event } = this.#recorded.shift()!;
      if (event.waiters === 0) this.#pool.give(event);
    }
  }
}
