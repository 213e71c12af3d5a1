import {
  ArgumentError,
  host,
  type Layout,
  layout,
  LayoutError,
  NativeCallError,
  NoRouteError,
} from "@samepage/interop";
import { any, fails, say } from "../kit.ts";
import { type Eye, eye, photo, vision, work } from "../opencv.ts";
import { type Failure, type Row, table } from "../row.ts";

/** A map of host memory of this layout to a Mat, which has to be refused for this reason. */
function refused(
  at: Parameters<typeof host.allocate>[0],
  why: RegExp,
  hint?: RegExp,
  map?: (e: Eye) => Eye["cv"]["mat"],
): Row {
  return {
    run() {
      using e = eye();
      using memory = host.allocate(at);
      const target = map?.(e) ?? e.cv.mat;
      fails("create", () => target.create(at), LayoutError);
      say(e.graph.explain(memory, target).open);
      e.graph.map(memory, target);
    },
    says: ["false"],
    fails: noRoute(why, hint),
  };
}

const noRoute = (why: RegExp, hint?: RegExp): Failure => ({
  ...{ error: NoRouteError, api: "core", argument: "target" },
  message: /No route from .* to opencv\.u?mat/,
  ...(hint === undefined ? {} : { hint }),
  has: { refused: why },
});

/** A part of some bytes, as a program may lay it out; core takes any. */
function part(e: Eye, at: Parameters<typeof layout>[0]): void {
  using bytes = host.allocate({ shape: [65536], dtype: "u8" });
  using slice = bytes.slice(layout(at) as Layout<"u8">);
  e.graph.map(slice, e.cv.mat);
}

