import { Printed } from "../printed.ts";
import type { Undo } from "./undo.ts";

/**
 * Counts live native objects by kind (`"opencl.cl_mem"`), blocks of memory and fds, and quarantined bytes. Once a program
 * has disposed everything, {@link Ledger.alive} is empty.
 */
export class Ledger extends Printed {
  readonly #alive = new Map<string, { count: number }>();
  #quarantined = 0;

  /** Counts one more of a kind. For mappers. */
  add(kind: string): void {
    const alive = this.#alive.get(kind);
    if (alive === undefined) this.#alive.set(kind, { count: 1 });
    else alive.count++;
  }

  /** Counts one less of a kind. For mappers. */
  remove(kind: string): void {
    const alive = this.#alive.get(kind);
    if (alive === undefined) this.#alive.set(kind, { count: -1 });
    else alive.count--;
  }

  /** Counts bytes that are never freed because a view of them escaped. For mappers. */
  quarantine(bytes: number): void {
    this.#quarantined += bytes;
  }

  /** The number of live objects by kind, without zeros. */
  get alive(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#alive].flatMap(([kind, { count }]) => count === 0 ? [] : [[kind, count]]));
  }

  /** What is alive, in one line. `console.log` shows the same. */
  toString(): string {
    const alive = Object.entries(this.alive).map(([kind, count]) => `${count} ${kind}`);
    if (this.#quarantined > 0) alive.push(`${this.#quarantined} bytes in quarantine`);
    return `ledger: ${alive.length === 0 ? "nothing is alive" : alive.join(", ")}`;
  }

  /** The number of bytes quarantined so far. */
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

export function counted(kind: string, release: () => void): () => void {
  ledger.add(kind);
  return () => {
    ledger.remove(kind);
    release();
  };
}

/** Takes a native object over: it counts until the undo list releases it. */
export function owned(kind: string, undo: Undo, release: () => void): void {
  undo.push(counted(kind, release));
}
