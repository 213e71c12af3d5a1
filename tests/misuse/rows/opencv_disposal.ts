import { AccessError, DisposedError, host, MapperGraph } from "@samepage/interop";
import { OpenCVContext, type OpenCVMat } from "@samepage/interop/opencv";
import { any, collect, fails, say } from "../kit.ts";
import { eye, made, onBoth, photo, vision, work } from "../opencv.ts";
import { type Failure, table } from "../row.ts";

const disposed = (message: RegExp): Failure => ({ error: DisposedError, api: "core", message });

/** All orders of some things. */
function orders<T>(of: readonly T[]): T[][] {
  if (of.length === 0) return [[]];
  return of.flatMap((first, i) => orders(of.toSpliced(i, 1)).map((rest) => [first, ...rest]));
}

export default table(import.meta, {
  "a Mat used after dispose": {
    run() {
      using e = eye();
      using image = photo();
      const mat = e.graph.map(image, e.cv.mat);
      mat[Symbol.dispose]();
      mat[Symbol.dispose]();
      fails("handle", () => mat.handle, DisposedError);
      fails("data", () => mat.data, DisposedError);
      fails("slice", () => mat.slice(mat.layout), DisposedError);
      fails("map", () => e.graph.map(mat, host), DisposedError);
      say(mat.type, mat.name.startsWith("opencv.mat"), mat.access, mat.rows, mat.cols, mat.channels);
      work(e.cv, mat);
    },
    says: ["CV_8UC1 true read-write 64 64 1"],
    fails: disposed(/opencv\.mat .* map of host tensor \[64,64\] u8 was disposed\. /),
  },
  "a UMat used after dispose": {
    opencl: true,
    run() {
      using v = vision();
      using image = photo();
      const umat = v.graph.map(image, v.cv.umat);
      umat[Symbol.dispose]();
      fails("handle", () => umat.handle, DisposedError);
      fails("slice", () => umat.slice(umat.layout), DisposedError);
      fails("map", () => v.graph.map(umat, v.cl), DisposedError);
      work(v.cv, umat);
    },
    fails: disposed(/opencv\.umat .* was disposed\. /),
  },
  "Mat and UMat used after their source was disposed": {
    opencl: true,
    run() {
      using v = vision();
      onBoth(v, (map, kind) => {
        const image = photo();
        const mapped = map(image);
        image[Symbol.dispose]();
        fails(kind, () => work(v.cv, mapped), DisposedError);
        mapped[Symbol.dispose]();
      });
      const image = photo();
      const mat = v.graph.map(image, v.cv.mat);
      image[Symbol.dispose]();
      work(v.cv, mat);
    },
    fails: disposed(/was disposed with host tensor/),
  },
  "a Mat's memory freed while it is mapped": {
    run() {
      using e = eye();
      using mat = e.cv.mat.create({ shape: [64, 64], dtype: "u8" });
      const mapped = e.graph.map(mat, host);
      const view = mapped.view();
      mat[Symbol.dispose]();
      say(view.length);
      mapped.view();
    },
    says: ["0"],
    fails: disposed(/was disposed with opencv mat \[64,64\] u8/),
  },
  "used after its context was disposed": {
    opencl: true,
    run() {
      const v = vision();
      using image = photo();
      const mat = v.graph.map(image, v.cv.mat, { access: "read" });
      const umat = v.graph.map(image, v.cv.umat, { access: "read" });
      v.cv[Symbol.dispose]();
      v.cv[Symbol.dispose]();
      for (const mapped of [mat, umat]) fails(mapped.name, () => mapped.handle, DisposedError);
      fails("create", () => v.cv.mat.create({ shape: [4], dtype: "u8" }), DisposedError);
      fails("attach", () => v.cv.mat.attach(4096n), DisposedError);
      fails("openCLContext", () => v.cv.openCLContext, DisposedError);
      fails("map", () => v.graph.map(image, v.cv.mat), DisposedError);
      fails("operation", () => work(v.cv, mat), DisposedError);
      using _ = v.cl;
      v.graph.map(image, v.cv.umat);
    },
    fails: disposed(/OpenCV 4\.\S+ was disposed/),
  },
  "a UMat used after its OpenCL context was disposed": {
    opencl: true,
    run() {
      using v = vision();
      using image = photo();
      const umat = v.graph.map(image, v.cv.umat);
      v.cl[Symbol.dispose]();
      fails("explain", () => v.graph.explain(image, v.cl), DisposedError);
      say(v.graph.explain(image, v.cv.umat).open);
      using mat = v.graph.map(image, v.cv.mat);
      work(v.cv, mat); // OpenCV goes on without it
      work(v.cv, umat);
    },
    says: ["false"],
    fails: disposed(/was disposed with/),
  },
  "disposed in every order": {
    opencl: "Portable",
    run() {
      for (const order of orders(["cv", "cl", "graph", "source", "map", "slice"] as const)) {
        const { cv, cl, graph } = vision();
        const source = photo();
        const map = graph.map(source, cv.umat);
        const slice = map.slice({ ...map.layout });
        work(cv, slice);
        const all = { cv, cl, graph, source, map, slice };
        for (const name of order) all[name][Symbol.dispose]();
        fails(order.join(), () => work(cv, map), DisposedError);
      }
    },
  },
  "disposed in every order, a result of OpenCV's own": {
    opencl: "Portable",
    run() {
      for (const order of orders(["cv", "cl", "graph", "result", "back"] as const)) {
        const { cv, cl, graph } = vision();
        const result = made(cv, (tensor) => graph.map(tensor, cv.umat));
        const back = graph.map(result, host);
        const all = { cv, cl, graph, result, back };
        for (const name of order) all[name][Symbol.dispose]();
      }
    },
  },
  "another OpenCV context goes on when one is disposed": {
    opencl: true,
    run() {
      using v = vision();
      const other = OpenCVContext.open();
      const graph = new MapperGraph([host, v.cl, other]);
      using image = photo();
      for (let i = 0; i < 3; i++) {
        using umat = v.graph.map(image, v.cv.umat);
        work(v.cv, umat);
        fails("foreign", () => work(other, umat));
      }
      const umat = graph.map(image, other.umat);
      work(other, umat);
      other[Symbol.dispose]();
      using again = v.graph.map(image, v.cv.umat);
      work(v.cv, again);
      say(v.cv.mat === other.mat);
    },
    says: ["false"],
  },
  "disposed in a lend": {
    opencl: true,
    async run() {
      using v = vision();
      const image = photo();
      const umat = v.graph.map(image, v.cv.umat);
      using mapped = v.graph.map(umat, host);
      await mapped.lend(async (view) => {
        umat[Symbol.dispose]();
        fails("operation", () => work(v.cv, umat), DisposedError);
        await Promise.resolve();
        view[0] = 1;
      });
      await umat[Symbol.asyncDispose]();
      say(image.view()[0]);
      image[Symbol.dispose]();
    },
    says: ["1"],
  },
  "forgotten while OpenCV's queue is at work": {
    opencl: true,
    async run() {
      const v = vision();
      const image = photo(512, 512);
      (() => {
        for (let i = 0; i < 8; i++) {
          const umat = v.graph.map(image, v.cv.umat, { access: "read" });
          const result = v.cl.allocate({ shape: [512, 512], dtype: "u8" });
          v.cv.GaussianBlur(umat, v.graph.map(result, v.cv.umat), [31, 31]);
        }
      })();
      for (let i = 0; i < 4; i++) await collect();
      image[Symbol.dispose]();
      v[Symbol.dispose]();
    },
    warns: /never disposed/,
  },
  "forgotten Mats": {
    async run() {
      using e = eye();
      (() => {
        for (let i = 0; i < 100; i++) work(e.cv, e.cv.mat.create({ shape: [64, 64], dtype: "u8" }));
      })();
      for (let i = 0; i < 4; i++) await collect();
    },
    warns: /opencv mat \[64,64\] u8 was never disposed/,
  },
  "10,000 live Mats": {
    run() {
      const e = eye();
      const image = photo(100, 100);
      const mats: OpenCVMat[] = [];
      for (let y = 0; y < 100; y++) {
        for (let x = 0; x < 100; x++) {
          const at = { shape: [1, 1], dtype: "u8", strides: [100, 1], byteOffset: y * 100 + x, byteLength: 1 } as const;
          mats.push(e.graph.map(image.slice(at), e.cv.mat));
        }
      }
      say(new Set(mats.map(({ handle }) => handle)).size);
      for (const mat of mats) work(e.cv, mat);
      e[Symbol.dispose]();
      fails("after", () => mats[9999].handle, DisposedError);
      image[Symbol.dispose]();
    },
    says: ["10000"],
  },
  "1,000 live UMats": {
    opencl: true,
    run() {
      const v = vision();
      const images = Array.from({ length: 1000 }, () => photo(8, 8));
      const umats = images.map((image) => v.graph.map(image, v.cv.umat));
      for (const umat of umats.slice(0, 100)) work(v.cv, umat);
      v[Symbol.dispose]();
      for (const image of images) image[Symbol.dispose]();
      say(any<number>(umats.filter(({ resource }) => resource.state === "live").length));
    },
    says: ["0"],
  },
  "a source disposed with a live writing child that OpenCV works on": {
    opencl: true,
    run() {
      using v = vision();
      using image = photo();
      using umat = v.graph.map(image, v.cv.umat);
      using _ = umat.slice({ ...umat.layout });
      work(v.cv, umat);
    },
    fails: {
      error: AccessError,
      api: "core",
      message: /cannot be used for "read": bytes 0 to 4096 are lent to its slice/,
      hint: /Dispose that first/,
    },
  },
});
