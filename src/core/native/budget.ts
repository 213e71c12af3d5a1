import type { ArgumentError } from "../errors.ts";

/** What the kernel says of something that this process has a limited amount of. */
export interface Kernel {
  limit(): number;
  /** How much the process has in use. Asking takes a while, so it is done rarely. */
  inUse(): number;
}

/** Which parts of the limit are taken, from 0 to 1. */
export interface Shares {
  readonly own: number;
  readonly process: number;
  /** The kernel is asked whenever so much more was taken. */
  readonly step: number;
}

/** Makes the error of what is refused. `own` is false where others of the process have taken it. */
export type Refusal = (count: number, limit: number, own: boolean) => ArgumentError;

/**
 * Counts what V8 needs too, and ends the process if it gets none: it is refused long before the kernel would. Every
 * isolate counts its own, and asks the kernel for that of the others.
 */
export class Budget {
  readonly #kernel: Kernel;
  readonly #shares: Shares;
  readonly #refused: Refusal;
  #limit: number | undefined;
  #taken = 0;
  /** The lowest count since the kernel was asked. */
  #least = 0;

  constructor(kernel: Kernel, shares: Shares, refused: Refusal) {
    this.#kernel = kernel;
    this.#shares = shares;
    this.#refused = refused;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Counts what is about to be taken. @throws {ArgumentError} if that is too much; it is not counted then. */
  take(count: number): void {
    const { own, step } = this.#shares;
    const limit = this.#most();
    const taken = this.#taken + count;
    if (taken > limit * own) throw this.#refused(taken, limit, true);
    if (taken > this.#least + limit * step) {
      this.check();
      this.#least = taken;
    }
    this.#taken = taken;
  }

  /**
   * Asks the kernel now: what it has just refused may be missing because other isolates and drivers have it.
   * @throws {ArgumentError} if the process has more in use than its share.
   */
  check(): void {
    const limit = this.#most();
    const inUse = this.#kernel.inUse();
    if (inUse > limit * this.#shares.process) throw this.#refused(inUse, limit, false);
  }

  giveBack(count: number): void {
    this.#taken -= count;
    this.#least = Math.min(this.#least, this.#taken);
  }

  #most(): number {
    return this.#limit ??= this.#kernel.limit();
  }
}
