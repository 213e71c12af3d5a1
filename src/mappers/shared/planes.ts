import { type Layout, moved } from "../../core/layout/layout.ts";
import type { Access } from "../../core/memory/access.ts";
import { Described, type DescribedPlane } from "../../core/tensors/described.ts";
import { Frame } from "../../core/tensors/frame.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import type { HostTensor } from "../../host/tensor.ts";
import type { OpenCLContext } from "../../opencl/context.ts";

/** An address, of the host's or of a device's. */
export type Address = HostTensor["address"];

/** Where the target has a plane. */
export interface Place {
  /** An address of its memory. */
  readonly handle: Address;
  /** Where the elements lie, counted from there. */
  readonly layout: Layout;
}

/** A plane of memory that goes by its address. */
interface Addressed {
  readonly address: Address;
  readonly layout: Layout;
}

/** The planes of a tensor or frame. */
export function planesOf<T extends Tensor>(source: T | Frame<T>): readonly T[] {
  return source instanceof Frame ? source.planes : [source];
}

/** The lowest address of some planes. */
export function firstAddress(planes: readonly Addressed[]): Address {
  return planes.reduce((least, { address }) => address < least ? address : least, planes[0].address);
}

/** Where the target has a plane, if it has at `handle` what lies at the address `first`. */
export function placed({ address, layout }: Addressed, handle: Address, first: Address): Place {
  return { handle, layout: moved(layout, Number(address - first)) };
}

/** The plane of a tensor, its layout counted from its first element: those of most are already. */
export function planesFromZero({ planes }: Described): readonly DescribedPlane[] {
  const [plane] = planes;
  return plane.layout.byteOffset === 0 ? planes : [{ ...plane, layout: moved(plane.layout, 0) }];
}

/** A tensor or frame as it will be in a buffer that begins at `start`, counted as the allocation counts. */
export function inBuffer(source: Described, cl: OpenCLContext, access: Access, start: number): Described {
  const { planes, info } = source;
  const offsetOf = (plane: DescribedPlane) => cl.memory.offsetOf(plane.start - start);
  if (planes.every((plane) => plane.layout.byteOffset === offsetOf(plane))) return source.as(cl, access);
  const placed = planes.map((plane) => ({ ...plane, layout: moved(plane.layout, offsetOf(plane)) }));
  return new Described(cl, access, placed, info);
}
