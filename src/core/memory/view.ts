import { AccessError, messageOf } from "../errors.ts";
import type { Grant } from "./grant.ts";
import { isDetached, transfer } from "../intrinsics.ts";
import { permitted } from "../native/library.ts";
import { type Placed, Ranges } from "./ranges.ts";

/** A buffer that was handed out. */
interface Handed {
  readonly buffer: ArrayBuffer;
  readonly writable: boolean;
  /** What lent it to a promise: it stays until that settles, though its tensor is disposed. */
  readonly lent: Grant | undefined;
}

/** A view keeps alive whatever its memory hangs on: buffer → tensor. */
const keepers = new WeakMap<ArrayBuffer, object>();

/** True for a buffer that samepage handed out, revoked or not. */
export function isOurs(buffer: ArrayBufferLike): boolean {
  return keepers.has(buffer as ArrayBuffer);
}

/** Those that have handed out a buffer since garbage was collected last, and still have one. */
const fresh = new Set<TensorViews>();

/** Tells that garbage was collected: an object that nobody has was registered here. */
const collections = new FinalizationRegistry<undefined>(settleFresh);

/** Is there such an object? */
let awaited = false;

/**
 * The buffers that one tensor has handed out. The tensor holds it, and nothing else does for good: a buffer keeps its
 * tensor alive, so whatever holds the buffers of a tensor holds the tensor. For those who write mappers.
 */
export class TensorViews {
  readonly #grant: Grant;
  readonly #all: Views;
  #handed: Handed[] = [];

  /** None yet, of the tensor that has this grant. */
  constructor(grant: Grant) {
    this.#grant = grant;
    this.#all = grant.allocation.views ??= new Views();
  }

  /**
   * Hands out a new buffer over real memory, which shows all bytes of the tensor's grant.
   *
   * @param address the host address of the first of them
   * @param lent what lent them to a promise, if that is what it is for
   * @param keeper lives as long as the buffer does
   */
  open(address: bigint, writable: boolean, lent: Grant | undefined, keeper: object): ArrayBuffer {
    const { start, end, allocation } = this.#grant;
    const buffer = permitted("to look at memory", "core", () => {
      const pointer = Deno.UnsafePointer.create(address)!;
      return Deno.UnsafePointerView.getArrayBuffer(pointer, end - start) as ArrayBuffer;
    });
    keepers.set(buffer, keeper);
    if (this.#handed.push({ buffer, writable, lent }) === 1) this.#all.add(this.#grant, this);
    allocation.liveViews++;
    return buffer;
  }

  /** Revokes what was lent to a promise. @throws {AccessError} where it cannot be detached. */
  revokeLent(lent: Grant): void {
    throwRefused(this.revoke((_, to) => to === lent));
  }

  /** Revokes some of them; answers why the last of those cannot be that were not. For {@link Views}. */
  revoke(chosen: (writable: boolean, lent: Grant | undefined) => boolean): unknown {
    const { allocation } = this.#grant;
    const kept: Handed[] = [];
    let refused: unknown;
    for (const handed of this.#handed) {
      if (!chosen(handed.writable, handed.lent)) {
        kept.push(handed);
        continue;
      }
      try {
        // Whoever detached it before us has moved the memory somewhere that we cannot reach.
        if (isDetached(handed.buffer)) allocation.markEscaped("was moved away with transfer() or postMessage");
        else transfer(handed.buffer, 0);
        allocation.liveViews--;
      } catch (error) {
        allocation.markEscaped("cannot be detached");
        kept.push(handed);
        refused = error;
      }
    }
    this.#handed = kept;
    if (kept.length === 0) this.#all.remove(this.#grant, this);
    return refused;
  }

  /** From here on the tensor is collected once it is forgotten, though others of its allocation live. */
  settle(): void {
    this.#all.weaken(this.#grant, this);
  }
}

/** What a tensor has handed out, as its allocation knows it. */
interface Entry {
  views: TensorViews | WeakRef<TensorViews>;
  readonly place: Placed<Entry>;
}

/**
 * The buffers handed out over one allocation, by the grants of its tensors. It holds what the tensors handed out strongly
 * until garbage is collected, and weakly from then on: most views are gone by then, and a WeakRef costs more than all else
 * that a view is made of. For those who write mappers.
 */
export class Views {
  readonly #byGrant = new Map<Grant, Entry>();
  readonly #byRange = new Ranges<Entry>();

  /** A tensor has handed out its first buffer. */
  add(grant: Grant, views: TensorViews): void {
    const entry = { views } as { views: TensorViews; place: Placed<Entry> };
    entry.place = this.#byRange.add(entry, grant.start, grant.end, false);
    this.#byGrant.set(grant, entry);
    fresh.add(views);
    if (awaited) return;
    awaited = true;
    collections.register({}, undefined);
  }

  /** It has none left. */
  remove(grant: Grant, views: TensorViews): void {
    this.#forget(grant);
    fresh.delete(views);
  }

  /** Holds it weakly from here on. */
  weaken(grant: Grant, views: TensorViews): void {
    this.#byGrant.get(grant)!.views = new WeakRef(views);
  }

  /**
   * Revokes the buffers over any byte of a range; `onlyWritable` spares those that were handed out for reading.
   *
   * @throws {AccessError} where one cannot be detached; all others were.
   */
  revokeRange(start: number, end: number, onlyWritable: boolean): void {
    const chosen: Entry[] = [];
    this.#byRange.some(start, end, "all", (entry) => {
      chosen.push(entry); // revoking one changes the tree
      return false;
    });
    let refused: unknown;
    for (const { views } of chosen) refused = held(views)?.revoke((writable) => writable || !onlyWritable) ?? refused;
    throwRefused(refused);
  }

  /**
   * Revokes the buffers of the tensor that has this grant, but for those lent to a promise.
   *
   * @throws {AccessError} where one cannot be detached; all others were.
   */
  revokeOf(grant: Grant): void {
    const entry = this.#byGrant.get(grant);
    if (entry === undefined) return;
    const there = held(entry.views);
    if (there === undefined) this.#forget(grant); // collected, and its buffers with it
    else throwRefused(there.revoke((_, lent) => lent === undefined));
  }

  #forget(grant: Grant): void {
    const entry = this.#byGrant.get(grant);
    if (entry === undefined) return;
    this.#byGrant.delete(grant);
    this.#byRange.delete(entry.place);
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
