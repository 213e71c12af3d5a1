import type { Address } from "../../../ffi/address.ts";
import type { CudaArray } from "../../../ffi/cuda_runtime/handles.ts";
import * as names from "../../../ffi/cuda_egl/constants.ts";
import { cudaEglFrame } from "../../../ffi/cuda_egl/structs.ts";
import { cudaChannelFormatKindUnsigned } from "../../../ffi/cuda_runtime/constants.ts";
import { shown } from "../../core/argument.ts";
import { InteropError } from "../../core/errors.ts";
import { IMAGE_FORMATS, type ImageFormat, type ImageInfo, imageInfo, planesAt } from "../../core/layout/frame_info.ts";
import type { Layout } from "../../core/layout/layout.ts";
import { sizeOf } from "../../core/layout/dtype.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import { checks } from "../check.ts";
import type { CudaTensor } from "../tensor.ts";
import type { CudaArrayFrame } from "./array_frame.ts";

/** By the order of bytes in cuda_egl_interop.h. The driver (580) refuses cudaEglColorFormatL in a stream. */
const COLOURS: { readonly [F in ImageFormat]?: number } = {
  GRAY8: names.cudaEglColorFormatR,
  RGBA: names.cudaEglColorFormatABGR,
  BGRA: names.cudaEglColorFormatARGB,
  NV12: names.cudaEglColorFormatYVU420SemiPlanar,
  I420: names.cudaEglColorFormatYUV420Planar,
  P010: names.cudaEglColorFormatY10V10U10_420SemiPlanar,
};

type Field = keyof typeof cudaEglFrame.fields;

interface Plane {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly bits: number;
  readonly pitch: number;
}

/** The index of the first 32-bit word behind the addresses. */
const DESCRIPTION = cudaEglFrame.fields.plane_0_width.offset / 4;

/** The offsets of the planes' addresses, which are read for each frame. */
const ADDRESSES = [0, 1, 2].map((plane) => cudaEglFrame.fields[`pitch_${plane}_ptr` as Field].offset);

export class FrameStruct {
  readonly bytes: Uint8Array<ArrayBuffer> = new Uint8Array(cudaEglFrame.size);
  readonly #view = new DataView(this.bytes.buffer);
  readonly #words = new Uint32Array(this.bytes.buffer);

  /** @throws {ArgumentError} for a format that CUDA lacks. */
  static of(frame: Frame<CudaTensor>): FrameStruct {
    const struct = new FrameStruct();
    frame.planes.forEach(({ address, layout: { shape, strides: [stride], dtype } }, i) => {
      const [height, width, channels = 1] = shape;
      struct.#word(`pitch_${i}_ptr` as Field, address);
      struct.#word(`pitch_${i}_pitch` as Field, BigInt(stride));
      struct.#word(`pitch_${i}_xsize` as Field, BigInt(width * channels * sizeOf(dtype)));
      struct.#word(`pitch_${i}_ysize` as Field, BigInt(height));
      struct.#plane(i, { width, height, channels, bits: 8 * sizeOf(dtype), pitch: stride });
    });
    struct.#end(frame.info as ImageInfo, frame.planes.length, names.cudaEglFrameTypePitch);
    return struct;
  }

  /** @throws {ArgumentError} for a format that CUDA lacks. */
  static ofArrays({ arrays, info }: CudaArrayFrame): FrameStruct {
    const struct = new FrameStruct();
    arrays.forEach(({ handle, extent: { width, height }, channels, dtype }, i) => {
      struct.#word(`array_${i}` as Field, handle);
      struct.#plane(i, { width, height, channels, bits: 8 * sizeOf(dtype), pitch: width * channels * sizeOf(dtype) });
    });
    struct.#end(info, arrays.length, names.cudaEglFrameTypeArray);
    return struct;
  }

  /** True if the planes are CUDA arrays. */
  get isArrays(): boolean {
    return this.#read("frameType") === names.cudaEglFrameTypeArray;
  }

  arrayOf(plane: number): CudaArray {
    return this.#view.getBigUint64(cudaEglFrame.fields[`array_${plane}` as Field].offset, true) as CudaArray;
  }

  addressOf(plane: number): Address {
    return this.#view.getBigUint64(ADDRESSES[plane], true) as Address;
  }

  get planeCount(): number {
    return this.#read("planeCount");
  }

  /** The frame's format and size. @throws {InteropError} for a format that samepage lacks. */
  get info(): ImageInfo {
    const colour = this.#read("eglColorFormat");
    const format = (Object.keys(COLOURS) as ImageFormat[]).find((format) => COLOURS[format] === colour);
    if (format === undefined) {
      const hint = `Have the producer present one of ${Object.keys(COLOURS).join(", ")}.`;
      const fields = { api: "cuda", fn: "cudaGraphicsResourceGetMappedEglFrame", hint };
      throw new InteropError(`the frame has CUDA's colour format ${colour}, which samepage does not know.`, fields);
    }
    return imageInfo({ format, width: this.#read("plane_0_width"), height: this.#read("plane_0_height") });
  }

  /** The layout of each plane, from its own address. */
  layouts(info: ImageInfo): readonly Layout[] {
    const places = IMAGE_FORMATS[info.format].planes.map((_, i) => ({
      stride: this.#read(`plane_${i}_pitch` as Field),
    }));
    return planesAt(info, places);
  }

  copy(): FrameStruct {
    const copy = new FrameStruct();
    copy.bytes.set(this.bytes);
    return copy;
  }

  isLike(other: FrameStruct): boolean {
    for (let i = DESCRIPTION; i < this.#words.length; i++) if (this.#words[i] !== other.#words[i]) return false;
    return true;
  }

  #plane(i: number, { width, height, channels, bits, pitch }: Plane): void {
    const set = (name: string, value: number) => this.#number(`plane_${i}_${name}` as Field, value);
    set("width", width);
    set("height", height);
    set("pitch", pitch);
    set("numChannels", channels);
    ["x", "y", "z", "w"].slice(0, channels).forEach((channel) => set(`desc_${channel}`, bits));
    set("desc_f", cudaChannelFormatKindUnsigned);
  }

  #end({ format }: ImageInfo, planes: number, type: number): void {
    this.#number("planeCount", planes);
    this.#number("frameType", type);
    this.#number("eglColorFormat", colourOf(format, "info"));
  }

  #word(name: Field, value: bigint): void {
    this.#view.setBigUint64(cudaEglFrame.fields[name].offset, value, true);
  }

  #number(name: Field, value: number): void {
    this.#view.setUint32(cudaEglFrame.fields[name].offset, value, true);
  }

  #read(name: Field): number {
    return this.#view.getUint32(cudaEglFrame.fields[name].offset, true);
  }
}

/** @throws {ArgumentError} for a format that streams do not carry. */
export function colourOf(format: ImageFormat, argument: string): number {
  if (typeof format === "string" && Object.hasOwn(COLOURS, format)) return COLOURS[format]!;
  throw checks.wrong(argument, `CUDA's streams carry ${Object.keys(COLOURS).join(", ")}, and not ${shown(format)}.`);
}
