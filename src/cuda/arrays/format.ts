import {
  cudaChannelFormatKindFloat,
  cudaChannelFormatKindSigned,
  cudaChannelFormatKindUnsigned,
} from "../../../ffi/cuda_runtime/constants.ts";
import {
  type CudaChannelFormatDesc,
  cudaChannelFormatDesc,
  readCudaChannelFormatDesc,
  writeCudaChannelFormatDesc,
} from "../../../ffi/cuda_runtime/structs.ts";
import { shown } from "../../core/argument.ts";
import { InteropError } from "../../core/errors.ts";
import { sizeOf } from "../../core/layout/dtype.ts";
import { checks } from "../check.ts";

const CHANNELS: { readonly [D in CudaArrayDType]: number } = {
  u8: cudaChannelFormatKindUnsigned,
  u16: cudaChannelFormatKindUnsigned,
  u32: cudaChannelFormatKindUnsigned,
  i8: cudaChannelFormatKindSigned,
  i16: cudaChannelFormatKindSigned,
  i32: cudaChannelFormatKindSigned,
  f16: cudaChannelFormatKindFloat,
  f32: cudaChannelFormatKindFloat,
};

/** The dtypes of an array's channels. */
export type CudaArrayDType = "u8" | "u16" | "u32" | "i8" | "i16" | "i32" | "f16" | "f32";

/** The format of an image's pixels in CUDA. A texture decides how they are read. */
export interface CudaImageFormat {
  /** The type of a channel. */
  readonly dtype: CudaArrayDType;
  /** Channels of a pixel: 1, 2 or 4; 1 by default. */
  readonly channels?: 1 | 2 | 4;
}

export function assertFormat(dtype: unknown, channels: unknown): void {
  checks.nameIn(dtype, CHANNELS, "dtype");
  if (channels === 1 || channels === 2 || channels === 4) return;
  throw checks.wrong("channels", `expected 1, 2 or 4, got ${shown(channels)}.`, "Pad 3 channels to 4.");
}

export function channelsOf({ dtype, channels = 1 }: CudaImageFormat): CudaChannelFormatDesc {
  const bits = 8 * sizeOf(dtype);
  const [x, y, z, w] = [0, 1, 2, 3].map((channel) => channel < channels ? bits : 0);
  return { x, y, z, w, f: CHANNELS[dtype] };
}

export function formatBytes(format: CudaImageFormat): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(cudaChannelFormatDesc.size);
  writeCudaChannelFormatDesc(new DataView(bytes.buffer), 0, channelsOf(format));
  return bytes;
}

/** Reads a `struct cudaChannelFormatDesc`. @throws {InteropError} for elements that are not of a {@link CudaArrayDType}. */
export function formatIn(bytes: Uint8Array<ArrayBuffer>): { dtype: CudaArrayDType; channels: number } {
  const { x, y, z, w, f } = readCudaChannelFormatDesc(new DataView(bytes.buffer), 0);
  const channels = [x, y, z, w].filter((bits) => bits > 0).length;
  const names = Object.keys(CHANNELS) as CudaArrayDType[];
  const dtype = names.find((name) => CHANNELS[name] === f && 8 * sizeOf(name) === x);
  if (dtype !== undefined && channels !== 3) return { dtype, channels };
  throw new InteropError(
    `an array has elements of ${x}, ${y}, ${z} and ${w} bits (kind ${f}), and ours are all alike.`,
    {
      api: "cuda",
      fn: "cudaArrayGetInfo",
      hint: "Use a format whose 1, 2 or 4 channels have 8, 16 or 32 bits each.",
    },
  );
}
