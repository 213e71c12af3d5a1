import type { Allocation } from "../core/allocation.ts";
import type { Described } from "../core/mapper.ts";

/** The bounding range of all planes of a tensor or frame, which lie in one block. */
export interface ByteRange {
  /** The block. */
  readonly allocation: Allocation;
  /** The host address of the first byte, where it is known. */
  readonly address: bigint | undefined;
  /** From the first byte of any plane to the last of any. */
  readonly byteLength: number;
}

/** The range that a description covers. */
export function rangeOf({ planes }: Described): ByteRange {
  const { allocation } = planes[0];
  const begins = planes.map((plane) => plane.address ?? BigInt(plane.layout.byteOffset));
  const first = begins.reduce((least, begin) => begin < least ? begin : least);
  const ends = planes.map((plane, i) => Number(begins[i] - first) + plane.layout.byteLength);
  const address = planes.every((plane) => plane.address !== undefined) ? first : undefined;
  return {
    allocation,
    address,
    byteLength: Math.max(...ends),
  };
}
