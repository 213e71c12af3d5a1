import type { Address } from "../../ffi/address.ts";
import { type Access, accessOf, writes } from "../core/memory/access.ts";
import { type DType, sizeOf, TYPED_ARRAYS, type TypedArrays } from "../core/layout/dtype.ts";
import { AccessError, ArgumentError, LayoutError } from "../core/errors.ts";
import { arrayLength, bufferOfArray } from "../core/intrinsics.ts";
import { literal, type Names, optionsIn } from "../core/argument.ts";
import { type Grant, PROMISE } from "../core/memory/grant.ts";
import { describeLayout, type Layout, layout, type LayoutInit } from "../core/layout/layout.ts";
import { copyElements } from "../core/layout/runs.ts";
import { firstElement, type SliceOptions, Tensor, type TensorInit } from "../core/tensors/tensor.ts";
import { TensorViews } from "../core/memory/view.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import type { Target } from "../core/graph/context.ts";
import { own } from "../core/memory/own.ts";

export function ownedTensor<D extends DType>(
  target: Target,
  allocation: Allocation,
  handle: Address,
  at: Layout<D>,
  access: Access,
  abilities: HostAbilities | undefined,
  keepAlive?: unknown,
): HostTensor<D> {
  const start = Number(handle - allocation.block.address!) + at.byteOffset;
  const end = start + at.byteLength;
  if (start < 0 || end > allocation.block.byteLength) {
    const { byteLength, address } = allocation.block;
    throw new ArgumentError(`memory: the range overlaps ${byteLength} bytes at 0x${address!.toString(16)} in part.`, {
      api: "host",
      fn: "wrap",
      argument: "memory",
      hint: "Wrap a range within those bytes, or dispose their tensor first.",
    });
  }
  const undo = keepAlive === undefined ? undefined : [kept(keepAlive)];
  const resource = own({ name: `host tensor ${describeLayout(at)}`, allocation, start, end, access, undo });
  return new HostTensor({ target, handle, layout: at, resource, abilities });
}

/** An undo step that keeps an object alive until it runs. */
function kept(keepAlive: unknown): () => void {
  return () => void keepAlive;
}

/** Abilities that only some host memory has. */
export interface HostAbilities {
  /** Makes a new fd of the same memory. */
  readonly duplicateFd?: () => number;
  /** The JavaScript buffer that was taken over. */
  readonly taken?: ArrayBuffer;
}

const NO_ABILITIES: HostAbilities = {};

/** The parts of a host tensor. */
export interface HostTensorInit extends TensorInit<Address> {
  /** Abilities that only this memory has. */
  readonly abilities?: HostAbilities | undefined;
}

/** Options of {@link HostTensor.view} and its relatives. */
export interface ViewOptions<D extends DType = DType> {
  /** How the view will be used; the tensor's own access by default. */
  readonly access?: Access;
  /** The tensor's dtype, if TypeScript does not know it: it is checked, and determines the array's type. */
  readonly dtype?: D;
}

const OPTIONS: Names<ViewOptions> = { access: true, dtype: true };

/** Memory of the CPU. Its handle is its address. */
export class HostTensor<D extends DType = DType> extends Tensor<Address> {
  readonly #abilities: HostAbilities;
  /** The layout, of this tensor's own dtype. */
  declare readonly layout: Layout<D>;
  #views: TensorViews | undefined;
  #released = false;
  /** Arrays that were returned before, by access. Each is returned again until it is revoked. */
  #shown: { [A in Access]?: TypedArrays[D] } | undefined;

  /** Takes over the resource. */
  constructor(init: HostTensorInit) {
    super(init);
    this.#abilities = init.abilities ?? NO_ABILITIES;
  }

  /** The element type: its layout's. */
  override get dtype(): D {
    return this.layout.dtype;
  }

  /** The address of its first element. */
  get address(): Address {
    return firstElement({ handle: this.rawHandle, layout: this.layout });
  }

