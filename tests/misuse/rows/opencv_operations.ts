import {
  type Access,
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  LayoutError,
  MapperGraph,
} from "@samepage/interop";
import { OpenCVContext, type OpenCVMat, type OpenCVTensor } from "@samepage/interop/opencv";
import { any, fails, safe, say } from "../kit.ts";
import { type Eye, eye, mapTo, photo, vision, work } from "../opencv.ts";
import { type Row, table } from "../row.ts";

/** What no argument of an operation may be. */
const RUBBISH: readonly unknown[] = [
  ...[undefined, null, NaN, Infinity, -1, 1.5, 2 ** 31, 2 ** 53, 2 ** 64, 10n ** 30n, "", "3", true, {}, [], () => {}],
  ...[Symbol.iterator, new Uint8Array(4), { length: 2 }, Object.create(null)],
];

/** Images of several kinds, in memory of their own. */
function images(cv: OpenCVContext): OpenCVMat[] {
  const kinds = [
    { shape: [8, 8], dtype: "u8" },
    { shape: [8, 8, 3], dtype: "u8" },
    { shape: [8, 8, 4], dtype: "f32" },
    { shape: [8, 8, 5], dtype: "i32" },
    { shape: [3, 4, 5, 6], dtype: "u8" },
    { shape: [9], dtype: "f16" },
    { shape: [1, 1, 512], dtype: "f64" },
  ] as const;
  return kinds.map((kind) => cv.mat.create(kind));
}

/** Every operation, with arguments that are right but for its images. */
const OPERATIONS: Readonly<Record<string, (cv: OpenCVContext, src: OpenCVTensor, dst: OpenCVTensor) => unknown>> = {
  GaussianBlur: (cv, src, dst) => cv.GaussianBlur(src, dst, [3, 3]),
  Canny: (cv, src, dst) => cv.Canny(src, dst, 10, 20),
  resize: (cv, src, dst) => cv.resize(src, dst, [8, 8]),
  warpAffine: (cv, src, dst) => cv.warpAffine(src, dst, [1, 0, 0, 0, 1, 0], [8, 8]),
  threshold: (cv, src, dst) => cv.threshold(src, dst, 1, 2, "binary"),
  cvtColor: (cv, src, dst) => cv.cvtColor(src, dst, "BGR2GRAY"),
  copyTo: (cv, src, dst) => cv.copyTo(src, dst),
  convertTo: (cv, src, dst) => cv.convertTo(src, dst, "f32"),
  bitwise_not: (cv, src, dst) => cv.bitwise_not(src, dst),
  flip: (cv, src, dst) => cv.flip(src, dst, "x-axis"),
};

/** An argument of an operation, in turn everything that it may not be. */
function argument(
  use: (e: Eye, image: OpenCVMat, value: never) => unknown,
  name: string,
  but: unknown[] = [],
  hint?: RegExp,
): Row {
  return {
    run() {
      using e = eye();
      using image = e.cv.mat.create({ shape: [8, 8], dtype: "u8" });
      for (const value of RUBBISH) {
        if (!but.includes(value)) {
          fails(
            String(typeof value),
            () => use(e, image, any(value)),
            ArgumentError,
            LayoutError,
          );
        }
      }
      use(e, image, any("rubbish"));
    },
    fails: {
      error: ArgumentError,
      api: name === "options" ? "core" : "opencv",
      argument: name,
      message: /rubbish|expected/,
      ...(hint === undefined ? {} : { hint }),
    },
  };
}

