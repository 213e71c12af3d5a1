import type { CudaEvent as EventHandle } from "../../ffi/cuda_runtime/handles.ts";
import { DisposedError } from "../core/errors.ts";
import { Fence } from "../core/life/fence.ts";
import type { CudaContext } from "./context.ts";
import { destroyEvent, isReached, synchronize, synchronizeAsync } from "./events.ts";
import type { DeviceCalls } from "./primary_context.ts";

/**
 * An event that fences stand at, for those who write mappers. It is destroyed once its owner has ended and no other thread
 * waits for it.
 */
export class HeldEvent {
  /** The event. */
  readonly handle: EventHandle;
  readonly #calls: DeviceCalls;
  #waiters = 0;
  #ended = false;

  /** Takes the event over; `calls` are made to its device. */
  constructor(calls: DeviceCalls, handle: EventHandle) {
    this.#calls = calls;
    this.handle = handle;
  }

  /** True once its owner has ended, who has waited for what it marked. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Its owner has ended. */
  end(): void {
    this.#ended = true;
    if (this.#waiters === 0) destroyEvent(this.#calls, this.handle);
  }

  /** cudaEventSynchronize off this thread. */
  async synchronized(): Promise<void> {
    this.#waiters++;
    try {
      await synchronizeAsync(this.handle);
    } finally {
      if (--this.#waiters === 0 && this.#ended) destroyEvent(this.#calls, this.handle);
    }
  }
}

/** What an event marked when the fence was made, or marks since: a wait for more, never for less. */
export class CudaEventFence extends Fence {
  /** The context that has the event. */
  readonly context: CudaContext;
  readonly #event: HeldEvent;
  #over = false;
  #disposed = false;

  /** Made by shared events. */
  constructor(context: CudaContext, event: HeldEvent) {
    super();
    this.context = context;
    this.#event = event;
  }

  /** True for what this class has made, and not for a proxy of it: for those who write mappers. */
  static override owns(value: object): boolean {
    return #event in value;
  }

  /** The event: what is recorded on it is in nobody's order. */
  get line(): object {
    return this;
  }

  /** The event itself, for a stream to wait for, unless it is reached. */
  get event(): EventHandle {
    return this.#event.handle;
  }

  /** True once the work was seen over. */
  override get over(): boolean {
    return this.#over;
  }

  /** True once the work is done. @throws {CudaLostError} where a kernel has gone wrong. */
  reached(): boolean {
    this.#assertLive();
    return this.#over ||= this.#event.ended || isReached(this.#event.handle);
  }

  /** Blocks until the work is done. */
  waitSync(): void {
    while (!this.reached()) synchronize(this.#event.handle);
  }

  /** Another owner of the same point. */
  retain(): CudaEventFence {
    this.#assertLive();
    const other = new CudaEventFence(this.context, this.#event);
    other.#over = this.#over;
    return other;
  }

  /** Gives up this owner's share. */
  [Symbol.dispose](): void {
    this.#disposed = true;
  }

  /** At once. */
  protected waitable(): undefined {
    return undefined;
  }

  /** cudaEventSynchronize off this thread, on an event that stays until then, as the device's context does. */
  protected async waitNonblocking(): Promise<void> {
    if (this.reached()) return;
    const letGo = this.context.keepPrimary();
    try {
      await this.#event.synchronized();
    } finally {
      letGo();
    }
  }

  #assertLive(): void {
    if (this.#disposed) throw new DisposedError("this fence was disposed.", { api: "cuda" });
  }
}
