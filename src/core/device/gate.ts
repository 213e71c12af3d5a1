import { AccessError } from "../errors.ts";

/** An event that this program, or a foreign thread, brings about. No blocking call waits behind an unsettled gate. */
export interface Gate {
  /** True once it is settled. */
  readonly settled: boolean;
  /** Its error, if it failed. */
  readonly failure: { readonly error: unknown } | undefined;
  /** Resolves once all listeners were called. Never rejects. */
  readonly opened: Promise<void>;
  /** Calls `tell` in the job in which the gate settles. */
  whenOpen(tell: (failed: boolean) => void): void;
}

/**
 * A gate that a promise opens. Drivers hear of it in the job that sees the promise settle. Otherwise a reaction of the
 * program could run first, and block on the work behind the gate.
 */
export class PromiseGate implements Gate {
  settled = false;
  failure: { readonly error: unknown } | undefined;
  readonly opened: Promise<void>;
  #told: ((failed: boolean) => void)[] = [];

  constructor(promise: PromiseLike<unknown>) {
    this.opened = Promise.resolve(promise).then(() => this.#open(), (error) => {
      this.failure = { error };
      this.#open();
    });
  }

  whenOpen(tell: (failed: boolean) => void): void {
    if (this.settled) tell(this.failure !== undefined);
    else this.#told.push(tell);
  }

  #open(): void {
    this.settled = true;
    for (const tell of this.#told.splice(0)) tell(this.failure !== undefined);
  }
}

/** One line's way through a gate. When the line ends, the driver fails the commands behind it, and the line abandons it. */
export class Passage implements Gate {
  readonly #gate: Gate;
  readonly #given = Promise.withResolvers<void>();
  #isAbandoned = false;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  /** A getter, so that a gate that polls keeps the process alive only while it is awaited. */
  get opened(): Promise<void> {
    return Promise.race([this.#gate.opened, this.#given.promise]);
  }

  get settled(): boolean {
    return this.#isAbandoned || this.#gate.settled;
  }

  get failure(): { readonly error: unknown } | undefined {
    return this.#gate.failure ?? (this.#isAbandoned ? ABANDONED : undefined);
  }

  whenOpen(tell: (failed: boolean) => void): void {
    this.#gate.whenOpen(tell);
  }

  abandon(): void {
    this.#isAbandoned = true;
    this.#given.resolve();
  }
}

const ABANDONED = { error: new AccessError("The queue was disposed before what it waited for.", { api: "core" }) };
