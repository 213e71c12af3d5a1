import { AccessError } from "../errors.ts";

/**
 * Something that only this program, or a thread that nobody here can see, will ever settle. Work behind a gate that is
 * not settled is never waited for by blocking.
 */
export interface Gate {
  /** Has it settled? */
  readonly settled: boolean;
  /** What it failed with, if it did. */
  readonly failure: { readonly error: unknown } | undefined;
  /** Settles, and never rejects, once everybody was told. */
  readonly opened: Promise<void>;
  /** Calls back in the very job that sees the gate settle. */
  whenOpen(tell: (failed: boolean) => void): void;
}

/**
 * A gate that a promise opens. Drivers are told in the job in which the promise is seen settled: a reaction of the
 * program's may block on the work behind the gate, and must not come in between.
 */
export class PromiseGate implements Gate {
  settled = false;
  failure: { readonly error: unknown } | undefined;
  readonly opened: Promise<void>;
  #told: ((failed: boolean) => void)[] = [];

  /** Of a promise of the program's. */
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

/** A gate as one line stands behind it. The line's end abandons it: then the driver has failed what waits there. */
export class Passage implements Gate {
  readonly #gate: Gate;
  readonly #given = Promise.withResolvers<void>();
  #isAbandoned = false;

  /** One line's way through a gate. */
  constructor(gate: Gate) {
    this.#gate = gate;
  }

  /** Asked for by those who await it: a gate that polls may let the process end meanwhile, where nobody does. */
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

  /** Nobody waits for the gate here any more. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#given.resolve();
  }
}

const ABANDONED = { error: new AccessError("The queue was disposed before what it waited for.", { api: "core" }) };
