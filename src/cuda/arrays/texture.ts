import {
  cudaAddressModeBorder,
  cudaAddressModeClamp,
  cudaAddressModeMirror,
  cudaAddressModeWrap,
  cudaFilterModeLinear,
  cudaFilterModePoint,
  cudaReadModeElementType,
  cudaReadModeNormalizedFloat,
} from "../../../ffi/cuda_runtime/constants.ts";
import { cudaTextureDesc, writeCudaTextureDesc } from "../../../ffi/cuda_runtime/structs.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import { checks } from "../check.ts";
import { cudart } from "../library.ts";
import type { CudaArray } from "./array.ts";
import type { CudaArrayDType } from "./format.ts";
import { OverArray } from "./over_array.ts";

const FILTERS: { readonly [F in TextureFilter]: number } = { point: cudaFilterModePoint, linear: cudaFilterModeLinear };
const ADDRESSES: { readonly [A in TextureAddress]: number } = {
  wrap: cudaAddressModeWrap,
  clamp: cudaAddressModeClamp,
  mirror: cudaAddressModeMirror,
  border: cudaAddressModeBorder,
};
const READS: { readonly [R in TextureRead]: number } = {
  element: cudaReadModeElementType,
  normalized: cudaReadModeNormalizedFloat,
};

/** How a texture reads between elements: the nearest, or an interpolation. */
export type TextureFilter = "point" | "linear";

/** What a texture reads beyond the edges. */
export type TextureAddress = "wrap" | "clamp" | "mirror" | "border";

/** The result of a texture read: the element's own type, or floats from 0 (or -1) to 1. */
export type TextureRead = "element" | "normalized";

/** How a texture reads an array. */
export interface TextureOptions {
  /** Between elements; `"point"` by default. */
  readonly filter?: TextureFilter;
  /** Beyond the edges; `"clamp"` by default. */
  readonly address?: TextureAddress;
  /** True if coordinates go from 0 to 1, instead of counting elements. False by default. */
  readonly normalized?: boolean;
  /** The result of a read; `"element"` by default. */
  readonly read?: TextureRead;
  /** The element beyond the edges, if `address` is `"border"`; zeros by default. */
  readonly border?: readonly [number, number, number, number];
}

const OPTIONS: Names<TextureOptions> = { filter: true, address: true, normalized: true, read: true, border: true };

/** A texture object, by which kernels read an array. Made by `array.texture()`. */
export class CudaTexture extends OverArray {
  /** Made by an array. */
  constructor(array: CudaArray, options: TextureOptions) {
    const texture = textureBytes(options, array.dtype);
    const description = array.describe();
    super(array, {
      type: "cudaTextureObject_t",
      create: ["cudaCreateTextureObject", (out) => cudart().cudaCreateTextureObject(out, description, texture, null)],
      destroy: ["cudaDestroyTextureObject", (handle) => cudart().cudaDestroyTextureObject(handle)],
    });
  }
}

/** A `struct cudaTextureDesc`. @throws {ArgumentError} for options that exclude each other. */
export function textureBytes(options: TextureOptions, dtype: CudaArrayDType): Uint8Array<ArrayBuffer> {
  const given = optionsIn(options, OPTIONS);
  const { filter = "point", address = "clamp", normalized = false, read = "element", border = [0, 0, 0, 0] } = given;
  const filterMode = FILTERS[checks.nameIn(filter, FILTERS, "filter")];
  const addressMode = ADDRESSES[checks.nameIn(address, ADDRESSES, "address")];
  const readMode = READS[checks.nameIn(read, READS, "read")];
  checks.assertBoolean(normalized, "normalized");
  const edge = borderIn(border);
  if (read === "normalized" && !/^[ui](8|16)$/.test(dtype)) {
    throw checks.wrong("read", `"normalized" is for integers of 8 and 16 bits; the array has ${dtype}.`);
  }
  if (filter === "linear" && read === "element" && !dtype.startsWith("f")) {
    const hint = /^[ui](8|16)$/.test(dtype) ? 'Read it as floats: { read: "normalized" }.' : undefined;
    throw checks.wrong("filter", `"linear" needs elements that are read as floats; the array has ${dtype}.`, hint);
  }
  if (!normalized && (address === "wrap" || address === "mirror")) {
    throw checks.wrong("address", `"${address}" is for coordinates from 0 to 1.`, "Ask for { normalized: true }.");
  }
  const bytes = new Uint8Array(cudaTextureDesc.size);
  writeCudaTextureDesc(new DataView(bytes.buffer), 0, {
    addressMode_0: addressMode,
    addressMode_1: addressMode,
    addressMode_2: addressMode,
    filterMode,
    readMode,
    sRGB: 0,
    borderColor_0: edge[0],
    borderColor_1: edge[1],
    borderColor_2: edge[2],
    borderColor_3: edge[3],
    normalizedCoords: Number(normalized),
    maxAnisotropy: 0,
    mipmapFilterMode: cudaFilterModePoint,
    mipmapLevelBias: 0,
    minMipmapLevelClamp: 0,
    maxMipmapLevelClamp: 0,
    disableTrilinearOptimization: 0,
    seamlessCubemap: 0,
  });
  return bytes;
}

function borderIn(border: unknown): number[] {
  const edge = Array.isArray(border) ? checks.itemsIn<unknown>(border, "border") : [];
  if (edge.length === 4 && edge.every((value) => Number.isFinite(value))) return edge as number[];
  throw checks.wrong("border", "expected four numbers.");
}
