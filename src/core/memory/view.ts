import { AccessError, messageOf } from "../errors.ts";
import type { Grant } from "./grant.ts";
import { isDetached, transfer } from "../intrinsics.ts";
import { added } from "../life/undo.ts";
import { permitted } from "../native/library.ts";
import { type Placed, Ranges } from "./ranges.ts";

interface Handed {
  readonly buffer: ArrayBuffer;
  readonly writable: boolean;
  /** Its lend to a promise, if it has one. It stays until the promise settles, even if its tensor is disposed. */
  readonly lent: Grant | undefined;
}

/**
 * Its constructor returns the object that it is given, so that a class derived from it adds a private field to that. The
 * field lives as long as the object: a WeakMap takes longer, and longer still to collect.
 */
export const Given = function (object: object) {
  return object;
} as unknown as new (object: object) => object;

const NONE: readonly Handed[] = [];

/** A buffer that keeps its tensor alive. */
class Keeper extends Given {
  readonly #keeper: object;

  constructor(buffer: ArrayBuffer, keeper: object) {
    super(buffer);
    this.#keeper = keeper;
  }

  static owns(buffer: object): boolean {
    return #keeper in buffer;
  }
}

/** True for a buffer that samepage handed out, revoked or not. */
export function isOurs(buffer: ArrayBufferLike): boolean {
  return Keeper.owns(buffer);
}

/** Those with a live buffer that was handed out since the last garbage collection. */
const fresh = new Set<TensorViews>();

/** Reports a garbage collection, by an unreachable object that is registered here. */
const collections = new FinalizationRegistry<undefined>(settleFresh);

let awaited = false;

/** The buffers that a tensor has handed out. They keep it alive, so it alone may hold them for good. */
export class TensorViews {
  readonly #grant: Grant;
  readonly #all: Views;
  #handed: Handed[] | undefined;

  /** The buffers of the tensor with this grant; none yet. */
  constructor(grant: Grant) {
    this.#grant = grant;
    this.#all = grant.allocation.views ??= new Views();
  }

  /**
   * Hands out a new buffer over all bytes of the tensor's grant.
   *
   * @param address the host address of the first byte
   * @param lent the lend to a promise, if the buffer is for one
   * @param keeper lives as long as the buffer does
   */
  open(address: bigint, writable: boolean, lent: Grant | undefined, keeper: object): ArrayBuffer {
    const { start, end, allocation } = this.#grant;
    const buffer = permitted("to look at memory", "core", () => {
      const pointer = Deno.UnsafePointer.create(address)!;
      return Deno.UnsafePointerView.getArrayBuffer(pointer, end - start) as ArrayBuffer;
    });
    new Keeper(buffer, keeper);
    if (this.#handed === undefined) this.#all.add(this.#grant, this);
    this.#handed = added(this.#handed, { buffer, writable, lent });
    allocation.liveViews++;
    return buffer;
  }

  /** Revokes the buffers of a lend to a promise. @throws {AccessError} if one cannot be detached. */
  revokeLent(lent: Grant): void {
    throwRefused(this.revoke((_, to) => to === lent));
  }

  /** Revokes the chosen buffers; returns the last error of those that cannot be revoked. For {@link Views}. */
  revoke(chosen: (writable: boolean, lent: Grant | undefined) => boolean): unknown {
    const { allocation } = this.#grant;
    let kept: Handed[] | undefined;
    let refused: unknown;
    for (const handed of this.#handed ?? NONE) {
      if (!chosen(handed.writable, handed.lent)) {
        kept = added(kept, handed);
        continue;
      }
      try {
        // A buffer that is already detached was moved away: it can no longer be revoked.
        if (isDetached(handed.buffer)) allocation.markEscaped("was moved away with transfer() or postMessage");
        else transfer(handed.buffer, 0);
        allocation.liveViews--;
      } catch (error) {
        allocation.markEscaped("cannot be detached");
        kept = added(kept, handed);
        refused = error;
      }
    }
    this.#handed = kept;
    if (kept === undefined) this.#all.remove(this.#grant, this);
    return refused;
  }

  /** Lets the tensor be collected, even if others of its allocation live. */
  settle(): void {
    this.#all.weaken(this.#grant, this);
  }
}

/** A tensor's buffers among those over its allocation. */
export interface Shown {
  views: TensorViews | WeakRef<TensorViews>;
  readonly place: Placed<Shown>;
}

/**
 * The buffers over one allocation; a tensor's own are found by its grant. It holds them strongly until the next garbage
 * collection, and weakly from then on: most are gone by then, and a WeakRef costs more than the rest of a view.
 */
export class Views {
  readonly #byRange = new Ranges<Shown>();

  /** A tensor has handed out its first buffer. */
  add(grant: Grant, views: TensorViews): void {
    const shown = { views } as { views: TensorViews; place: Placed<Shown> };
    shown.place = this.#byRange.add(shown, grant.start, grant.end, false);
    grant.shown = shown;
    fresh.add(views);
    if (awaited) return;
    awaited = true;
    collections.register({}, undefined);
  }

  /** The tensor has no buffer left. */
  remove(grant: Grant, views: TensorViews): void {
    this.#forget(grant);
    fresh.delete(views);
  }

  /** Holds the tensor's buffers weakly from now on. */
  weaken(grant: Grant, views: TensorViews): void {
    grant.shown!.views = new WeakRef(views);
  }

  /**
   * Revokes the buffers over any byte of a range; `onlyWritable` spares the read-only ones.
   *
   * @throws {AccessError} if one cannot be detached; all others were.
   */
  revokeRange(start: number, end: number, onlyWritable: boolean): void {
    let chosen: Shown[] | undefined;
    this.#byRange.some(start, end, "all", (one) => {
      chosen = added(chosen, one); // revoking one changes the tree
      return false;
    });
    if (chosen === undefined) return;
    let refused: unknown;
    for (const { views } of chosen) refused = held(views)?.revoke((writable) => writable || !onlyWritable) ?? refused;
    throwRefused(refused);
  }

  /**
   * Revokes the buffers of the tensor with this grant, except those lent to a promise.
   *
   * @throws {AccessError} if one cannot be detached; all others were.
   */
  revokeOf(grant: Grant): void {
    if (grant.shown === undefined) return;
    const there = held(grant.shown.views);
    if (there !== undefined) return throwRefused(there.revoke((_, lent) => lent === undefined));
    this.#forget(grant); // collected, and its buffers with it, unless they were moved away
    grant.allocation.unseen = true;
  }

  #forget(grant: Grant): void {
    if (grant.shown !== undefined) this.#byRange.delete(grant.shown.place);
    grant.shown = undefined;
  }
}

function held(views: TensorViews | WeakRef<TensorViews>): TensorViews | undefined {
  return views instanceof TensorViews ? views : views.deref();
}

function settleFresh(): void {
  awaited = false;
  for (const views of fresh) views.settle();
  fresh.clear();
}

function throwRefused(refused: unknown): void {
  if (refused === undefined) return;
  throw new AccessError(`A view of these bytes cannot be taken away (${messageOf(refused)}).`, {
    api: "core",
    cause: refused,
    hint: "Do not mark the buffers of views as untransferable.",
  });
}
