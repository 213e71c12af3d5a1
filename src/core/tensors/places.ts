import type { Address } from "../../../ffi/address.ts";
import { type Layout, moved } from "../layout/layout.ts";
import type { Described, DescribedPlane } from "./described.ts";

export type { Address };

export interface Place {
  readonly handle: Address;
  readonly layout: Layout;
}

interface Addressed {
  readonly address: Address;
  readonly layout: Layout;
}

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
