import { type Layout, moved } from "../../core/layout/layout.ts";
import type { Access } from "../../core/memory/access.ts";
import { Described, type DescribedPlane } from "../../core/tensors/described.ts";
import type { HostTensor } from "../../host/tensor.ts";
import type { OpenCLContext } from "../../opencl/context.ts";

/** An address of the host or of a device. */
export type Address = HostTensor["address"];

/** The place of a plane in the target. */
export interface Place {
  /** An address of its memory. */
  readonly handle: Address;
  /** The layout of the elements, from that address. */
  readonly layout: Layout;
}

/** A plane of memory with an address. */
interface Addressed {
  readonly address: Address;
  readonly layout: Layout;
}

/** The lowest address of some planes. */
export function firstAddress(planes: readonly Addressed[]): Address {
  return planes.reduce((least, { address }) => address < least ? address : least, planes[0].address);
}

/** The place of a plane in a target whose `handle` is the address `first`. */
export function placed({ address, layout }: Addressed, handle: Address, first: Address): Place {
  return { handle, layout: moved(layout, Number(address - first)) };
}

/** The planes, with layouts from their first elements. */
export function planesFromZero({ planes }: Described): readonly DescribedPlane[] {
  const [plane] = planes;
  return plane.layout.byteOffset === 0 ? planes : [{ ...plane, layout: moved(plane.layout, 0) }];
}

/** A tensor or frame in a buffer that begins at byte `start` of the allocation. */
export function inBuffer(source: Described, cl: OpenCLContext, access: Access, start: number): Described {
  const { planes, info } = source;
  if (areInPlace(planes, cl, start)) return source.as(cl, access);
  const placed = planes.map((plane) => ({ ...plane, layout: moved(plane.layout, offsetIn(cl, plane, start)) }));
  return new Described(cl, access, placed, info);
}

function areInPlace(planes: readonly DescribedPlane[], cl: OpenCLContext, start: number): boolean {
  for (const plane of planes) if (plane.layout.byteOffset !== offsetIn(cl, plane, start)) return false;
  return true;
}

function offsetIn(cl: OpenCLContext, plane: DescribedPlane, start: number): number {
  return cl.memory.offsetOf(plane.start - start);
}
