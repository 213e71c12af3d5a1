import {
  CV_16F,
  CV_16S,
  CV_16U,
  CV_32F,
  CV_32S,
  CV_64F,
  CV_8S,
  CV_8U,
  CV_CN_SHIFT,
  CV_MAT_DEPTH_MASK,
} from "../../ffi/opencv_core/constants.ts";
import type { DType } from "../core/layout/dtype.ts";

export const MAX_INT: number = 2 ** 31 - 1;

/** The depths of OpenCV 4, which are types of a channel. There are none for 64-bit and unsigned 32-bit integers. */
const DEPTHS: Readonly<Partial<Record<DType, number>>> = {
  u8: CV_8U,
  i8: CV_8S,
  u16: CV_16U,
  i16: CV_16S,
  i32: CV_32S,
  f32: CV_32F,
  f64: CV_64F,
  f16: CV_16F,
};

const DTYPES = new Map(Object.entries(DEPTHS).map(([dtype, depth]) => [depth, dtype as DType]));

export const DTYPE_NAMES: string = Object.keys(DEPTHS).join(", ");

export function depthOf(dtype: DType): number | undefined {
  return Object.hasOwn(DEPTHS, dtype) ? DEPTHS[dtype] : undefined; // a program may pass "constructor"
}

const AS_F64 = "Convert it before: f64 holds whole numbers up to 2^53 exactly.";

const REMEDIES: Readonly<Partial<Record<DType, string>>> = {
  u32: 'i32 has the same bits: use that, or pass tensor.slice({ ...tensor.layout, dtype: "i32" }).',
  u64: AS_F64,
  i64: AS_F64,
};

export function remedyOf(dtype: DType): string | undefined {
  return Object.hasOwn(REMEDIES, dtype) ? REMEDIES[dtype] : undefined;
}

export function typeOf(depth: number, channels: number): number {
  return depth + ((channels - 1) << CV_CN_SHIFT);
}

export function dtypeIn(type: number): DType {
  return DTYPES.get(type & CV_MAT_DEPTH_MASK)!;
}

export function channelsIn(type: number): number {
  return (type >> CV_CN_SHIFT) + 1;
}

export function typeName(type: number): string {
  const dtype = dtypeIn(type);
  const letter = dtype[0] === "u" ? "U" : dtype[0] === "f" ? "F" : "S";
  return `CV_${dtype.slice(1)}${letter}C${channelsIn(type)}`;
}
