/**
 * Counts what is alive: native objects by kind (`"opencl.cl_mem"`), blocks of memory, fds, and what had to be
 * quarantined. After a program has disposed all that it made, {@link Ledger.alive} is empty.
 */
export class Ledger {
  readonly #alive = new Map<string, { count: number }>();
  #quarantined = 0;

  /** One more of a kind: for those who write mappers. */
  add(kind: string): void {
    const alive = this.#alive.get(kind);
    if (alive === undefined) this.#alive.set(kind, { count: 1 });
    else alive.count++;
  }

  /** One less of a kind: for those who write mappers. */
  remove(kind: string): void {
    const alive = this.#alive.get(kind);
    if (alive === undefined) this.#alive.set(kind, { count: -1 });
    else alive.count--;
  }

  /** Bytes that are kept for good because a view of them had escaped: for those who write mappers. */
  quarantine(bytes: number): void {
    this.#quarantined += bytes;
  }

  /** What is alive now, by kind; kinds of which none is alive are left out. */
  get alive(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#alive].flatMap(([kind, { count }]) => count === 0 ? [] : [[kind, count]]));
  }

  /** Bytes quarantined so far. */
  get quarantinedBytes(): number {
    return this.#quarantined;
  }
}

/**
 * The ledger of this isolate.
 *
 * @example
 * ```ts
 * import { host, ledger } from "@samepage/interop";
 *
 * const tensor = host.allocate({ shape: [16], dtype: "u8" });
 * console.log(ledger.alive); // { "host.block": 1 }
 * tensor[Symbol.dispose]();
 * console.log(ledger.alive); // {}
 * ```
 */
export const ledger: Ledger = new Ledger();
