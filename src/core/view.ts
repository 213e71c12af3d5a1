import type { Allocation } from "./allocation.ts";
import type { Grant } from "./grant.ts";
import { permitted } from "./library.ts";

/** A buffer that was handed out, and what it shows. */
interface Handed {
  readonly buffer: ArrayBuffer;
  readonly grant: Grant;
  readonly start: number;
  readonly end: number;
  readonly writable: boolean;
  /** Lent to a promise: it stays until that settles, though its tensor is disposed. */
  readonly lent: boolean;
}

/** A view keeps alive whatever its memory hangs on: buffer → tensor. */
const keepers = new WeakMap<ArrayBuffer, object>();

/** True for a buffer that samepage handed out, revoked or not. */
export function isOurs(buffer: ArrayBufferLike): boolean {
  return keepers.has(buffer as ArrayBuffer);
}

/**
 * The buffers handed out over one allocation, by whichever tensor. The tensors that made one hold it; the allocation
 * only weakly.
 */
export class Views {
  readonly #allocation: Allocation;
  #handed: Handed[] = [];

  private constructor(allocation: Allocation) {
    this.#allocation = allocation;
    allocation.watch(this);
  }

  /** The views of an allocation: one object for all its tensors. */
  static of(allocation: Allocation): Views {
    return allocation.views ?? new Views(allocation);
  }

  /**
   * Hands out a new buffer over real memory: `address` is that of byte `start` of the allocation.
   *
   * @param grant whose bytes it shows, all of them
   * @param address the host address of the first of them
   * @param keeper lives as long as the buffer does
   */
  open(grant: Grant, address: bigint, use: { writable: boolean; lent: boolean }, keeper: object): ArrayBuffer {
    const { start, end } = grant;
    const buffer = permitted("to look at memory", "core", () => {
      const pointer = Deno.UnsafePointer.create(address)!;
      return Deno.UnsafePointerView.getArrayBuffer(pointer, end - start) as ArrayBuffer;
    });
    keepers.set(buffer, keeper);
    this.#handed.push({ buffer, grant, start, end, ...use });
    this.#allocation.liveViews++;
    return buffer;
  }

  /** Revokes the buffers over any byte of a range; `onlyWritable` spares those that were handed out for reading. */
  revokeRange(start: number, end: number, onlyWritable: boolean): void {
    this.#revoke((h) => h.start < end && start < h.end && (h.writable || !onlyWritable));
  }

  /** Revokes the buffers of a grant's holder and of all that borrowed from it: the plain ones, or those lent to a promise. */
  revokeWithin(grant: Grant, which: "plain" | "lent" = "plain"): void {
    this.#revoke((h) => h.lent === (which === "lent") && h.grant.isWithin(grant));
  }

  #revoke(chosen: (handed: Handed) => boolean): void {
    const kept: Handed[] = [];
    for (const handed of this.#handed) {
      if (!chosen(handed)) {
        kept.push(handed);
        continue;
      }
      this.#allocation.liveViews--;
      // Whoever detached it before us has moved the memory somewhere that we cannot reach.
      if (handed.buffer.detached) this.#allocation.markEscaped();
      else handed.buffer.transfer(0);
    }
    this.#handed = kept;
  }
}
