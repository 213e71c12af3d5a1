// What an operation accepts, OpenCV takes: else an exception would end the process where there is no guard. Random calls,
// of which each is refused before OpenCV is called, or done.

import { assert } from "@std/assert";
import { ArgumentError, type DType } from "@samepage/interop";
import { OpenCVContext, type OpenCVTensor, ReallocatedError } from "@samepage/interop/opencv";
import type { ColorCode } from "@samepage/interop/opencv";
import { CONVERSIONS } from "../../src/opencv/operations/color_codes.ts";
import { viewAt } from "../../src/opencv/memory.ts";
import { testMat } from "./help.ts";

const CALLS = 6000;

/** The same numbers each time. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

const below = randomNumbers(20250521);

function one<T>(of: readonly T[]): T {
  return of[below(of.length)];
}

const DTYPES: readonly DType[] = ["u8", "u8", "u8", "i8", "u16", "i16", "i32", "f32", "f64", "f16"];
const CODES = Object.keys(CONVERSIONS) as ColorCode[];
const BORDERS = ["constant", "replicate", "reflect", "reflect-101"] as const;
const RESIZES = ["nearest", "nearest-exact", "linear", "linear-exact", "cubic", "area", "lanczos4"] as const;
const WARPS = ["nearest", "linear", "cubic", "lanczos4"] as const;
const TYPES = ["binary", "binary-inv", "trunc", "tozero", "tozero-inv"] as const;
const ENDINGS = [".png", ".jpg", ".bmp", ".webp", ".tiff", ".ppm", ".pgm", ".pbm", ".pnm", ".pfm", ".hdr"] as const;
const extent = () => one([1, 2, 3, 4, 6, 9, 12, 31, 64, 200]);
const real = () => one([0, 1, -1, 0.3, -2.5, 300, 1e9, -1e300]);

type Call = (cv: OpenCVContext, src: OpenCVTensor, dst: OpenCVTensor, reallocate: boolean) => unknown;

const OPERATIONS: readonly (() => Call)[] = [
  () => {
    const code = one(CODES);
    return (cv, src, dst, reallocate) => cv.cvtColor(src, dst, code, { reallocate });
  },
  () => {
    const ksize = [one([0, 1, 3, 5, 7, 31, 101]), one([0, 1, 3, 5, 7, 31, 101])] as const;
    const options = { sigmaX: one([0, 0.01, 1.2, 40]), sigmaY: one([0, 3]), border: one(BORDERS) };
    return (cv, src, dst, reallocate) => cv.GaussianBlur(src, dst, ksize, { ...options, reallocate });
  },
  () => {
    const options = { apertureSize: one([3, 5, 7] as const), L2gradient: one([true, false]) };
    const thresholds = [one([0, 50, 1e9]), one([0, 150, 1e9])] as const;
    return (cv, src, dst, reallocate) => cv.Canny(src, dst, ...thresholds, { ...options, reallocate });
  },
  () => {
    const [dsize, interpolation] = [[extent(), extent()] as const, one(RESIZES)];
    return (cv, src, dst, reallocate) => cv.resize(src, dst, dsize, { interpolation, reallocate });
  },
  () => {
    const M = [real(), real(), real(), real(), real(), real()] as const;
    const [dsize, borderValue] = [[extent(), extent()] as const, [real(), real()]];
    const options = {
      interpolation: one(WARPS),
      border: one([...BORDERS, "wrap"] as const),
      inverse: one([true, false]),
    };
    return (cv, src, dst, reallocate) => cv.warpAffine(src, dst, M, dsize, { ...options, borderValue, reallocate });
  },
  () => {
    const [thresh, maxval, type] = [real(), real(), one(TYPES)];
    const options = one([{}, {}, { search: "otsu" }, { search: "triangle" }] as const);
    return (cv, src, dst, reallocate) => cv.threshold(src, dst, thresh, maxval, type, { ...options, reallocate });
  },
  () => (cv, src, dst, reallocate) => cv.copyTo(src, dst, { reallocate }),
  () => {
    const [rtype, alpha, beta] = [one(DTYPES), real(), real()];
    return (cv, src, dst, reallocate) => cv.convertTo(src, dst, rtype, { alpha, beta, reallocate });
  },
  () => (cv, src, dst, reallocate) => cv.bitwise_not(src, dst, { reallocate }),
  () => {
    const axis = one(["x-axis", "y-axis", "both-axes"] as const);
    return (cv, src, dst, reallocate) => cv.flip(src, dst, axis, { reallocate });
  },
  () => {
    const ending = one(ENDINGS);
    return (cv, src) => cv.imencode(ending, src);
  },
];

testMat(`operations: OpenCV takes what they accept (${CALLS} random calls)`, () => {
  using cv = OpenCVContext.open();
  let [done, refused] = [0, 0];
  for (let i = 0; i < CALLS; i++) {
    using src = randomMat(cv);
    const call = one(OPERATIONS)();
    try {
      if (below(4) === 0) call(cv, src, src, false);
      else withResult(cv, (dst) => call(cv, src, dst, true));
      done++;
    } catch (error) {
      if (!(error instanceof ArgumentError)) throw error;
      refused++;
    }
  }
  assert(done > CALLS / 10 && refused > CALLS / 10, `${done} done, ${refused} refused`);
});

/** Calls with an output that OpenCV may give the memory that it needs. */
function withResult(cv: OpenCVContext, call: (dst: OpenCVTensor) => void): void {
  const dst = cv.mat.create({ shape: [1, 1], dtype: "i8" });
  using _end = { [Symbol.dispose]: () => end(dst) };
  call(dst);
}

function end(dst: OpenCVTensor): void {
  try {
    dst[Symbol.dispose]();
  } catch (error) {
    if (!(error instanceof ReallocatedError)) throw error;
    error.result![Symbol.dispose]();
  }
}

/** A small array of random bytes. */
function randomMat(cv: OpenCVContext) {
  const [rows, columns, channels] = [extent(), extent(), one([1, 1, 2, 3, 3, 4, 7])];
  const target = cv.matOf({ channels });
  const mat = target.create({
    shape: channels === 1 ? [rows, columns] : [rows, columns, channels],
    dtype: one(DTYPES),
  });
  const bytes = viewAt(mat.address, mat.layout.byteLength);
  for (let i = 0; i < bytes.byteLength; i++) bytes.setUint8(i, below(256));
  return mat;
}