export default table(import.meta, {
  "a dtype that OpenCV 4 has not: u32": refused(
    { shape: [4, 4], dtype: "u32" },
    /OpenCV 4 has no Mat of u32/,
    /i32 has the same bits/,
  ),
  "a dtype that OpenCV 4 has not: u64": refused(
    { shape: [4, 4], dtype: "u64" },
    /OpenCV 4 has no Mat of u64/,
    /f64 holds whole numbers/,
  ),
  "a dtype that OpenCV 4 has not: i64, of one element": refused(
    { shape: [1], dtype: "i64" },
    /no Mat of i64/,
    /f64 holds whole numbers/,
  ),
  "513 channels": refused(
    { shape: [2, 2, 513], dtype: "u8" },
    /at most 512 channels \(CV_CN_MAX\), got 513/,
    /takes them for a dimension/,
  ),
  "three channels of two": refused(
    { shape: [4, 4, 2], dtype: "u8" },
    /expected 3 channels as the last dimension, got 2/,
    undefined,
    ({ cv }) => cv.matOf({ channels: 3 }),
  ),
  "a dtype that does not exist": {
    run() {
      using e = eye();
      for (const dtype of ["u128", "", "constructor", null, 8]) {
        fails(String(dtype), () => e.cv.mat.create({ shape: [4], dtype: any(dtype) }), LayoutError);
      }
      e.cv.mat.create({ shape: [4, 4], dtype: any("CV_8U") });
    },
    fails: {
      error: LayoutError,
      api: "core",
      argument: "dtype",
      message: /expected a dtype, got "CV_8U"/,
      hint: /Use one of/,
    },
  },
  "invalid extents": {
    run() {
      using e = eye();
      for (const extent of [0, -1, NaN, 1.5, Infinity, 2 ** 53, 2 ** 64, "4", 4n, null]) {
        for (const shape of [[extent], [4, extent], [4, 4, extent]]) {
          fails(shape.join(), () => e.cv.mat.create({ shape: any(shape), dtype: "u8" }));
        }
      }
      e.cv.mat.create({ shape: [], dtype: "u8" });
    },
    fails: {
      ...{ error: LayoutError, api: "opencv", argument: "shape", message: /a Mat has a dimension at least/ },
      hint: /Give it one/,
    },
  },
  "33 dimensions": {
    run() {
      using e = eye();
      using most = e.cv.mat.create({ shape: Array.from({ length: 32 }, () => 1), dtype: "u8" });
      say(most.matShape.sizes.length);
      e.cv.mat.create({ shape: Array.from({ length: 33 }, () => 1), dtype: "u8" });
    },
    says: ["32"],
    fails: { error: LayoutError, api: "core", argument: "shape", message: /33|32/ },
  },
  "more than an int in one dimension": {
    run() {
      using e = eye();
      e.cv.mat.create({ shape: [2 ** 31, 1], dtype: "u8" });
    },
    fails: { error: LayoutError, api: "opencv", argument: "shape[0]", message: /which an int holds, got 2147483648/ },
  },
  "65,536 rows of 65,536 pixels": {
    opencl: "Portable",
    run() {
      using v = vision();
      using memory = host.allocate({ shape: [65536, 65536], dtype: "u8" });
      using mat = v.graph.map(memory, v.cv.mat, { access: "read" });
      say(mat.matShape.sizes, mat.matShape.steps);
      v.graph.map(memory, v.cv.umat, { access: "read" });
    },
    says: ["65536,65536 65536,1"],
    fails: noRoute(/4294967296 bytes/, /Map it in slices/),
  },
  "more memory than there is": {
    run() {
      using e = eye();
      e.cv.mat.create({ shape: [2 ** 31 - 1, 2 ** 22], dtype: "u8" });
    },
    fails: {
      ...{ error: NativeCallError, api: "libc", fn: "mmap", code: 12, codeName: "ENOMEM" },
      message: /mmap/,
      hint: /The request was for/,
    },
  },
  "more memory than a number counts": {
    run() {
      using e = eye();
      e.cv.mat.create({ shape: [2 ** 31 - 1, 2 ** 31 - 1, 512], dtype: "f64" });
    },
    fails: { error: LayoutError, api: "core", argument: "shape[0]", message: /reaches past 2\^53 bytes/ },
  },
  "a negative step": {
    run() {
      using e = eye();
      part(e, { shape: [4, 4], dtype: "u8", strides: [-64, 1] });
    },
    fails: { error: LayoutError, api: "core", argument: "strides[0]", message: /-64/ },
  },
  "a step of nothing": {
    run() {
      using e = eye();
      part(e, { shape: [4, 4], dtype: "u8", strides: [0, 1] });
    },
    fails: {
      ...{ error: LayoutError, api: "core", argument: "strides[0]" },
      ...{ message: /0 is less than the 1 bytes/, hint: /Strides are in bytes/ },
    },
  },
  "columns before rows": {
    run() {
      using e = eye();
      part(e, { shape: [4, 8], dtype: "u8", strides: [1, 64] });
    },
    fails: noRoute(
      /OpenCV needs adjacent pixels, of 1 bytes; these are 64 bytes apart/,
      /^Copy it to memory without gaps: host\.allocate/,
    ),
  },
  "gaps within a row": {
    run() {
      using e = eye();
      part(e, { shape: [4, 8], dtype: "u8", strides: [64, 2] });
    },
    fails: noRoute(
      /OpenCV needs adjacent pixels, of 1 bytes; these are 2 bytes apart/,
      /^Copy it to memory without gaps: host\.allocate/,
    ),
  },
  "channels that lie apart": {
    run() {
      using e = eye();
      part(e, { shape: [4, 8, 3], dtype: "u8", strides: [1024, 3 * 16, 16] });
    },
    fails: noRoute(/OpenCV needs adjacent channels; these are 16 bytes apart/, /^Copy it to memory without gaps/),
  },
  "planes before rows of another order": {
    run() {
      using e = eye();
      part(e, { shape: [4, 4, 4, 4], dtype: "u8", strides: [16, 64, 4, 1] });
    },
    fails: noRoute(/OpenCV is row-major/, /^Copy it to memory without gaps/),
  },
  "elements at an odd address": {
    run() {
      using e = eye();
      using bytes = host.allocate({ shape: [4096], dtype: "u8" });
      using odd = host.wrap(bytes.handle + 1n, { shape: [8, 8], dtype: "u16" });
      e.graph.map(odd, e.cv.mat);
    },
    fails: noRoute(/expected a multiple of the 2 bytes of u16/),
  },
  "a UMat that begins within a pixel": {
    opencl: true,
    run() {
      using v = vision();
      using buffer = v.cl.allocate({ shape: [4096], dtype: "u8" });
      using slice = buffer.slice(layout({ shape: [8, 8, 3], dtype: "u8", strides: [64, 3, 1], byteOffset: 10 }));
      say(v.graph.explain(slice, v.cv.umat).refused.map(({ reason }) => reason)[0]);
      slice[Symbol.dispose]();
      const whole = v.graph.map(buffer, v.cv.umatOf({ channels: 1 }));
      using _ = whole;
      whole.slice(layout({ shape: [8, 8], dtype: "u16" as "u8", strides: [64, 2], byteOffset: 11 }));
    },
    fails: { error: LayoutError, api: "core", argument: "byteOffset", message: /11/ },
    says: [
      "byteOffset: OpenCV's filters expect whole rows (64 bytes) and whole pixels (3 bytes), got 10 bytes.",
    ],
  },
  "parts of a Mat and a UMat that are not theirs": {
    opencl: true,
    run() {
      using v = vision();
      using image = photo();
      using mat = v.graph.map(image, v.cv.mat, { access: "read" });
      using umat = v.graph.map(image, v.cv.umat, { access: "read" });
      for (const mapped of [mat, umat]) {
        for (
          const at of [
            { shape: [65, 64], dtype: "u8" },
            { shape: [64, 64], dtype: "u8", byteOffset: 1 },
            { shape: [4, 4], dtype: "i64" },
            { shape: [4, 4], dtype: "u8", strides: [1, 4] },
            { shape: [1, 1, 513], dtype: "u8" },
          ] as const
        ) {
          fails(JSON.stringify(at), () => mapped.slice(layout(at) as Layout<"u8">), LayoutError);
        }
        fails("unset", () => mapped.slice({ ...mapped.layout, byteLength: 1 }), LayoutError);
        fails("no layout", () => mapped.slice(any(null)), LayoutError);
        work(v.cv, any({ ...mapped }));
      }
    },
    fails: {
      ...{ error: ArgumentError, api: "opencv", argument: "src", message: /expected a Mat or UMat, got/ },
      hint: /Map it first/,
    },
  },
  "an invalid alignment": {
    run() {
      using e = eye();
      for (const align of [0, 3, -4096, NaN, "4096", 2 ** 60]) {
        fails(String(align), () => e.cv.mat.create({ shape: [4], dtype: "u8", align: any(align) }));
      }
    },
  },
  "invalid channels": {
    run() {
      using e = eye();
      for (const channels of [0, -1, NaN, 1.5, Infinity, 2 ** 60, "3", 3n, undefined]) {
        for (const name of ["matOf", "umatOf"] as const) {
          fails(String(channels), () => e.cv[name]({ channels: any(channels) }), LayoutError);
        }
      }
      say(e.cv.matOf({ channels: 3 }) === e.cv.matOf({ channels: 3 }));
      fails("513", () => e.cv.matOf({ channels: 513 }).create({ shape: [4, 513], dtype: "u8" }), LayoutError);
      e.cv.umatOf(any(3));
    },
    says: ["true"],
    fails: { error: ArgumentError, api: "core", argument: "kind", message: /expected an object, got 3/ },
  },
});
