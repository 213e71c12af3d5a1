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
import { Tensor } from "./tensor.ts";

const checks = new Checks("core");

/** What a frame is made of. */
export interface FrameInit<P extends Tensor> extends MappedInit {
  /** What it is. */
  readonly info: FrameInfo;
  /** What is known of it; shared with what it was mapped from. */
  readonly metadata?: Metadata;
  /** Makes the planes; their resources have the frame's as owner. */
  readonly planes: (frame: Frame<P>) => readonly P[];
}

/** Where a plane lies. */
export interface PlacedPlane {
  /** An address. */
  readonly handle: Address;
  /** Where its elements lie, counted from there. */
  readonly layout: Layout;
}

/**
 * Ordered tensors (planes) that belong together, and what they are. Maps like a tensor, all planes at once. Work that is
 * declared on it is declared on each plane, and `finished()` waits for the work on all of them.
 */
export class Frame<P extends Tensor = Tensor> extends Mapped {
  /** The planes, in the order of the format. */
  readonly planes: readonly P[];
  /** Format and size. */
  readonly info: FrameInfo;
  /** What is known of it beside its bytes. */
  readonly metadata: Metadata;

  /** Takes the resource over; the planes are disposed with the frame. */
  constructor(init: FrameInit<P>) {
    super(init);
    this.info = Object.isFrozen(init.info) ? init.info : Object.freeze({ ...init.info });
    this.metadata = init.metadata ?? new Metadata();
    this.planes = Object.freeze([...init.planes(this)]);
  }

  /**
   * A frame of tensors that exist already: it takes them over.
   *
   * @throws {ArgumentError} where there is none, they are not of one kind of memory, or the metadata is none.
   * @throws {LayoutError} where they are not the planes that `info` has.
   */
  static of<P extends Tensor>(tensors: readonly P[], info: FrameInfo, metadata?: Metadata): Frame<P> {
    const checked = frameInfo(info);
    assertMetadata(metadata);
    const planes = Array.isArray(tensors) ? checks.itemsIn<P>(tensors, "planes") : [];
    if (
      planes.some((plane) => !isMade(plane, Tensor)) || planes.length === 0 ||
      planes.some((plane) => plane.target !== planes[0].target)
    ) {
      throw new ArgumentError("planes: a frame needs planes that are all of the same kind of memory.", {
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
      planes: () => planes,
      ...(parent === undefined ? {} : { parent }),
      ...(metadata === undefined ? {} : { metadata }),
    });
    for (const plane of planes) plane.joinFrame(frame);
    return frame;
  }

  /**
   * A frame of planes which all lie in the bytes that its resource holds: for those who write mappers. `make` makes the
   * tensor of a plane from the plane's own resource.
   */
  static within<P extends Tensor, L extends PlacedPlane = PlacedPlane>(
    init: Omit<FrameInit<P>, "planes">,
    planes: readonly L[],
    make: (resource: Resource, plane: L, frame: Frame<P>) => P,
  ): Frame<P> {
    const [grant] = init.resource.grants;
    const addressOf = ({ handle, layout }: PlacedPlane) => handle + BigInt(layout.byteOffset);
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

  /** The bytes it holds: its own, or its planes' where those were there before it. */
  override get grants(): readonly Grant[] {
    return this.resource.grants.length > 0 ? this.resource.grants : this.planes.flatMap((plane) => plane.grants);
  }

  /** Its planes: what is in flight on one of them is in flight on it. */
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
      const frame = Frame.of(planes, this.info, this.metadata);
      frame.resource.dependOn(this.resource);
      return frame;
    } catch (error) {
      for (const plane of planes) plane[Symbol.dispose]();
      throw error;
    }
  }

  /** What a route has to know of it. */
  protected describe(): Described {
    return new Described(this.target, this.access, this.planes.flatMap((plane) => plane.described.planes), this.info);
  }
}

/** Whoever trusts a frame's info must find the pixels there. */
function checkPlanes(planes: readonly Tensor[], info: FrameInfo): void {
  const describe = (layouts: readonly Layout[]) =>
    layouts.map((l) => `[${l.shape.join(",")}] ${l.dtype}`).join(" and ");
  const wanted = describe(planeLayouts(info));
  const given = describe(planes.map((plane) => plane.layout));
  if (given === wanted) return;
  throw new LayoutError(`planes: ${info.format} of this size is ${wanted}; got ${shown(given)}.`, {
    api: "core",
    argument: "planes",
  });
}
