import type { MemoryTarget } from "../contract.ts";
import type { Layout } from "../layout/layout.ts";
import { Resource } from "../life/resource.ts";
import { type Access, covers } from "../memory/access.ts";
import type { Allocation } from "../memory/allocation.ts";
import type { Grant } from "../memory/grant.ts";
import { Printed } from "../printed.ts";
import type { DescribedPlane } from "./described.ts";

/**
 * A plane of a frame: where it lies in the bytes of one of the frame's grants, what a route knows of it, and its end of life,
 * which is the frame's. It gets a resource of its own once something needs one, because most planes are only looked at, and
 * to make a resource takes longer than all else of a plane.
 */
export class PlacedPlane<H = unknown> extends Printed implements DescribedPlane {
  /** What its tensor is made with. */
  readonly handle: H;
  /** Where its elements lie, counted from the handle. */
  readonly layout: Layout;
  /** The frame's grant that it is a part of. */
  readonly grant: Grant;
  /** Where its first element lies in the allocation. */
  readonly start: number;
  /** Where it ends there. */
  readonly end: number;
  readonly #number: number;

  /** `number` is for messages. */
  constructor(handle: H, layout: Layout, grant: Grant, start: number, end: number, number: number) {
    super();
    this.handle = handle;
    this.layout = layout;
    this.grant = grant;
    this.start = start;
    this.end = end;
    this.#number = number;
  }

  /** Its name, for messages. */
  toString(): string {
    return `plane ${this.#number} of ${this.#whole.name}`;
  }

  /** The block it lies in. */
  get allocation(): Allocation {
    return this.grant.allocation;
  }

  /** The host address of its first element, if it is known without its tensor. */
  get address(): bigint | undefined {
    return (this.#whole.target as MemoryTarget).ports.addressOf?.(this);
  }

  /** How it may be used. */
  get access(): Access {
    return this.grant.access;
  }

  /** True if a use with this access conflicts with nothing: the frame is alive, and lends nothing. */
  isFree(access: Access): boolean {
    const { state, takenBy } = this.#whole;
    return state === "live" && takenBy === undefined && this.grant.lendsNothing && covers(this.grant.access, access);
  }

  /** The end of life of this plane alone. Where the frame has ended, so has it. */
  resource(): Resource {
    const whole = this.#whole;
    const name = this.toString();
    const grants = [this.grant.facet(this.start, this.end, name)];
    const resource = new Resource({ name, grants, owners: [whole] });
    if (!whole.isLive) resource.endLate(whole);
    return resource;
  }

  /** The frame's. */
  get #whole(): Resource {
    return this.grant.resource!;
  }
}

/** A plane that ends with its last element. */
export function planeAt<H>(handle: H, layout: Layout, grant: Grant, start: number, number: number): PlacedPlane<H> {
  return new PlacedPlane(handle, layout, grant, start, start + layout.byteLength, number);
}

/** The end of life of an object that may be a plane of a frame. */
export function ownResource(life: Resource | PlacedPlane): Resource {
  return life instanceof PlacedPlane ? life.resource() : life;
}
