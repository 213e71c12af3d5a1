import { cudaExtent, writeCudaExtent } from "../../../ffi/cuda_runtime/structs.ts";
import type { CudaAttribute } from "../attributes.ts";
import { checks } from "../check.ts";
import type { CudaDevice } from "../device.ts";

/** How far an array reaches along each dimension; those that it has not are 0, as CUDA counts them. */
export interface ArrayExtent {
  /** Elements in a row. */
  readonly width: number;
  /** Rows. */
  readonly height: number;
  /** Slices of rows. */
  readonly depth: number;
}

type Limits = readonly CudaAttribute[];

/** The attributes that limit width, height and depth, by how many dimensions there are. */
const LIMITS: Readonly<Record<"texture" | "surface", readonly Limits[]>> = {
  texture: [
    ["maxTexture1DWidth"],
    ["maxTexture2DWidth", "maxTexture2DHeight"],
    ["maxTexture3DWidth", "maxTexture3DHeight", "maxTexture3DDepth"],
  ],
  surface: [
    ["maxSurface1DWidth"],
    ["maxSurface2DWidth", "maxSurface2DHeight"],
    ["maxSurface3DWidth", "maxSurface3DHeight", "maxSurface3DDepth"],
  ],
};

/** Throws where an array is larger than the device allows. */
export function assertWithin({ width, height, depth }: ArrayExtent, surface: boolean, device: CudaDevice): void {
  const sizes = [width, height, depth].filter((size) => size > 0);
  const limits = LIMITS[surface ? "surface" : "texture"][sizes.length - 1];
  limits.forEach((attribute, i) => {
    const most = device.attributes[attribute];
    if (most === undefined || sizes[i] <= most) return;
    const argument = ["width", "height", "depth"][i];
    const hint = surface ? "Textures may be larger: { surface: false }." : undefined;
    throw checks.wrong(
      argument,
      `${sizes[i]} is more than ${device.name} has arrays of: ${attribute} is ${most}.`,
      hint,
    );
  });
}

/** A `struct cudaExtent`. */
export function extentBytes({ width, height, depth }: ArrayExtent): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(cudaExtent.size);
  const extent = { width: BigInt(width), height: BigInt(height), depth: BigInt(depth) };
  writeCudaExtent(new DataView(bytes.buffer), 0, extent);
  return bytes;
}
