import { type Access, accessOf } from "../memory/access.ts";
import { isMade, shown, unexpected } from "../argument.ts";
import { Checks } from "../checks.ts";
import { ArgumentError, LayoutError } from "../errors.ts";
import {
  type FrameInfo,
  frameInfo,
  frameInWords,
  type MediaFacts,
  planeLayouts,
  withMoment,
} from "../layout/frame_info.ts";
import type { Layout } from "../layout/layout.ts";
import { Mapped, type MappedInit } from "./mapped.ts";
import type { MemoryTarget } from "../contract.ts";
import { Described, type PlacedPlane, planeAt } from "./described.ts";
import type { Grant } from "../memory/grant.ts";
import { Resource } from "../life/resource.ts";
import { assertMetadata, Metadata, type Region, regionsOf } from "./metadata.ts";
import { type AddressedPlane, firstElement, Tensor, type TensorJson } from "./tensor.ts";

const checks = new Checks("core");

/** What a frame is made of. */
export interface FrameInit<P extends Tensor> extends MappedInit {
  /** Its end of life, and that of its planes. */
  readonly resource: Resource;
  /** Its description; left out, that of the frame it was mapped from. */
  readonly info?: FrameInfo | undefined;
  /** The facts that its description has besides, of this frame of a stream alone. */
  readonly moment?: MediaFacts | undefined;
  /** Its metadata, or what makes it once it is asked for; left out, that of the frame it was mapped from. */
  readonly metadata?: Metadata | (() => Metadata) | undefined;
  /** The native object that it is, where it is one. */
  readonly handle?: bigint | undefined;
  /** Where the planes lie, for `ports.tensor`; or what makes them: their resources have the frame's as owner. */
  readonly planes: readonly PlacedPlane[] | ((frame: Frame<P>) => readonly P[]);
}

/** A frame in JSON: what it is, without its bytes. A picture has `width` and `height`, a table `rows`, sound the others. */
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
  /** Rows of a table. */
  readonly rows?: number;
  /** Bytes of all planes. */
  readonly byteLength: number;
  /** Its planes. */
  readonly planes: readonly TensorJson[];
}

/**
 * The planes of an image: tensors in order, with a description. A frame maps like a tensor, all planes at once. Work
 * declared on it is declared on each plane, and `finished()` waits for the work on all of them.
 */
export class Frame<P extends Tensor = Tensor> extends Mapped {
  readonly #handle: bigint | undefined;
  /** Its description, but for the moment. */
  readonly #kind: FrameInfo | undefined;
  readonly #moment: MediaFacts | undefined;
  #info: FrameInfo | undefined;
  #metadata: Metadata | (() => Metadata) | undefined;
  #planes: readonly P[] = NO_PLANES;
  /** Where they lie, where that is known without them. */
  readonly #placed: readonly PlacedPlane[] | undefined;

  /** Takes the resource over; the planes are disposed with the frame. */
  constructor(init: FrameInit<P>) {
    super(init);
    const { info, planes } = init;
    // Object.isFrozen() is a call into V8, which the description that was checked last is spared.
    this.#kind = info === undefined || info === last.info || Object.isFrozen(info) ? info : Object.freeze({ ...info });
    this.#moment = init.moment;
    this.#metadata = init.metadata;
    this.#handle = init.handle;
    if (typeof planes === "function") {
      this.#planes = Object.freeze([...planes(this)]);
      Mapped.endWithWhole(this.#planes);
    } else if ((init.target as MemoryTarget).ports.addressOf === undefined) this.#planes = this.#planesAt(planes);
    else this.#placed = planes; // no closure: V8 keeps the objects of a constructor that makes some for long
  }

  /** Format and size. */
  get info(): FrameInfo {
    return this.#info ??= this.#kind === undefined ? (this.parent as Frame).info : withMoment(this.#kind, this.#moment);
  }

  /** What a route has to know of its description. */
  get #described(): FrameInfo {
    return this.#kind ?? (this.parent as Frame).#described;
  }

  /** What is known of it besides its bytes. It is shared with the frame that it was mapped from. */
  get metadata(): Metadata {
    const made = typeof this.#metadata === "function" ? this.#metadata() : this.#metadata;
    return this.#metadata = made ?? (this.parent instanceof Frame ? this.parent.metadata : new Metadata());
  }

