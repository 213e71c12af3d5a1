import type { Address } from "../../../ffi/address.ts";
import { type Access, accessOf } from "../memory/access.ts";
import { isMade, shown } from "../argument.ts";
import { Checks } from "../checks.ts";
import { ArgumentError, LayoutError } from "../errors.ts";
import { type FrameInfo, frameInfo, planeLayouts } from "../layout/frame_info.ts";
import type { Layout } from "../layout/layout.ts";
import { Mapped, type MappedInit } from "./mapped.ts";
import { Described } from "./described.ts";
import type { Grant } from "../memory/grant.ts";
import { Resource } from "../life/resource.ts";
import { assertMetadata, Metadata } from "./metadata.ts";
import { Tensor, type TensorJson } from "./tensor.ts";

const checks = new Checks("core");

/** What a frame is made of. */
export interface FrameInit<P extends Tensor> extends MappedInit {
  /** Its description. */
  readonly info: FrameInfo;
  /** Its metadata, shared with the frame it was mapped from. */
  readonly metadata?: Metadata | undefined;
  /** The native object that it is, where it is one. */
  readonly handle?: bigint | undefined;
  /** Makes the planes; their resources have the frame's as owner. */
  readonly planes: (frame: Frame<P>) => readonly P[];
  /** True to make them when they are first asked for: then `planes` may not fail. */
  readonly later?: boolean | undefined;
}

/** A frame in JSON: what it is, without its bytes. A picture has `width` and `height`, sound has the others. */
export interface FrameJson {
  /** The kind of memory: `"host"`. */
  readonly kind: string;
  /** The format of the pixels, or the type of a sample. */
  readonly format: string;
  /** Pixels across. */
  readonly width?: number;
  /** Pixels down. */
  readonly height?: number;
  /** How many channels. */
  readonly channels?: number;
  /** Samples in each channel. */
  readonly samples?: number;
  /** Samples a second. */
  readonly sampleRate?: number;
  /** Bytes of all planes. */
  readonly byteLength: number;
  /** Its planes. */
  readonly planes: readonly TensorJson[];
}

/** A plane in memory that has addresses. */
export interface AddressedPlane {
  /** The address that its layout counts from. */
  readonly handle: Address;
  /** Where its elements lie. */
  readonly layout: Layout;
}

/**
 * The planes of an image: tensors in order, with a description. A frame maps like a tensor, all planes at once. Work
 * declared on it is declared on each plane, and `finished()` waits for the work on all of them.
 */
export class Frame<P extends Tensor = Tensor> extends Mapped {
  /** Format and size. */
  readonly info: FrameInfo;
  /** What is known of it besides its bytes. */
  readonly metadata: Metadata;
  readonly #handle: bigint | undefined;
  #planes: readonly P[] | FrameInit<P>["planes"];

  /** Takes the resource over; the planes are disposed with the frame. */
  constructor(init: FrameInit<P>) {
    super(init);
    this.info = Object.isFrozen(init.info) ? init.info : Object.freeze({ ...init.info });
    this.metadata = init.metadata ?? new Metadata();
    this.#handle = init.handle;
    this.#planes = init.planes;
    if (init.later !== true) void this.planes;
  }

  /**
   * Makes a frame of existing tensors, and takes them over.
   *
   * @param handle the native object that all of them are planes of. For backends.
   * @throws {ArgumentError} if there is no tensor, they are of several kinds of memory, or `metadata` is wrong.
   * @throws {LayoutError} if they are not the planes that `info` describes.
   */
  static of<P extends Tensor>(tensors: readonly P[], info: FrameInfo, metadata?: Metadata, handle?: bigint): Frame<P> {
    const checked = frameInfo(info);
    assertMetadata(metadata);
    const planes = Array.isArray(tensors) ? checks.itemsIn<P>(tensors, "planes") : [];
    if (
      planes.some((plane) => !isMade(plane, Tensor)) || planes.length === 0 ||
      planes.some(({ target: { kind, context } }) =>
        kind !== planes[0].target.kind || context !== planes[0].target.context
      )
    ) {
      throw new ArgumentError("planes: expected tensors that are all of the same kind of memory.", {
        api: "core",
        argument: "planes",
      });
    }
    for (const plane of planes) plane.resource.assertLive();
    checkPlanes(planes, checked);
    const name = `frame of ${planes.map((plane) => plane.name).join(", ")}`;
    const resource = new Resource({ name, parts: planes.map((plane) => plane.resource) });
    const { target, parent } = planes[0];
    const frame = new Frame<P>({
      target,
      resource,
      info: checked,
      handle,
      planes: () => planes,
      ...(parent === undefined ? {} : { parent }),
      ...(metadata === undefined ? {} : { metadata }),
    });
    for (const plane of planes) plane.joinFrame(frame);
    return frame;
  }

  /**
   * Makes a frame whose planes all lie in the bytes that its resource holds. For mappers. `make` makes
   * the tensor of a plane from the plane's own resource.
   */
  static within<P extends Tensor, L extends AddressedPlane = AddressedPlane>(
    init: Omit<FrameInit<P>, "planes">,
    planes: readonly L[],
    make: (resource: Resource, plane: L, frame: Frame<P>) => P,
  ): Frame<P> {
    const [grant] = init.resource.grants;
    const addressOf = ({ handle, layout }: AddressedPlane) => handle + BigInt(layout.byteOffset);
    const first = planes.map(addressOf).reduce((least, address) => address < least ? address : least);
    const placed = (frame: Frame<P>) =>
      planes.map((plane, i) => {
        const name = `plane ${i} of ${init.resource.name}`;
        const start = grant.start + Number(addressOf(plane) - first);
        const facet = grant.facet(start, start + plane.layout.byteLength, name);
        return make(new Resource({ name, grants: [facet], owners: [init.resource] }), plane, frame);
      });
    return new Frame<P>({ ...init, planes: placed });
  }