export default table(import.meta, {
  "anything but an image": {
    run() {
      using e = eye();
      using image = e.cv.mat.create({ shape: [8, 8], dtype: "u8" });
      using memory = host.allocate({ shape: [8, 8], dtype: "u8" });
      for (const [name, call] of Object.entries(OPERATIONS)) {
        for (const value of [...RUBBISH, memory, e.cv, e.cv.mat]) {
          fails(`${name} of`, () => call(e.cv, any(value), image), ArgumentError);
          fails(`${name} to`, () => call(e.cv, image, any(value)));
        }
      }
      work(e.cv, any(memory));
    },
    fails: {
      ...{ error: ArgumentError, api: "opencv", argument: "src", message: /expected a Mat or UMat, got/ },
      hint: /graph\.map\(tensor, cv\.mat\)/,
    },
  },
  "every operation on images of every kind": {
    run() {
      using e = eye();
      const all = images(e.cv);
      for (const [name, call] of Object.entries(OPERATIONS)) {
        for (const src of all) for (const dst of all) safe(name, () => call(e.cv, src, dst));
      }
      for (const image of all) image[Symbol.dispose](); // none was reallocated
      work(e.cv, all[0]);
    },
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "every operation on Mats and UMats in turn": {
    opencl: true,
    warns: /^(MESA: warning: [^\n]*\n)*$/, // of OpenCV's kernels
    run() {
      using v = vision();
      using a = photo(8, 8);
      using b = photo(8, 8);
      for (const [name, call] of Object.entries(OPERATIONS)) {
        for (const [from, to] of [["mat", "umat"], ["umat", "mat"], ["umat", "umat"]] as const) {
          using src = mapTo(v, a, from);
          using dst = mapTo(v, b, to);
          safe(name, () => call(v.cv, src, dst));
        }
      }
    },
  },
  "images of another OpenCV context": {
    run() {
      using e = eye();
      using other = OpenCVContext.open();
      using image = e.cv.mat.create({ shape: [8, 8], dtype: "u8" });
      using foreign = other.mat.create({ shape: [8, 8], dtype: "u8" });
      e.cv.bitwise_not(image, foreign);
    },
    fails: {
      error: ArgumentError,
      api: "opencv",
      argument: "dst",
      message: /belongs to another context than this one/,
      hint: /Open OpenCV once/,
    },
  },
  "operations of a context that was disposed": {
    run() {
      const { cv, graph } = eye();
      using memory = photo();
      const image = graph.map(memory, cv.mat);
      cv[Symbol.dispose]();
      for (const [name, call] of Object.entries(OPERATIONS)) fails(name, () => call(cv, image, image), DisposedError);
      fails("imread", () => cv.imread("/etc/hostname"), DisposedError);
      fails("imwrite", () => cv.imwrite("/tmp/x.png", image), DisposedError);
      fails("imencode", () => cv.imencode(".png", image), DisposedError);
      fails("pageAllocator", () => cv.pageAllocator(), DisposedError);
      fails("defaultAllocator", () => cv.defaultAllocator({ take: 1n, give: 1n }), DisposedError);
      cv.imdecode(new Uint8Array(64));
    },
    fails: { error: DisposedError, api: "core", message: /OpenCV 4\.\S+ was disposed/ },
  },
  "parts of one image that overlap": {
    run() {
      using e = eye();
      using image = photo();
      using whole = e.graph.map(image, e.cv.mat);
      const part = (byteOffset: number, access: Access) =>
        whole.slice({ ...{ shape: [8, 8], dtype: "u8", strides: [64, 1] }, byteOffset, byteLength: 456 }, { access });
      using a = part(0, "read");
      using b = part(8, "read"); // beside the other, but not behind it
      fails("read-only", () => e.cv.bitwise_not(a, b), AccessError);
      using c = part(512, "read-write");
      e.cv.bitwise_not(a, c); // nothing in common
      part(8, "read-write");
    },
    fails: {
      error: AccessError,
      api: "core",
      message: /bytes 0 to 456 are lent to its slice/,
      hint: /Dispose that first/,
    },
  },
  "two owners of one memory, one of which OpenCV works on": {
    run() {
      using e = eye();
      using image = photo();
      using mat = e.graph.map(image, e.cv.mat);
      using again = e.cv.mat.attach(mat.handle);
      e.cv.bitwise_not(mat, again);
    },
    fails: { error: AccessError, api: "core", message: /are lent to opencv\.mat/, hint: /Dispose/ },
  },
  "an output that overlaps an input in part": {
    run() {
      using e = eye();
      using image = photo();
      using whole = e.graph.map(image, e.cv.mat);
      const at = (offset: number) => {
        using header = whole.slice({
          ...{ shape: [8, 8], dtype: "u8", strides: [64, 1] },
          byteOffset: offset,
          byteLength: 456,
        });
        return e.cv.mat.attach(header.handle);
      };
      using a = at(0);
      using b = at(4 * 64 + 4);
      e.graph[Symbol.dispose]();
      using host = image;
      say(host.view()[0]);
      e.cv.bitwise_not(a, b);
    },
    says: ["7"],
    fails: {
      ...{ error: ArgumentError, api: "opencv", argument: "dst", message: / overlap\./ },
      hint: /Pass the same tensor to work in place/,
    },
  },
  "UMats of two contexts": {
    opencl: true,
    run() {
      using v = vision();
      using w = vision();
      using graph = new MapperGraph([host, v.cl, w.cl, v.cv]);
      using a = v.cl.allocate({ shape: [8, 8], dtype: "u8" });
      using b = w.cl.allocate({ shape: [8, 8], dtype: "u8" });
      using src = graph.map(a, v.cv.umat);
      using dst = graph.map(b, v.cv.umat);
      const names = [v.cl.handle, w.cl.handle].map((handle) => `0x${handle.toString(16)}`);
      try {
        v.cv.bitwise_not(src, dst);
      } catch (error) {
        say(names.every((name) => (error as Error).message.includes(name)));
      }
      const { refused } = graph.explain(src, w.cl);
      say(names.every((name) => refused.some(({ reason }) => reason.includes(name))));
      v.cv.bitwise_not(src, dst);
    },
    says: ["true", "true"],
    fails: {
      ...{ error: ArgumentError, api: "opencv", argument: "dst", message: /belongs to another OpenCL context/ },
      hint: /Map both from one OpenCLContext/,
    },
  },
  "an invalid size of a blur": argument(({ cv }, image, size) => cv.GaussianBlur(image, image, size), "ksize"),
  "an invalid size to resize to": argument(({ cv }, image, size) => cv.resize(image, image, size), "dsize"),
  "an invalid conversion": argument(({ cv }, image, code) => cv.cvtColor(image, image, code), "code"),
  "an invalid type of threshold": argument(({ cv }, image, type) => cv.threshold(image, image, 1, 2, type), "type"),
  "an invalid threshold": argument(
    ({ cv }, image, value) => cv.threshold(image, image, value, 2, "binary"),
    "thresh",
    [-1, 1.5],
  ),
  "an invalid threshold of Canny's": argument(
    ({ cv }, image, value) => cv.Canny(image, image, value, 2),
    "threshold1",
    [1.5],
  ),
  "an invalid matrix": argument(({ cv }, image, m) => cv.warpAffine(image, image, m, [8, 8]), "M"),
  "an invalid depth": argument(({ cv }, image, depth) => cv.convertTo(image, image, depth), "rtype"),
  "an invalid axis": argument(({ cv }, image, axis) => cv.flip(image, image, axis), "flipCode"),
  "an invalid mask": argument(
    ({ cv }, image, mask) => cv.copyTo(image, image, { mask }),
    "mask",
    [undefined],
    /Map it first/,
  ),
  "invalid options": argument(
    ({ cv }, image, options) => cv.GaussianBlur(image, image, [3, 3], options),
    "options",
    RUBBISH.filter((value) => value === undefined || (typeof value === "object" && value !== null)),
  ),
  "a kernel and rows that OpenCV cannot keep": {
    run() {
      using e = eye();
      using image = e.cv.mat.create({ shape: [2000, 131_100], dtype: "u8" });
      fails("sigma", () => e.cv.GaussianBlur(image, image, [1, 0], { sigmaX: 4000 }), LayoutError);
      e.cv.GaussianBlur(image, image, [1, 32767]);
    },
    fails: {
      ...{ error: LayoutError, api: "opencv", fn: "GaussianBlur", argument: "src" },
      message: /32767 rows of 131100 values are more than OpenCV can keep/,
    },
  },
  "a row of more values than an int counts bytes": {
    run() {
      using e = eye();
      using image = e.cv.mat.create({ shape: [1, 2 ** 28, 4], dtype: "f64" });
      using small = e.cv.mat.create({ shape: [1, 16, 4], dtype: "f64" });
      fails("flip", () => e.cv.flip(image, image, "y-axis"), LayoutError);
      e.cv.resize(image, small, [16, 1], { interpolation: "nearest" });
    },
    fails: {
      ...{ error: LayoutError, api: "opencv", argument: "src", message: /1073741824 values in a row/ },
      hint: /Slice it/,
    },
  },
  "an image of more bytes than an int counts": {
    run() {
      using e = eye();
      const far = { shape: [7, 40], dtype: "f32", strides: [2 ** 29, 4] } as const;
      using src = e.cv.mat.create(far);
      using dst = e.cv.mat.create(far);
      e.cv.bitwise_not(src, dst);
      work(e.cv, src);
    },
    fails: {
      ...{ error: LayoutError, api: "opencv", argument: "src", message: /reaches over 3221225632 bytes/ },
      hint: /Slice it/,
    },
  },
  "an image of four dimensions": {
    run() {
      using e = eye();
      using image = e.cv.mat.create({ shape: [4, 4, 4, 4], dtype: "u8" });
      e.cv.bitwise_not(image, image); // takes any
      for (const [name, call] of Object.entries(OPERATIONS)) safe(name, () => call(e.cv, image, image));
      work(e.cv, image);
    },
    fails: {
      ...{ error: LayoutError, api: "opencv", argument: "src", message: /has 4 dimensions; an image has rows/ },
      hint: /Slice it, plane by plane/,
    },
  },
});
