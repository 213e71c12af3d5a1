/**
 * One call of each operation, and how far a UMat's result may be from a Mat's.
 *
 * @module
 */
import type { DType } from "@samepage/interop";
import type { OpenCVContext, OpenCVTensor } from "@samepage/interop/opencv";

/** What an array is: rows and columns, channels where there are several. */
export interface Kind {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** A call. */
export interface Case {
  readonly name: string;
  readonly src: Kind;
  readonly dst: Kind;
  readonly call: (cv: OpenCVContext, src: OpenCVTensor, dst: OpenCVTensor) => unknown;
  /** How much a value of a UMat may differ: a part of the range of integers' values, of floats relative. 0: not at all. */
  readonly tolerance: number;
  /** Which part of the values may differ by more, where a comparison decides. */
  readonly outliers?: number;
}

const R = 46;
const C = 60;

function image(dtype: DType, channels = 3, rows = R, columns = C): Kind {
  return { shape: channels === 1 ? [rows, columns] : [rows, columns, channels], dtype };
}

const turned = [[0.8, -0.6, 20], [0.6, 0.8, -5]] as const;

/** Exact operations: each element by itself, no rounding that a device could do otherwise. */
const EXACT: readonly Case[] = [
  ...(["u8", "i8", "u16", "i16", "i32", "f32", "f64", "f16"] as const).map((dtype): Case => ({
    name: `copyTo ${dtype}`,
    src: image(dtype),
    dst: image(dtype),
    call: (cv, src, dst) => cv.copyTo(src, dst),
    tolerance: 0,
  })),
  ...(["u8", "u16", "f32"] as const).map((dtype): Case => ({
    name: `bitwise_not ${dtype}`,
    src: image(dtype),
    dst: image(dtype),
    call: (cv, src, dst) => cv.bitwise_not(src, dst),
    tolerance: 0,
  })),
  ...(["x-axis", "y-axis", "both-axes"] as const).map((axis): Case => ({
    name: `flip ${axis}`,
    src: image("u8"),
    dst: image("u8"),
    call: (cv, src, dst) => cv.flip(src, dst, axis),
    tolerance: 0,
  })),
  ...(["binary", "binary-inv", "trunc", "tozero", "tozero-inv"] as const).map((type): Case => ({
    name: `threshold ${type}`,
    src: image("u8"),
    dst: image("u8"),
    call: (cv, src, dst) => cv.threshold(src, dst, 100, 200, type),
    tolerance: 0,
  })),
  ...(["u16", "i16", "f32", "f64"] as const).map((dtype): Case => ({
    name: `threshold ${dtype}`,
    src: image(dtype, 1),
    dst: image(dtype, 1),
    call: (cv, src, dst) => cv.threshold(src, dst, 100.5, 200, "tozero"),
    tolerance: 0,
  })),
  {
    name: "threshold otsu",
    src: image("u8", 1),
    dst: image("u8", 1),
    call: (cv, src, dst) => cv.threshold(src, dst, 0, 255, "binary", { search: "otsu" }),
    tolerance: 0,
  },
  {
    name: "resize nearest",
    src: image("u16"),
    dst: image("u16", 3, 20, 31),
    call: (cv, src, dst) => cv.resize(src, dst, [31, 20], { interpolation: "nearest" }),
    tolerance: 0,
  },
  ...(["BGR2RGB", "RGB2BGR"] as const).map((code): Case => ({
    name: `cvtColor ${code}`,
    src: image("u8"),
    dst: image("u8"),
    call: (cv, src, dst) => cv.cvtColor(src, dst, code),
    tolerance: 0,
  })),
  ...(["u8", "f32"] as const).map((dtype): Case => ({
    name: `cvtColor BGR2BGRA ${dtype}`,
    src: image(dtype),
    dst: image(dtype, 4),
    call: (cv, src, dst) => cv.cvtColor(src, dst, "BGR2BGRA"),
    tolerance: 0,
  })),
  {
    name: "cvtColor YUV2GRAY_NV12",
    src: image("u8", 1, 48),
    dst: image("u8", 1, 32),
    call: (cv, src, dst) => cv.cvtColor(src, dst, "YUV2GRAY_NV12"),
    tolerance: 0,
  },
];

/** Arithmetic that is rounded once more, or once less, on a device: to the nearest value beside it. */
const ROUNDED: readonly Case[] = [
  ...(["BGR2GRAY", "RGBA2GRAY"] as const).map((code): Case => ({
    name: `cvtColor ${code}`,
    src: image("u8", code === "BGR2GRAY" ? 3 : 4),
    dst: image("u8", 1),
    call: (cv, src, dst) => cv.cvtColor(src, dst, code),
    tolerance: 1,
  })),
  ...(["BGR2HLS", "BGR2YCrCb", "BGR2YUV", "BGR2XYZ"] as const).map((code): Case => ({
    name: `cvtColor ${code}`,
    src: image("u8"),
    dst: image("u8"),
    call: (cv, src, dst) => cv.cvtColor(src, dst, code),
    tolerance: 1,
  })),
  ...(["HSV2BGR", "HLS2BGR", "YCrCb2BGR", "YUV2BGR", "XYZ2BGR"] as const).map((code): Case => ({
    name: `cvtColor ${code}`,
    src: image("u8"),
    dst: image("u8"),
    call: (cv, src, dst) => cv.cvtColor(src, dst, code),
    tolerance: 1,
  })),
  ...(["NV12", "NV21", "I420", "YV12"] as const).map((planes): Case => ({
    name: `cvtColor YUV2BGR_${planes}`,
    src: image("u8", 1, 48),
    dst: image("u8", 3, 32),
    call: (cv, src, dst) => cv.cvtColor(src, dst, `YUV2BGR_${planes}`),
    tolerance: 1,
  })),
  ...(["UYVY", "YUYV", "YVYU"] as const).map((pairs): Case => ({
    name: `cvtColor YUV2BGR_${pairs}`,
    src: image("u8", 2),
    dst: image("u8"),
    call: (cv, src, dst) => cv.cvtColor(src, dst, `YUV2BGR_${pairs}`),
    tolerance: 1,
  })),
  ...(["I420", "YV12"] as const).map((planes): Case => ({
    name: `cvtColor BGR2YUV_${planes}`,
    src: image("u8", 3, 32),
    dst: image("u8", 1, 48),
    call: (cv, src, dst) => cv.cvtColor(src, dst, `BGR2YUV_${planes}`),
    tolerance: 1,
  })),
  ...(["u8", "u16", "i16", "f32"] as const).map((dtype): Case => ({
    name: `GaussianBlur ${dtype}`,
    src: image(dtype),
    dst: image(dtype),
    call: (cv, src, dst) => cv.GaussianBlur(src, dst, [5, 5], { sigmaX: 1.2, border: "replicate" }),
    tolerance: dtype === "f32" ? 1e-4 : 1,
  })),
  ...(["u8", "u16", "f32"] as const).flatMap((dtype) =>
    (["linear", "area"] as const).map((interpolation): Case => ({
      name: `resize ${interpolation} ${dtype}`,
      src: image(dtype),
      dst: image(dtype, 3, 20, 31),
      call: (cv, src, dst) => cv.resize(src, dst, [31, 20], { interpolation }),
      tolerance: dtype === "f32" ? 1e-4 : 1,
    }))
  ),
  ...(["nearest", "linear", "cubic"] as const).map((interpolation): Case => ({
    name: `warpAffine ${interpolation}`,
    src: image("u8"),
    dst: image("u8", 3, 40, 50),
    call: (cv, src, dst) => cv.warpAffine(src, dst, turned, [50, 40], { interpolation, borderValue: [9, 99, 199] }),
    tolerance: 1,
  })),
  ...(["u8", "i16", "f32", "f64"] as const).map((dtype): Case => ({
    name: `convertTo ${dtype}`,
    src: image("u8"),
    dst: image(dtype),
    call: (cv, src, dst) => cv.convertTo(src, dst, dtype, { alpha: 1.7, beta: -50 }),
    tolerance: dtype[0] === "f" ? 1e-5 : 1,
  })),
  {
    name: "Canny",
    src: image("u8", 1),
    dst: image("u8", 1),
    call: (cv, src, dst) => cv.Canny(src, dst, 200, 600),
    tolerance: 0,
    outliers: 0.05,
  },
];

/** All of them. */
export const CASES: readonly Case[] = [...EXACT, ...ROUNDED];