  /** The same, or undefined where it is still to be made, so that no one has changed it. For mappers. */
  get metadataIfMade(): Metadata | undefined {
    return typeof this.#metadata === "function" ? undefined : this.metadata;
  }

  /**
   * Makes a frame of existing tensors, and takes them over.
   *
   * @param handle the native object that all of them are planes of. For backends.
   * @throws {ArgumentError} if there is no tensor, they are of several kinds of memory, or `metadata` is wrong.
   * @throws {LayoutError} if they are not the planes that `info` describes.
   */
  static of<P extends Tensor>(planes: readonly P[], info: FrameInfo, metadata?: Metadata, handle?: bigint): Frame<P> {
    const checked = frameInfo(info);
    assertMetadata(metadata);
    if (handle !== undefined && typeof handle !== "bigint") throw unexpected("handle", "a bigint", handle);
    const all = Array.isArray(planes) ? checks.itemsIn<P>(planes, "planes") : [];
    if (
      all.some((plane) => !isMade(plane, Tensor)) || all.length === 0 ||
      all.some(({ target: { kind, context } }) => kind !== all[0].target.kind || context !== all[0].target.context)
    ) {
      throw new ArgumentError("planes: expected tensors that are all of the same kind of memory.", {
        api: "core",
        argument: "planes",
      });
    }
    for (const plane of all) plane.resource.assertLive();
    checkPlanes(all, checked);
    const name = `${all[0].target.kind} frame ${frameInWords(checked)}`;
    const resource = new Resource({ name, parts: all.map((plane) => plane.resource) });
    const { target, parent } = all[0];
    const frame = new Frame<P>({
      target,
      resource,
      info: checked,
      handle,
      planes: () => all,
      ...(parent === undefined ? {} : { parent }),
      ...(metadata === undefined ? {} : { metadata }),
    });
    for (const plane of all) plane.joinFrame(frame);
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
    const first = planes.map(firstElement).reduce((least, address) => address < least ? address : least);
    const placed = (frame: Frame<P>) =>
      planes.map((plane, i) => {
        const start = grant.start + Number(firstElement(plane) - first);
        return make(planeAt(plane.handle, plane.layout, grant, start, i).resource(), plane, frame);
      });
    return new Frame<P>({ ...init, planes: placed });
  }

  /** The planes, in the order of the format. */
  get planes(): readonly P[] {
    if (this.#planes === NO_PLANES && this.#placed !== undefined) this.#planes = this.#planesAt(this.#placed);
    return this.#planes;
  }

  #planesAt(placed: readonly PlacedPlane[]): readonly P[] {
    const target = this.target as MemoryTarget<P>;
    const planes = new Array<P>(placed.length);
    for (let i = 0; i < planes.length; i++) {
      const { handle, layout } = placed[i];
      planes[i] = target.ports.tensor!({ target, handle, layout, resource: placed[i], parent: this });
    }
    return Object.freeze(planes);
  }

  /** The bytes it holds: its own, or its planes' if they existed before it. */
  override get grants(): readonly Grant[] {
    return this.resource.grants.length > 0 ? this.resource.grants : this.planes.flatMap((plane) => plane.grants);
  }

  /** Like that of tensors; what it is made of may have ended by itself. For mappers. */
  override usable(access: Access): readonly Grant[] {
    this.resource.assertWhole();
    return super.usable(access);
  }

  /**
   * The native object that all of its planes are, where it is one: a `VASurfaceID`, an `AVFrame*`. If you submit work on it
   * yourself, declare that with `usedBy`.
   *
   * @throws {DisposedError} if the frame was disposed.
   * @throws {AccessError} while its bytes are lent for writing, or on their way back.
   * @throws {ArgumentError} for a frame that is not such an object.
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

  /** The detections in its metadata, in pixels, each with what else the metadata says of that object. Sound has none. */
  get regions(): readonly Region[] {
    return regionsOf(this.info, this.metadata);
  }