  /**
   * A typed array over the memory itself, from the first element to the last, padding between rows included. Use it
   * synchronously; lend the memory to an asynchronous function with {@link lend}. The array is revoked (its length becomes 0)
   * when the tensor is disposed, and when the bytes are mapped elsewhere for writing. A view for `"read"` survives a map for
   * reading; JavaScript cannot stop you from writing to it.
   *
   * @throws {AccessError} if the bytes are lent (the message names the holder), or work on them is in flight.
   * @throws {LayoutError} if the address is not a multiple of the element's size.
   *
   * @example
   * ```ts
   * import { host } from "@samepage/interop";
   *
   * using tensor = host.allocate({ shape: [4], dtype: "f32" });
   * tensor.view().set([1, 2, 3, 4]);
   * console.log(tensor.view()[3]); // 4
   * ```
   */
  view<V extends D = D>(options: ViewOptions<V> = {}): TypedArrays[V] {
    const { access: asked, dtype = this.layout.dtype } = optionsIn(options, OPTIONS);
    if (dtype !== this.layout.dtype) {
      throw new LayoutError(`dtype: expected ${this.layout.dtype}, which ${this.name} holds, got ${literal(dtype)}.`, {
        api: "host",
        argument: "dtype",
        hint: "Use bytes() to see the same memory as bytes.",
      });
    }
    const access = accessOf(asked, this.access);
    this.#assertAtRest(access);
    const shown = this.#shown ??= {};
    let array = shown[access];
    if (array === undefined || arrayLength(array) === 0) {
      array = shown[access] = this.#array(this.#open(writes(access)));
    }
    return array as TypedArrays[V];
  }

  /** The same memory as bytes. @throws like {@link view}. */
  bytes(options: ViewOptions<D> = {}): Uint8Array<ArrayBuffer> {
    return new Uint8Array(bufferOfArray(this.view(options)));
  }

  /**
   * A copy of its elements, one after the other, without gaps between rows.
   *
   * @throws like {@link view}.
   *
   * @example
   * ```ts
   * import { host } from "@samepage/interop";
   *
   * using picture = host.allocate({ shape: [2, 3], dtype: "u8", rowAlign: 64 });
   * picture.view().fill(7);
   * console.log(picture.view().length, picture.elements()); // 67 Uint8Array(6) [ 7, 7, 7, 7, 7, 7 ]
   * ```
   */
  elements(): TypedArrays[D] {
    const { shape, dtype } = this.layout;
    const dense = layout({ shape, dtype });
    const bytes = new Uint8Array(dense.byteLength);
    copyElements(bytes, dense, this.bytes({ access: "read" }), { ...this.layout, byteOffset: 0 });
    return new TYPED_ARRAYS[dtype](bytes.buffer) as TypedArrays[D];
  }

