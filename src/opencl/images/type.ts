import * as cl from "../../../ffi/opencl/constants.ts";
import { checks } from "../check.ts";
import type { PixelFormat } from "./format.ts";

/** A kind of image. No filter mixes the layers of an array. A kernel takes a `"1D buffer"` as `image1d_buffer_t`. */
export type ImageType = "1D" | "2D" | "3D" | "1D array" | "2D array" | "1D buffer";

interface TypeRow {
  readonly code: number;
  readonly rank: 1 | 2 | 3;
  readonly kernelType: string;
  readonly at: string;
}

export const IMAGE_TYPES: { readonly [T in ImageType]: TypeRow } = {
  "1D": { code: cl.CL_MEM_OBJECT_IMAGE1D, rank: 1, kernelType: "image1d_t", at: "(int)(x)" },
  "2D": { code: cl.CL_MEM_OBJECT_IMAGE2D, rank: 2, kernelType: "image2d_t", at: "(int2)(x, y)" },
  "3D": { code: cl.CL_MEM_OBJECT_IMAGE3D, rank: 3, kernelType: "image3d_t", at: "(int4)(x, y, z, 0)" },
  "1D array": { code: cl.CL_MEM_OBJECT_IMAGE1D_ARRAY, rank: 2, kernelType: "image1d_array_t", at: "(int2)(x, y)" },
  "2D array": {
    code: cl.CL_MEM_OBJECT_IMAGE2D_ARRAY,
    rank: 3,
    kernelType: "image2d_array_t",
    at: "(int4)(x, y, z, 0)",
  },
  "1D buffer": { code: cl.CL_MEM_OBJECT_IMAGE1D_BUFFER, rank: 1, kernelType: "image1d_buffer_t", at: "(int)(x)" },
};

export const BY_RANK: readonly (ImageType | undefined)[] = [undefined, "1D", "2D", "3D"];

export function imageTypeOf(given: unknown): ImageType {
  return checks.nameIn(given, IMAGE_TYPES, "type");
}

export function kernelTypeOf(type: ImageType, { order }: PixelFormat): string {
  const { kernelType } = IMAGE_TYPES[type];
  return order === "DEPTH" ? kernelType.replace("_t", "_depth_t") : kernelType;
}

const PIXELS = { f: "float4", i: "int4", ui: "uint4" } as const;

/** Macros for kernels that work on any image: IMAGE, its type; AT, the pixel at (x, y, z); PIXEL, READ and WRITE. */
export function definitionsOf(type: ImageType, format: PixelFormat): string {
  const { access } = format;
  return `
#define IMAGE ${kernelTypeOf(type, format)}
#define AT ${IMAGE_TYPES[type].at}
#define PIXEL ${format.order === "DEPTH" ? "float" : PIXELS[access]}
#define READ read_image${access}
#define WRITE write_image${access}
`;
}
