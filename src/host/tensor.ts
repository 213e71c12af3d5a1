import type { Address } from "../../ffi/address.ts";
import { type Access, accessOf, writes } from "../core/memory/access.ts";
import { type DType, sizeOf, TYPED_ARRAYS, type TypedArrays } from "../core/layout/dtype.ts";
import { AccessError, ArgumentError, LayoutError } from "../core/errors.ts";
import { arrayLength, bufferOfArray } from "../core/intrinsics.ts";
import { type Names, optionsIn, shown } from "../core/argument.ts";
import { type Grant, PROMISE } from "../core/memory/grant.ts";
import type { Layout } from "../core/layout/layout.ts";
import { Resource } from "../core/life/resource.ts";
import { type Part, type SliceOptions, Tensor, type TensorInit } from "../core/tensors/tensor.ts";
import { TensorViews } from "../core/memory/view.ts";

/** What only some host memory can do. */
export interface HostAbilities {
  /** A new fd of the same memory. */
  readonly duplicateFd?: () => number;
  /** The JavaScript buffer that was taken over. */
  readonly taken?: ArrayBuffer;
}

/** What a host tensor is made of. */
export interface HostTensorInit extends TensorInit<Address>, HostAbilities {}

/** Options of the ways to look at a host tensor. */
export interface ViewOptions<D extends DType = DType> {
  /** What the view will be used for; the tensor's own access by default. */
  readonly access?: Access;
  /** What the tensor holds, where its type does not say: checked, and gives the array its type. */
  readonly dtype?: D;
}

const OPTIONS: Names<ViewOptions> = { access: true, dtype: true };

/** Memory that the CPU sees. Its handle is its address. */
export class HostTensor<D extends DType = DType> extends Tensor<Address> {
  readonly #abilities: HostAbilities;
  /** The layout, of this tensor's own dtype. */
  declare readonly layout: Layout<D>;
  #views: TensorViews | undefined;
  /** The arrays handed out before, each shown again while it is not revoked. */
  #released = false;
  #shown: { [A in Access]?: TypedArrays[D] } = {};

  /** Takes the resource over. */
  constructor(init: HostTensorInit) {
    super(init);
    this.#abilities = init;
  }

  /** The address of its first element. */
  get address(): Address {
    return (this.rawHandle + BigInt(this.layout.byteOffset)) as Address;
  }

  /**
   * A typed array over the real memory, from the first element to the last (padding between rows included); for
   * synchronous use: an asynchronous call gets memory through {@link lend}. It is revoked (its length becomes 0) when
   * the tensor is disposed, and when the bytes are mapped elsewhere for writing. A view for `"read"` outlives a map for
   * reading; JavaScript cannot keep you from writing into it.
   *
   * @throws {AccessError} where the bytes are lent to somebody, who is named, or work on them is in flight.
   * @throws {LayoutError} where the address is not a multiple of the element's size.
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
      throw new LayoutError(`dtype: ${this.name} does not hold ${shown(dtype)}.`, {
        api: "host",
        argument: "dtype",
        hint: `It holds ${this.layout.dtype}; bytes() shows the same memory as bytes.`,
      });
    }
    const access = accessOf(asked, this.access);
    this.#assertAtRest(access);
    let array = this.#shown[access];
    if (array === undefined || arrayLength(array) === 0) {
      array = this.#shown[access] = this.#array(this.#open(writes(access)));
    }
    return array as TypedArrays[V];
  }

  /** The same memory as bytes. @throws like {@link view}. */
  bytes(options: ViewOptions<D> = {}): Uint8Array<ArrayBuffer> {
    return new Uint8Array(bufferOfArray(this.view(options)));
  }

  /**
   * Lends the memory to an asynchronous function: it is held until the promise settles, though the tensor be disposed
   * meanwhile. What was submitted before is waited for first.
   *
   * @throws like {@link view}, and {@link ArgumentError} for what is no function, as a rejection.
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
      throw new ArgumentError(`use: ${shown(use)} is no function.`, { api: "host", fn: "lend", argument: "use" });
    }
    this.assertUsable(access);
    if (this.unfinished !== undefined) await this.finished(); // the bytes are held at once where nobody is at work
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
  override slice<E extends DType = D>(layout: Layout<E>, options: SliceOptions = {}): HostTensor<E> {
    return super.slice(layout, options) as HostTensor<E>;
  }

  /**
   * A new fd of the same memory, for another process or API; you own it. `host.allocate({ sharable: true })` has one. The
   * tensor lies at the file's beginning; one with a guard page lies `tensor.handle % 4096n` bytes into it.
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
      hint: "Allocate it with host.allocate({ sharable: true }).",
    });
  }

  /**
   * Gives the JavaScript buffer back that `host.wrap` took over, and disposes the tensor, unless it was disposed before.
   * Where a view of it had been moved away, what comes back is a copy: the memory itself is kept for good. Where the
   * dispose throws what went wrong before, call it again.
   *
   * @throws {ArgumentError} for memory that was not such a buffer.
   * @throws {AccessError} while a promise holds the memory.
   */
  release(): ArrayBuffer {
    const { taken } = this.#abilities;
    if (taken === undefined) {
      throw new ArgumentError(`${this.name} was not made of a JavaScript buffer.`, { api: "host", fn: "release" });
    }
    const { allocation } = this.grant;
    const live = this.resource.state === "live";
    if (this.resource.held || allocation.peers > Number(live)) {
      throw new AccessError(`${this.name} is held by a promise or shared with another tensor.`, {
        api: "host",
        fn: "release",
        hint: "Await the lend, and dispose the other tensor, first.",
      });
    }
    if (live) this[Symbol.dispose]();
    if (this.resource.state !== "freed" || this.#released) this.resource.assertLive();
    this.#released = true;
    // A view that nobody can be asked about any more may have been moved away, too.
    return allocation.escaped || allocation.liveViews > 0 ? taken.slice(0) : taken;
  }

  /** The same, for routes. */
  protected override get hostAddress(): bigint {
    return this.address;
  }

  /** Makes the tensor of a part that was lent. */
  protected derive(part: Part): HostTensor {
    const resource = new Resource({ name: part.name, grants: [part.grant], owners: [this.resource] });
    const { target, rawHandle: handle } = this;
    return new HostTensor({ target, handle, layout: part.layout, resource, parent: this });
  }

  #assertAtRest(access: Access): void {
    const { unfinished } = this; // first: a fence's own code may run
    this.assertUsable(access);
    this.raiseKept();
    if (unfinished !== undefined) {
      throw new AccessError(`${this.name} is used by work that is not done.`, {
        api: "host",
        hint: "Await tensor.finished() first: it waits for all work on these bytes.",
      });
    }
    const size = BigInt(sizeOf(this.layout.dtype));
    if (this.address % size !== 0n) {
      throw new LayoutError(`${this.name}: its address is not a multiple of the element's ${size} bytes.`, {
        api: "host",
        argument: "byteOffset",
      });
    }
  }

  #open(writable: boolean, lent?: Grant): ArrayBuffer {
    this.#views ??= new TensorViews(this.grant);
    return this.#views.open(this.address, writable, lent, this);
  }

  #array(buffer: ArrayBuffer): TypedArrays[D] {
    return new TYPED_ARRAYS[this.layout.dtype](buffer);
  }
}
