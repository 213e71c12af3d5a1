import type { Address } from "../../../ffi/address.ts";
import { type Access, accessOf } from "../memory/access.ts";
import { literal, type Names, optionsIn } from "../argument.ts";
import { LayoutError } from "../errors.ts";
import type { DType } from "../layout/dtype.ts";
import type { Grant } from "../memory/grant.ts";
import { Resource } from "../life/resource.ts";
import { describeLayout, type Layout, layout as checked, type LayoutInit } from "../layout/layout.ts";
import { Mapped, type MappedInit } from "./mapped.ts";
import { Described } from "./described.ts";

/** A tensor in JSON: what it is, without its bytes. */
export interface TensorJson {
  /** The kind of memory: `"host"`. */
  readonly kind: string;
  /** Elements along each dimension, outermost first. */
  readonly shape: readonly number[];
  /** The element type. */
  readonly dtype: DType;
  /** Bytes from the first element to the end of the last. */
  readonly byteLength: number;
}

/** What a tensor is made of. */
export interface TensorInit<H> extends MappedInit {
  /** The API's own object. */
  readonly handle: H;
  /** Where the elements lie, counted from the handle. */
  readonly layout: Layout;
}

/** A plane in memory that has addresses. */
export interface AddressedPlane {
  /** The address that its layout counts from. */
  readonly handle: Address;
  /** Where its elements lie. */
  readonly layout: Layout;
}

/** A part of a tensor that was just lent; the tensor's own API makes an object of it. */
export interface Part {
  /** Where its elements lie, counted from the same handle. */
  readonly layout: Layout;
  /** The bytes, lent. */
  readonly grant: Grant;
  /** Its name. */
  readonly name: string;
}

/** Options of {@link Tensor.slice}. */
export interface SliceOptions {
  /** How the part may be used; the tensor's own access by default. */
  readonly access?: Access;
}

const OPTIONS: Names<SliceOptions> = { access: true };

/** An n-dimensional view of one block of memory, as one API knows it. */
export abstract class Tensor<H = unknown> extends Mapped {
  /** Where the elements lie, counted from the handle. */
  readonly layout: Layout;
  readonly #handle: H;

  /** Takes the resource over. */
  constructor(init: TensorInit<H>) {
    super(init);
    this.#handle = init.handle;
    this.layout = init.layout;
  }

  /**
   * The API's own object: an address, a `cl_mem`, …. It may cover more than the tensor does (`layout.byteOffset`). If
   * you submit work on it yourself, declare that with `usedBy`.
   *
   * @throws {DisposedError} if the tensor was disposed.
   * @throws {AccessError} while its bytes are lent for writing.
   */
  get handle(): H {
    this.assertUsable(this.leastAccess);
    return this.#handle;
  }

  /** The handle without a check, for mappers: a mapper runs while the bytes are lent. */
  get rawHandle(): H {
    return this.#handle;
  }

  /** The native object that a frame of this and its other planes is, if any. For backends. */
  get wholeObject(): bigint | undefined {
    return undefined;
  }

  /** Elements along each dimension, outermost first: its layout's. */
  get shape(): readonly number[] {
    return this.layout.shape;
  }

  /** The element type: its layout's. */
  get dtype(): DType {
    return this.layout.dtype;
  }

  /** Bytes from the first element to the end of the last, padding between rows included: its layout's. */
  get byteLength(): number {
    return this.layout.byteLength;
  }

  /** The bytes it holds. */
  get grant(): Grant {
    return this.grants[0];
  }

  /**
   * Lends a part (a plane, a region) as a child. `init` counts from this tensor's handle, as `region` returns it, or is
   * an init: `{ shape, dtype, strides, byteOffset }`.
   *
   * @throws {LayoutError} if the part reaches outside of the tensor.
   * @throws {AccessError} if the bytes are lent already.
   *
   * @example
   * ```ts
   * import { host, region } from "@samepage/interop";
   *
   * using image = host.allocate({ shape: [480, 640, 4], dtype: "u8" });
   * using corner = image.slice(region(image.layout, [0, 0, 0], [16, 16, 4]));
   * corner.view().fill(255);
   * ```
   */
  slice(init: Layout | LayoutInit, options: SliceOptions = {}): Tensor<H> {
    const at = init === this.layout ? this.layout : whole(init);
    const access = accessOf(optionsIn(options, OPTIONS).access, this.access);
    const start = this.grant.start + at.byteOffset - this.layout.byteOffset;
    const end = start + at.byteLength;
    if (start < this.grant.start || end > this.grant.end) {
      throw new LayoutError(
        `init: bytes ${at.byteOffset} to ${at.byteOffset + at.byteLength} reach outside of ${this.name}, ` +
          `which has ${this.layout.byteOffset} to ${this.layout.byteOffset + this.layout.byteLength}.`,
        { api: "core", argument: "init" },
      );
    }
    this.resource.assertLive();
    this.assertReturned(this.grant.conflicts(access, start, end));
    const name = `slice ${describeLayout(at)} of ${this.name}`;
    const grant = this.grant.lend(access, start, end, name);
    let part: Tensor<H> | undefined;
    try {
      part = this.derive({ layout: at, grant, name });
      grant.revokeConflicting();
      return part;
    } catch (error) {
      if (part === undefined) grant.finish();
      else part[Symbol.dispose]();
      throw error;
    }
  }

  /** Lends all of it to a child. */
  borrow(access: Access): this {
    return this.slice(this.layout, { access }) as this;
  }

  /** Makes the tensor of a part that was lent; its resource takes the grant over. */
  protected derive(part: Part): Tensor<H> {
    return new (this.constructor as new (init: TensorInit<H>) => Tensor<H>)(this.initOf(part));
  }

  /** What the tensor of a part is made with, where it has this one's handle. */
  protected initOf({ layout, grant, name }: Part): TensorInit<H> {
    const resource = new Resource({ name, grants: [grant], owners: [this.resource] });
    return { target: this.target, handle: this.#handle, layout, resource, parent: this };
  }

  /** What `JSON.stringify` makes of it: `{ kind, shape, dtype, byteLength }`. */
  override toJSON(): TensorJson {
    const { target: { kind }, shape, dtype, byteLength } = this;
    return { kind, shape, dtype, byteLength };
  }

  /** The host address of its first element, if it has one: routes check it. */
  protected get hostAddress(): bigint | undefined {
    return undefined;
  }

  /** What a route needs to know of it. */
  protected describe(): Described {
    const { layout, hostAddress, grant: { allocation, start } } = this;
    const plane = { layout, allocation, start, ...(hostAddress === undefined ? {} : { address: hostAddress }) };
    return new Described(this.target, this.access, [plane]);
  }
}

/** Where the elements begin of memory whose handle is an address. */
export function firstElement({ handle, layout: { byteOffset } }: AddressedPlane): Address {
  return byteOffset === 0 ? handle : (handle + BigInt(byteOffset)) as Address; // bigint arithmetic is slow
}

function whole(given: Layout | LayoutInit): Layout {
  const at = checked(given);
  const { byteLength } = given as Partial<Layout>;
  if (byteLength === at.byteLength || byteLength === undefined) return at;
  throw new LayoutError(`byteLength: expected ${at.byteLength}, which the layout covers, got ${literal(byteLength)}.`, {
    api: "core",
    argument: "byteLength",
    hint: "Leave it out: { shape, dtype, strides, byteOffset }.",
  });
}