  /** The planes, in the order of the format. */
  get planes(): readonly P[] {
    if (typeof this.#planes !== "function") return this.#planes;
    const planes = this.#planes = Object.freeze([...this.#planes(this)]);
    Mapped.endWithWhole(planes);
    if (!this.resource.isLive) { for (const { resource } of planes) resource.dispose(); } // its end has passed them by
    return planes;
  }

  /** The bytes it holds: its own, or its planes' if they existed before it. */
  override get grants(): readonly Grant[] {
    return this.resource.grants.length > 0 ? this.resource.grants : this.planes.flatMap((plane) => plane.grants);
  }

  /**
   * The native object that all of its planes are, where it is one: a `VASurfaceID`, an `AVFrame*`. If you submit work on it
   * yourself, declare that with `usedBy`.
   *
   * @throws {DisposedError} if the frame was disposed.
   * @throws {AccessError} while its bytes are lent for writing, or on their way back.
   * @throws {ArgumentError} for a frame that is no such object.
   */
  get handle(): bigint {
    this.assertUsable(this.leastAccess);
    const { rawHandle } = this;
    if (rawHandle !== undefined) return rawHandle;
    throw new ArgumentError(`${this.name} has no handle of its own: it is not one native object.`, {
      ...{ api: "core", argument: "frame" },
      hint: "Use the handles of its planes: frame.planes[0].handle.",
    });
  }

  /** The handle without a check; undefined for a frame that is not one native object. For mappers. */
  get rawHandle(): bigint | undefined {
    if (this.#handle !== undefined) return this.#handle;
    const object = this.planes[0]?.wholeObject;
    return this.planes.every((plane) => plane.wholeObject === object) ? object : undefined;
  }

  /** Bytes of all planes, each from its first element to the end of its last. */
  get byteLength(): number {
    return this.planes.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** What it says besides its name: its size, too, and its format where the name has none. */
  protected override facts(): (string | undefined)[] {
    const { format } = this.info;
    const size = sizeInWords(this.info);
    return [this.name.includes(format) ? size : `${format} ${size}`, ...super.facts()];
  }

  /** What `JSON.stringify` makes of it: its kind of memory, format, size and planes. */
  override toJSON(): FrameJson {
    const { target: { kind }, info, byteLength, planes } = this;
    const size = info.type === "audio"
      ? { channels: info.channels, samples: info.samples, sampleRate: info.sampleRate }
      : { width: info.width, height: info.height };
    return { kind, format: info.format, ...size, byteLength, planes: planes.map((plane) => plane.toJSON()) };
  }

  /** Its planes: work in flight on one of them is in flight on the frame. */
  protected override get parts(): readonly Mapped[] {
    return this.planes;
  }

  /** Lends all planes to a child. */
  borrow(given: Access): Frame<P> {
    const access = accessOf(given, this.access);
    this.assertUsable(access);
    const planes: P[] = [];
    try {
      for (const plane of this.planes) planes.push(plane.slice(plane.layout, { access }) as P);
      const frame = Frame.of(planes, this.info, this.metadata, this.#handle);
      frame.resource.dependOn(this.resource);
      return frame;
    } catch (error) {
      for (const plane of planes) plane[Symbol.dispose]();
      throw error;
    }
  }

  /** What a route needs to know of it. */
  protected describe(): Described {
    const { target, access, info } = this;
    const parts = this.planes.map((plane) => plane.described);
    if (this.resource.grants.length === 0) return Described.scattered(target, access, parts, info);
    return new Described(target, access, parts.flatMap(({ planes }) => planes), info);
  }
}

/** `1920 × 1080`, or `2 channels of 48000 samples`. */
function sizeInWords(info: FrameInfo): string {
  if (info.type !== "audio") return `${info.width} × ${info.height}`;
  return `${info.channels} channels of ${info.samples} samples`;
}

/** The planes of a frame; of a tensor, itself. */
export function planesOf<T extends Tensor>(source: T | Frame<T>): readonly T[];
export function planesOf(source: Mapped): readonly Tensor[];
export function planesOf(source: Mapped): readonly Tensor[] {
  return source instanceof Frame ? source.planes : [source as Tensor];
}

/** Throws unless tensors, or what they are made of, are the planes that a frame's description promises. */
export function checkPlanes(planes: readonly { readonly layout: Layout }[], info: FrameInfo): void {
  const layouts = planeLayouts(info);
  if (planes.length === layouts.length && planes.every(({ layout }, i) => isLike(layout, layouts[i]))) return;
  const describe = (layouts: readonly Layout[]) =>
    layouts.map((l) => `[${l.shape.join(",")}] ${l.dtype}`).join(" and ");
  const wanted = describe(layouts);
  const given = describe(planes.map((plane) => plane.layout));
  throw new LayoutError(`planes: expected ${wanted} for ${info.format} of this size, got ${shown(given)}.`, {
    api: "core",
    argument: "planes",
  });
}

function isLike(a: Layout, b: Layout): boolean {
  return a.dtype === b.dtype && a.shape.length === b.shape.length && a.shape.every((size, i) => size === b.shape[i]);
}
