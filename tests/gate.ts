import { type Fence, host, InteropError } from "@samepage/interop";
import { type Driver, type Gate, Line } from "@samepage/interop/backend";

/** What is not here: a gate needs no native call. */
const driver: Driver<ManualGate> = {
  api: "gates",
  error: (code, fn) => new InteropError(`${fn} failed with ${code}.`),
  lines: {
    close() {},
    submitted() {},
    poll: (_gate, mark) => mark, // the core asks once the gate has settled
    block() {},
    waitElsewhere: ({ opened }) => opened,
    gate: (gate) => gate.settled ? undefined : gate,
  },
};

/** A gate that a test opens at once, where that of a promise (`host.signal`) takes a turn. Unopened, its dispose fails it. */
export class ManualGate implements Gate, Disposable {
  settled = false;
  failure: { readonly error: unknown } | undefined;
  readonly opened: Promise<void>;
  /** A fence that is reached when the gate opens. */
  readonly fence: Fence;
  readonly #failed: (error: unknown) => void;
  readonly #settle: () => void;
  readonly #told: ((failed: boolean) => void)[] = [];

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.opened = promise;
    this.#settle = resolve;
    let failed = (_error: unknown) => {};
    const line = new Line<ManualGate>({
      driver,
      name: "a gate",
      open: (events) => {
        failed = (error) => events.failed(1, error);
        return this;
      },
    });
    this.#failed = failed;
    line.submit([], { fn: "open", call: () => 0 });
    this.fence = line.fence();
  }

  whenOpen(tell: (failed: boolean) => void): void {
    if (this.settled) tell(this.failure !== undefined);
    else this.#told.push(tell);
  }

  /** Opens it. */
  open(): void {
    if (this.settled) return;
    this.settled = true;
    if (this.failure !== undefined) this.#failed(this.failure.error);
    for (const tell of this.#told.splice(0)) tell(this.failure !== undefined);
    this.#settle();
  }

  /** Opens it with a failure. */
  fail(error: unknown = new InteropError("the gate failed.")): void {
    if (!this.settled) this.failure = { error };
    this.open();
  }

  [Symbol.dispose](): void {
    this.fail();
  }
}

/** A promise that a test settles, as what work waits for. */
export class Opening implements Disposable {
  /** Reached once it is opened. */
  readonly fence: Fence;
  readonly #settle: PromiseWithResolvers<void>;

  /** Not open yet. */
  constructor() {
    this.#settle = Promise.withResolvers();
    this.fence = host.signal(this.#settle.promise);
  }

  /** Opens it; drivers have seen that when the promise settles. */
  async complete(): Promise<void> {
    this.#settle.resolve();
    await this.fence.wait();
  }

  /** Fails it. */
  async fail(error: Error = new RangeError("the test failed it")): Promise<void> {
    this.#settle.reject(error);
    await this.fence.wait().catch(() => {});
  }

  /** Fails it, unless it has settled. */
  [Symbol.dispose](): void {
    this.#settle.reject(new Error("nobody settled it"));
  }
}

/** One that is not open yet. */
export function gate(): Opening {
  return new Opening();
}