  /** Bytes of all planes, each from its first element to the end of its last. */
  get byteLength(): number {
    return this.planes.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** What it prints besides its name: its format and its size, where the name has none. */
  protected override facts(): (string | undefined)[] {
    const words = frameInWords(this.info);
    return [this.name.includes(words) ? undefined : words, ...super.facts()];
  }

  /** What `JSON.stringify` makes of it: its kind of memory, format, size and planes. */
  override toJSON(): FrameJson {
    const { target: { kind }, info, byteLength, planes } = this;
    return { kind, format: info.format, ...sizeOf(info), byteLength, planes: planes.map((plane) => plane.toJSON()) };
  }

  /** Its planes: work in flight on one of them is in flight on the frame. A plane that was never made has no work. */
  protected override get parts(): readonly Mapped[] {
    return this.#planes;
  }

  /** Lends all planes to a child, which may be described otherwise: of another time, with metadata of its own. */
  borrow(access: Access, info: FrameInfo = this.info, metadata: Metadata = this.metadata): Frame<P> {
    const asked = accessOf(access, this.access);
    this.assertUsable(asked);
    const planes: P[] = [];
    try {
      for (const plane of this.planes) planes.push(plane.slice(plane.layout, { access: asked }) as P);
      const frame = Frame.of(planes, info, metadata, this.#handle);
      frame.resource.dependOn(this.resource);
      return frame;
    } catch (error) {
      for (const plane of planes) plane[Symbol.dispose]();
      throw error;
    }
  }

  /** What a route needs to know of it. */
  protected describe(): Described {
    const { target, access } = this;
    const info = this.#described;
    if (this.#placed !== undefined) return new Described(target, access, this.#placed, info);
    const parts = this.planes.map((plane) => plane.described);
    if (this.resource.grants.length === 0) return Described.scattered(target, access, parts, info);
    return new Described(target, access, parts.flatMap(({ planes }) => planes), info);
  }
}

const NO_PLANES: readonly never[] = [];

function sizeOf(info: FrameInfo): Partial<FrameJson> {
  if (info.type === "audio") return { channels: info.channels, samples: info.samples, sampleRate: info.sampleRate };
  if (info.type === "table") return { rows: info.rows };
  return { width: info.width, height: info.height };
}

/** The planes of a frame, or the tensor itself. */
export function planesOf<T extends Tensor>(source: T | Frame<T>): readonly T[];
export function planesOf(source: Mapped): readonly Tensor[];
export function planesOf(source: Mapped): readonly Tensor[] {
  return source instanceof Frame ? source.planes : [source as Tensor];
}

/** Throws unless tensors, or what they are made of, are the planes that a frame's description promises. */
export function checkPlanes(planes: readonly { readonly layout: Layout }[], info: FrameInfo): void {
  if (info !== last.info || !areThose(planes, last.layouts)) checkNewPlanes(planes, info);
}

function checkNewPlanes(planes: readonly { readonly layout: Layout }[], info: FrameInfo): void {
  const layouts = planeLayouts(info);
  let areLike = planes.length === layouts.length;
  for (let i = 0; areLike && i < planes.length; i++) areLike = isLike(planes[i].layout, layouts[i]);
  if (areLike) {
    if (Object.isFrozen(info)) last = { info, layouts: planes.map(({ layout }) => layout) };
    return;
  }
  const describe = (layouts: readonly Layout[]) =>
    layouts.map((l) => `[${l.shape.join(",")}] ${l.dtype}`).join(" and ");
  const wanted = describe(layouts);
  const given = describe(planes.map((plane) => plane.layout));
  throw new LayoutError(`planes: expected ${wanted} for ${frameInWords(info)}, got ${shown(given)}.`, {
    api: "core",
    argument: "planes",
  });
}

/** What was checked last: the frames of a stream have the same description and the same layouts. */
let last: { readonly info: FrameInfo | undefined; readonly layouts: readonly Layout[] } = {
  info: undefined,
  layouts: [],
};

function areThose(planes: readonly { readonly layout: Layout }[], layouts: readonly Layout[]): boolean {
  if (planes.length !== layouts.length) return false;
  for (let i = 0; i < planes.length; i++) if (planes[i].layout !== layouts[i]) return false;
  return true;
}

function isLike(a: Layout, b: Layout): boolean {
  if (a.dtype !== b.dtype || a.shape.length !== b.shape.length) return false;
  for (let i = 0; i < a.shape.length; i++) if (a.shape[i] !== b.shape[i]) return false; // `every` takes a closure
  return true;
}
