import { ArgumentError, DisposedError, host, LayoutError, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { gpuMatHeader, OpenCVContext } from "@samepage/interop/opencv";
import { any, collect, fails, open, safe, say } from "../kit.ts";
import { eye, photo, vision, work } from "../opencv.ts";
import { table } from "../row.ts";

const GPU = { pointer: 0x7f00_0000_0000n, rows: 4, cols: 8, dtype: "u8" } as const;

export default table(import.meta, {
  "300 contexts at once": {
    run() {
      const contexts = Array.from({ length: 300 }, () => OpenCVContext.open());
      for (const cv of contexts) work(cv, cv.mat.create({ shape: [8, 8], dtype: "u8" }));
      for (const cv of contexts) cv[Symbol.dispose]();
    },
  },
  "an option, although OpenCV has no options": {
    run: () => OpenCVContext.open(any({ device: "gpu" })),
    fails: {
      error: ArgumentError,
      api: "core",
      argument: "options",
      message: /unknown property device/,
      hint: /^Leave it out: there are no options/,
    },
  },
  "a string in place of options, to open OpenCV": {
    run: () => OpenCVContext.open(any("gpu")),
    fails: { error: ArgumentError, api: "core", argument: "options", message: /expected an object, got "gpu"/ },
  },
  "50 OpenCL contexts, one after the other": {
    opencl: true,
    run() {
      using cv = OpenCVContext.open();
      using image = photo(8, 8);
      for (let i = 0; i < 50; i++) {
        using cl = open();
        using graph = new MapperGraph([host, cl, cv]);
        using umat = graph.map(image, cv.umat);
        cv.bitwise_not(umat, umat);
      }
      say(image.view()[0]);
    },
    says: ["7"],
  },
  "the same OpenCL context twice, the first disposed": {
    opencl: true,
    run() {
      const cl = open();
      using again = OpenCLContext.attach(cl.handle);
      using cv = OpenCVContext.open();
      using graph = new MapperGraph([host, cl, again, cv]);
      using a = cl.allocate({ shape: [8, 8], dtype: "u8" });
      using b = again.allocate({ shape: [8, 8], dtype: "u8" });
      cl.queue.fill(a, 7);
      const [first, second] = [graph.map(a, cv.umat), graph.map(b, cv.umat)];
      cv.bitwise_not(first, second);
      cl[Symbol.dispose]();
      fails("the first", () => cv.bitwise_not(first, first), DisposedError);
      safe("the second", () => cv.bitwise_not(second, second));
      second[Symbol.dispose]();
      using third = graph.map(b, cv.umat);
      cv.bitwise_not(third, third);
      using out = graph.map(third, host);
      say(out.view()[0] === out.view()[63]);
    },
    says: ["true"],
  },
  "the queue of the OpenCL context disposed": {
    opencl: true,
    run() {
      using v = vision();
      using image = photo();
      const umat = v.graph.map(image, v.cv.umat);
      work(v.cv, umat);
      v.cl.queue[Symbol.dispose]();
      safe("operation", () => work(v.cv, umat));
      safe("dispose", () => umat[Symbol.dispose]());
      say(v.graph.explain(image, v.cv.umat).open);
    },
    says: ["false"],
  },
  "forgotten contexts": {
    async run() {
      (() => {
        for (let i = 0; i < 50; i++) OpenCVContext.open().mat.create({ shape: [8, 8], dtype: "u8" });
      })();
      for (let i = 0; i < 4; i++) await collect();
    },
    warns: /opencv mat \[8,8\] u8 was never disposed/,
  },
  "kinds that are mixed up": {
    opencl: true,
    run() {
      using v = vision();
      using other = OpenCVContext.open();
      using image = photo();
      using mat = v.graph.map(image, v.cv.mat, { access: "read" });
      using umat = v.graph.map(image, v.cv.umat, { access: "read" });
      say(v.cv.mat.is(mat), v.cv.mat.is(umat), v.cv.umat.is(umat), other.mat.is(mat), mat.context === v.cv);
      for (const value of [null, undefined, 5, {}, image]) say(safe("is", () => v.cv.mat.is(any(value))));
      fails("another context's", () => v.graph.map(image, other.mat), ArgumentError);
      v.graph.map(image, any(v.cv));
    },
    says: ["true false true false true", "false", "false", "false", "false", "false"],
    fails: { error: ArgumentError, api: "core", argument: "target", message: /pass one of them/ },
  },
  "a constructor that is not the program's": {
    run() {
      const Own = any<new (version?: string) => OpenCVContext>(OpenCVContext);
      for (const version of ["4.6.0", undefined]) {
        using cv = new Own(version);
        work(cv, cv.mat.create({ shape: [8, 8], dtype: "u8" }));
      }
    },
  },
  "an invalid GpuMat": {
    run() {
      say(gpuMatHeader(GPU).length);
      for (const value of [undefined, null, 0, -1, NaN, 1.5, 2 ** 31, 2 ** 64, "4", 4n, {}]) {
        fails("rows", () => gpuMatHeader({ ...GPU, rows: any(value) }), ArgumentError);
        fails("cols", () => gpuMatHeader({ ...GPU, cols: any(value) }), ArgumentError);
        if (value !== undefined) fails("channels", () => gpuMatHeader({ ...GPU, channels: any(value) }), ArgumentError);
      }
      for (const pointer of [0n, -1n, 2n ** 64n, 2n ** 64n - 1n, 4096, null, undefined, {}]) {
        fails("pointer", () => gpuMatHeader({ ...GPU, pointer: any(pointer) }), ArgumentError);
      }
      for (const dtype of ["u32", "i64", "", null, 5, "constructor"]) {
        fails("dtype", () => gpuMatHeader({ ...GPU, dtype: any(dtype) }), LayoutError);
      }
      fails("too much", () => gpuMatHeader({ ...GPU, rows: 2 ** 31 - 1, step: 2 ** 40 }), LayoutError);
      fails("no object", () => gpuMatHeader(any(undefined)), ArgumentError);
      for (const layout of [undefined, null, 5, "x", {}, { shape: [2], dtype: "u8", strides: ["1"] }]) {
        fails("layout", () => gpuMatHeader({ address: 4096n, layout: any(layout) }), LayoutError);
      }
      gpuMatHeader({ ...GPU, step: 7 });
    },
    says: ["64"],
    fails: {
      error: LayoutError,
      api: "opencv",
      argument: "step",
      message: /expected at least 8, the bytes of a row, got 7/,
    },
  },
  "OpenCV's own OpenCL, attached to and disposed": {
    opencl: true,
    env: { OPENCV_OPENCL_DEVICE: ":CPU:" },
    run() {
      using cv = OpenCVContext.open();
      for (let i = 0; i < 5; i++) {
        using cl = OpenCLContext.attach(cv.openCLContext!);
        using graph = new MapperGraph([host, cl, cv]);
        using image = photo(8, 8);
        using umat = graph.map(image, cv.umat);
        cv.bitwise_not(umat, umat);
      }
      using e = eye();
      say(e.cv.openCLContext === cv.openCLContext);
    },
    says: ["true"],
  },
});
