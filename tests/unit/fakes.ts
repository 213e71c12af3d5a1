import { Allocation } from "../../src/core/memory/allocation.ts";
import type { Context, Target } from "../../src/core/graph/context.ts";
import { AccessError } from "../../src/core/errors.ts";
import { Fence } from "../../src/core/life/fence.ts";
import { HostTensor } from "../../src/host/tensor.ts";

/** A context that does nothing. */
export function fakeContext(api: string, kinds: readonly string[] = []): Context {
  const targets: Target[] = [];
  const context: Context = { api, name: api, id: {}, targets, resource: undefined, [Symbol.dispose]() {} };
  const is = (value: unknown): value is HostTensor => value instanceof HostTensor;
  for (const kind of kinds) targets.push({ kind, context, is });
  return context;
}

/** An allocation of no memory at all. */
export function fakeAllocation(byteLength: number, free: () => void = () => {}): Allocation {
  const allocation = new Allocation({ kind: "test.block", byteLength, free });
  allocation.join();
  return allocation;
}

/** The context of fake fences, but for those made with another. */
export const fakes: Context = fakeContext("fake");

/** Work that ends when the test says so. */
export class FakeWork {
  /** `"device"`: a blocking wait sees it done. `"event"`: it waits for an event of this isolate, so that none ever ends. */
  readonly kind: "device" | "event";
  /** What it fails with, once it is over. */
  readonly failure: Error | undefined;
  /** Set: every native wait fails with it, though the work goes on. */
  brokenWait: Error | undefined;
  /** Set: the status cannot be asked for while the work is in flight. */
  brokenStatus: Error | undefined;
  #over = false;
  readonly #ended = Promise.withResolvers<void>();

  /** Work that is in flight. */
  constructor(kind: "device" | "event" = "device", failure?: Error) {
    this.kind = kind;
    this.failure = failure;
  }

  /** True once it has ended, well or not. */
  get over(): boolean {
    return this.#over;
  }

  /** Settles when it ends. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Ends it. */
  end(): void {
    this.#over = true;
    this.#ended.resolve();
  }
}

/** A fence on {@link FakeWork}. Using it after its dispose is an error that nothing expects. */
export class FakeFence extends Fence {
  /** Fences that nobody has disposed. */
  static alive = 0;
  /** Uses of a fence after its dispose. */
  static misused = 0;
  override readonly context: Context;
  override readonly line: object = {};
  readonly work: FakeWork;
  /** What its dispose fails with, though it is done. */
  releaseFailure: Error | undefined;
  #disposed = false;

  /** A fence on this work. */
  constructor(work: FakeWork, context: Context = fakes) {
    super();
    this.work = work;
    this.context = context;
    FakeFence.alive++;
  }

  override get over(): boolean {
    this.#check();
    return this.work.over;
  }

  override reached(): boolean {
    this.#check();
    if (!this.work.over && this.work.brokenStatus !== undefined) throw this.work.brokenStatus;
    if (this.work.over && this.work.failure !== undefined) throw this.work.failure;
    return this.work.over;
  }

  override waitSync(): void {
    this.#check();
    if (this.work.brokenWait !== undefined) throw this.work.brokenWait;
    if (this.work.kind === "event" && !this.work.over) {
      throw new AccessError("the work waits for an event that is not set.", { argument: "fence" });
    }
    this.work.end();
    this.reached();
  }

  override retain(): FakeFence {
    this.#check();
    return new FakeFence(this.work, this.context);
  }

  override [Symbol.dispose](): void {
    this.#check();
    this.#disposed = true;
    FakeFence.alive--;
    if (this.releaseFailure !== undefined) throw this.releaseFailure;
  }

  protected override waitable(): Promise<void> | undefined {
    this.#check();
    return this.work.kind === "event" && !this.work.over ? this.work.ended : undefined;
  }

  protected override async waitNonblocking(): Promise<void> {
    this.#check();
    if (this.work.brokenWait !== undefined) throw this.work.brokenWait;
    await this.work.ended;
    this.reached();
  }

  #check(): void {
    if (this.#disposed) FakeFence.misused++;
  }
}
