import type { NativePicture } from "../contract.ts";
import { type DType, sizeOf } from "./dtype.ts";
import { type FrameInfo, type PicturePlane, planeLayouts } from "./frame_info.ts";
import type { Layout } from "./layout.ts";

/** A component of a pixel format, as a library's descriptor says it. */
export interface PixelComponent {
  readonly plane: number;
  readonly step: number;
  readonly offset: number;
  /** Bits below and in the value. */
  readonly bits: number;
  /** How many pixels one value stands for, across and down. */
  readonly across: number;
  readonly down: number;
}

export function planesOfComponents(components: readonly PixelComponent[], isFloat: boolean): PicturePlane[] {
  const count = 1 + Math.max(...components.map(({ plane }) => plane));
  return Array.from({ length: count }, (_, p): PicturePlane => {
    const own = components.filter(({ plane }) => plane === p);
    const byteLength = Math.max(...own.map(({ step }) => step));
    // Luma may lie between chroma that is subsampled: the widest step is that of all of them.
    const { across, down } = own.find(({ step }) => step === byteLength)!;
    return { ...elementsOf(own, byteLength, isFloat), step: across, rows: down };
  });
}

/** What the bytes of one step are: an element for each value, or one of all where values share bytes. */
function elementsOf(components: readonly PixelComponent[], byteLength: number, isFloat: boolean) {
  const bits = Math.max(...components.map(({ bits }) => bits));
  const size = bits > 16 ? 4 : bits > 8 ? 2 : 1;
  const offsets = new Set(components.map(({ offset }) => offset));
  const areApart = offsets.size === components.length && [...offsets].every((offset) => offset % size === 0);
  const elements = areApart ? byteLength / size : 1;
  return { dtype: `${isFloat ? "f" : "u"}${8 * byteLength / elements}` as DType, elements };
}

export type PlaneLayout = Pick<Layout, "shape" | "dtype" | "strides" | "byteOffset">;

/** A plane of a picture of which a crop shows a part: its layout, counted from where the whole plane begins. */
export function croppedPlane(
  { step, rows, elements }: PicturePlane,
  { shape, dtype }: Pick<Layout, "shape" | "dtype">,
  { left, top }: { readonly left: number; readonly top: number },
  stride: number,
): PlaneLayout {
  const size = sizeOf(dtype);
  const byteOffset = Math.floor(top / rows) * stride + Math.floor(left / step) * elements * size;
  return { shape, dtype, strides: [stride, elements * size, size].slice(0, shape.length), byteOffset };
}

/**
 * A picture of other code's of which a crop shows a part: its planes begin later in their objects. Undefined where only a
 * driver knows where its pixels lie.
 *
 * @param info what is shown
 * @param formats its planes, by their format
 */
export function croppedPicture(
  picture: NativePicture,
  info: FrameInfo,
  formats: readonly PicturePlane[],
  crop: { readonly left: number; readonly top: number },
): NativePicture | undefined {
  if (crop.left + crop.top === 0) return picture;
  if (picture.planes.length === 0 || (picture.modifier ?? 0n) !== 0n) return undefined;
  const planes = planeLayouts(info).map((whole, i) => {
    const { offset, ...plane } = picture.planes[i];
    return { ...plane, offset: offset + croppedPlane(formats[i], whole, crop, plane.stride).byteOffset };
  });
  return { ...picture, planes };
}
