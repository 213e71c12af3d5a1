import type { Allocation } from "./allocation.ts";
import { AccessError, messageOf } from "../errors.ts";
import type { Grant } from "./grant.ts";
import { isDetached, transfer } from "../intrinsics.ts";
import { permitted } from "../native/library.ts";
import { type Placed, Ranges } from "./ranges.ts";

/** A buffer that was handed out, and what it shows. */
interface Handed {
  readonly buffer: ArrayBuffer;
  readonly grant: Grant;
  /** Lent to a promise: it stays until that settles, though its tensor is disposed. */
  readonly lent: boolean;
  /** Where it lies among the others. */
  place?: Placed<Handed>;
}

/** A view keeps alive whatever its memory hangs on: buffer → tensor. */
const keepers = new WeakMap<ArrayBuffer, object>();

/** True for a buffer that samepage handed out, revoked or not. */
export function isOurs(buffer: ArrayBufferLike): boolean {
  return keepers.has(buffer as ArrayBuffer);
}

/**
 * The buffers handed out over one allocation, by whichever tensor. The tensors that made one hold it; the allocation
 * only weakly. For those who write mappers.
 */
export class Views {
  readonly #allocation: Allocation;
  readonly #handed = new Ranges<Handed>();

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
    const handed: Handed = { buffer, grant, lent: use.lent };
    handed.place = this.#handed.add(handed, start, end, use.writable);
    this.#allocation.liveViews++;
    return buffer;
  }

  /**
   * Revokes the buffers over any byte of a range; `onlyWritable` spares those that were handed out for reading.
   *
   * @throws {AccessError} where one cannot be detached; all others were.
   */
  revokeRange(start: number, end: number, onlyWritable: boolean): void {
    this.#revoke(start, end, onlyWritable, () => true);
  }

  /**
   * Revokes the buffers of a grant's holder and of all that borrowed from it: the plain ones, or those lent to a promise.
   *
   * @throws {AccessError} where one cannot be detached; all others were.
   */
  revokeWithin(grant: Grant, which: "plain" | "lent" = "plain"): void {
    // A grant's range covers those of all that borrowed from it.
    this.#revoke(grant.start, grant.end, false, (h) => h.lent === (which === "lent") && h.grant.isWithin(grant));
  }

  #revoke(start: number, end: number, onlyWritable: boolean, isMeant: (handed: Handed) => boolean): void {
    const chosen: Handed[] = [];
    this.#handed.some(start, end, onlyWritable ? "writers" : "all", (handed) => {
      if (isMeant(handed)) chosen.push(handed);
      return false;
    });
    let failed: unknown;
    for (const handed of chosen) {
      try {
        // Whoever detached it before us has moved the memory somewhere that we cannot reach.
        if (isDetached(handed.buffer)) this.#allocation.markEscaped("was moved away with transfer() or postMessage");
        else transfer(handed.buffer, 0);
        this.#allocation.liveViews--;
        this.#handed.delete(handed.place!);
      } catch (error) {
        this.#allocation.markEscaped("cannot be detached");
        failed = error;
      }
    }
    if (failed === undefined) return;
    throw new AccessError(`A view of these bytes cannot be taken away (${messageOf(failed)}).`, {
      api: "core",
      cause: failed,
      hint: "Do not mark the buffers of views as untransferable.",
    });
  }
}