  /**
   * Lends the memory to an asynchronous function, after earlier work on it. The memory is held until the promise settles, even
   * if the tensor is disposed in between.
   *
   * @throws like {@link view}, and an {@link ArgumentError} if `use` is not a function, as a rejection.
   *
   * @example
   * ```ts
   * import { host } from "@samepage/interop";
   *
   * await using tensor = host.allocate({ shape: [4096], dtype: "u8" });
   * await tensor.lend(async (view) => {
   *   await Promise.resolve(view.fill(1));
   * });
   * ```
   */
  async lend<R>(use: (view: TypedArrays[D]) => Promise<R> | R, options: ViewOptions = {}): Promise<R> {
    const access = accessOf(optionsIn(options, OPTIONS).access, this.access);
    if (typeof use !== "function") {
      throw new ArgumentError(`use: expected a function, got ${literal(use)}.`, {
        api: "host",
        fn: "lend",
        argument: "use",
      });
    }
    const returning = this.stillReturning(this.usable(access));
    // Without work in flight, the bytes are held at once.
    if (returning.length > 0 || this.unfinished !== undefined) await this.finished();
    this.#assertAtRest(access);
    const grant = this.grant.lend(access, this.grant.start, this.grant.end, `${PROMISE} of ${this.name}`);
    const letGo = this.resource.hold();
    try {
      grant.revokeConflicting();
      return await use(this.#array(this.#open(writes(access), grant)));
    } finally {
      try {
        this.#views?.revokeLent(grant);
      } finally {
        grant.finish();
        letGo();
      }
    }
  }

  /** Lends a part as a child. @see {@link Tensor.slice} */
  override slice<E extends DType = D>(init: Layout<E> | LayoutInit<E>, options: SliceOptions = {}): HostTensor<E> {
    return super.slice(init, options) as HostTensor<E>;
  }

  /**
   * A new fd of the same memory, for another process or API. You own it. The memory has to come from
   * `host.allocate({ sharable: true })`. The tensor lies at the file's beginning; with a guard page, at the offset
   * `tensor.handle % 4096n`.
   *
   * @throws {ArgumentError} for memory that was not allocated as sharable.
   */
  exportFd(): number {
    this.assertUsable(this.leastAccess);
    const { duplicateFd } = this.#abilities;
    if (duplicateFd !== undefined) return duplicateFd();
    throw new ArgumentError(`${this.name} has no fd.`, {
      api: "host",
      fn: "exportFd",
      hint:
        "Call it on what host.allocate({ sharable: true }) returned, and not on a part of it: a channel sends parts.",
    });
  }

  /**
   * Returns the JavaScript buffer that `host.wrap` took over, and disposes the tensor if it is alive. If a view of it was
   * transferred, this returns a copy, and the memory itself is kept for good. If the dispose throws an earlier failure, call
   * this again.
   *
   * @throws {ArgumentError} if the memory was not such a buffer.
   * @throws {AccessError} while a promise holds the memory.
   */
  release(): ArrayBuffer {
    const { taken } = this.#abilities;
    if (taken === undefined) {
      throw new ArgumentError(`${this.name} was not made from a JavaScript buffer.`, { api: "host", fn: "release" });
    }
    const { allocation } = this.grant;
    this.resource.settleIfOver(); // an earlier release() that threw may only now be able to end
    const live = this.resource.state === "live";
    if (this.resource.held || allocation.peers > Number(live)) {
      throw new AccessError(`${this.name} is held by a promise or shared with another tensor.`, {
        api: "host",
        fn: "release",
        hint: "Await the lend and dispose the other tensor first.",
      });
    }
    if (live) this[Symbol.dispose]();
    if (this.resource.state !== "freed" || this.#released) this.resource.assertLive();
    this.#released = true;
    // A view that was collected may have been transferred before.
    return allocation.escaped || allocation.liveViews > 0 ? taken.slice(0) : taken;
  }

  /** For routes. */
  protected override get hostAddress(): bigint {
    return this.address;
  }

  #assertAtRest(access: Access): void {
    const { unfinished } = this;
    this.assertUsable(access);
    this.raiseKept();
    if (unfinished !== undefined) {
      throw new AccessError(`${this.name} is used by work that has not finished.`, {
        api: "host",
        hint: "Await tensor.finished() first: it waits for all work on these bytes.",
      });
    }
  }

  #open(writable: boolean, lent?: Grant): ArrayBuffer {
    const { address } = this;
    const size = sizeOf(this.layout.dtype);
    if (size > 1 && address % BigInt(size) !== 0n) {
      throw new LayoutError(`${this.name}: its address is not a multiple of the element's ${size} bytes.`, {
        api: "host",
        argument: "byteOffset",
      });
    }
    this.#views ??= new TensorViews(this.grant);
    return this.#views.open(address, writable, lent, this);
  }

  #array(buffer: ArrayBuffer): TypedArrays[D] {
    return new TYPED_ARRAYS[this.layout.dtype](buffer);
  }
}
