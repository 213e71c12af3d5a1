import { cudaExtent, readCudaExtent, writeCudaExtent } from "../../../ffi/cuda_runtime/structs.ts";
import type { CudaAttribute } from "../attributes.ts";
import { checks } from "../check.ts";
import type { CudaDevice } from "../device.ts";

/** The size of an array along each dimension; a missing dimension is 0, as in CUDA. */
export interface ArrayExtent {
  /** Elements in a row. */
  readonly width: number;
  /** Rows. */
  readonly height: number;
  /** Slices of rows, or layers. */
  readonly depth: number;
}

type Limits = readonly CudaAttribute[];

/** The attributes that limit width, height and depth, by the number of dimensions; the last ones are for layers. */
const LIMITS: Readonly<Record<"texture" | "surface", readonly Limits[]>> = {
  texture: [
    ["maxTexture1DWidth"],
    ["maxTexture2DWidth", "maxTexture2DHeight"],
    ["maxTexture3DWidth", "maxTexture3DHeight", "maxTexture3DDepth"],
    ["maxTexture2DLayeredWidth", "maxTexture2DLayeredHeight", "maxTexture2DLayeredLayers"],
  ],
  surface: [
    ["maxSurface1DWidth"],
    ["maxSurface2DWidth", "maxSurface2DHeight"],
    ["maxSurface3DWidth", "maxSurface3DHeight", "maxSurface3DDepth"],
    ["maxSurface2DLayeredWidth", "maxSurface2DLayeredHeight", "maxSurface2DLayeredLayers"],
  ],
};

interface ArrayUse {
  readonly surface: boolean;
  readonly layered?: boolean;
}

export function assertWithin(
  { width, height, depth }: ArrayExtent,
  { surface, layered = false }: ArrayUse,
  device: CudaDevice,
): void {
  const sizes = [width, height, depth].filter((size) => size > 0);
  const limits = LIMITS[surface ? "surface" : "texture"][layered ? 3 : sizes.length - 1];
  limits.forEach((attribute, i) => {
    const most = device.attributes[attribute];
    if (most === undefined || sizes[i] <= most) return;
    const argument = ["width", "height", layered ? "layers" : "depth"][i];
    const hint = surface ? "Textures may be larger: { surface: false }." : undefined;
    throw checks.wrong(
      argument,
      `${sizes[i]} is more than ${device.name} has arrays of: ${attribute} is ${most}.`,
      hint,
    );
  });
}

export function extentBytes({ width, height, depth }: ArrayExtent): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(cudaExtent.size);
  const extent = { width: BigInt(width), height: BigInt(height), depth: BigInt(depth) };
  writeCudaExtent(new DataView(bytes.buffer), 0, extent);
  return bytes;
}

export function extentIn(bytes: Uint8Array<ArrayBuffer>): ArrayExtent {
  const { width, height, depth } = readCudaExtent(new DataView(bytes.buffer), 0);
  return { width: Number(width), height: Number(height), depth: Number(depth) };
}
