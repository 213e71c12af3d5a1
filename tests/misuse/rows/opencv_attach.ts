import { ArgumentError, DisposedError, host, LayoutError, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext, type OpenCVTensor } from "@samepage/interop/opencv";
import { any, fails, say } from "../kit.ts";
import { eye, made, photo, vision, work } from "../opencv.ts";
import { type Failure, type Row, table } from "../row.ts";

/** Where the fields of a `cv::Mat` lie. */
const DIMS = 4, ROWS = 8, DATA = 16, U = 56, SIZE_P = 64, STEP_P = 72, STEP = 80;
const MAT_BYTES = 96;

const unfit = (message: RegExp, hint?: RegExp): Failure => ({
  ...{ error: ArgumentError, api: "opencv", argument: "handle", message },
  ...(hint === undefined ? {} : { hint }),
});

const unreadable: Failure = {
  ...{ error: ArgumentError, api: "opencv", fn: "process_vm_readv", argument: "handle", message: /cannot be read/ },
  hint: /Is the memory still there/,
};

/** Attaches to a copy of a Mat whose bytes were changed. */
function changed(change: (header: DataView, address: bigint) => void, failure: Failure): Row {
  return {
    run() {
      using e = eye();
      using mat = e.cv.mat.create({ shape: [8, 8], dtype: "u8" });
      using copy = host.allocate({ shape: [4096], dtype: "u8" });
      const view = copy.view();
      {
        using header = host.wrap(mat.handle, { shape: [MAT_BYTES], dtype: "u8" });
        view.set(header.view());
      }
      const fields = new DataView(view.buffer, view.byteOffset);
      fields.setBigUint64(SIZE_P, copy.handle + BigInt(ROWS), true);
      fields.setBigUint64(STEP_P, copy.handle + BigInt(STEP), true);
      using _ = e.cv.mat.attach(copy.handle); // so far it is one
      change(fields, copy.handle);
      e.cv.mat.attach(copy.handle);
    },
    fails: failure,
  };
}

/** Attaches to what OpenCV has made. */
function attachedTwice(cv: OpenCVContext, result: OpenCVTensor, attach: (handle: bigint) => OpenCVTensor): void {
  const [a, b] = [attach(result.handle), attach(result.handle)];
  result[Symbol.dispose]();
  work(cv, a);
  a[Symbol.dispose]();
  work(cv, b);
  b[Symbol.dispose]();
  fails("after", () => work(cv, b), DisposedError);
}

export default table(import.meta, {
  "anything but a handle": {
    run() {
      using e = eye();
      for (const handle of [undefined, null, 0n, -1n, 2n ** 64n, 4096, "0x1000", {}, [], () => {}, Symbol.iterator]) {
        fails(String(handle), () => e.cv.mat.attach(any(handle)), ArgumentError);
        fails(String(handle), () => e.cv.umat.attach(any(handle)), ArgumentError);
      }
      e.cv.mat.attach(any({}));
    },
    fails: unfit(/expected an address, got an Object/, /as a bigint or a Deno pointer/),
  },
  "addresses where nothing is": {
    run() {
      using e = eye();
      for (const handle of [1n, 8n, 2n ** 47n, 2n ** 63n, 2n ** 64n - 1n, 2n ** 64n - 96n]) {
        fails(String(handle), () => e.cv.mat.attach(handle), ArgumentError);
        fails(String(handle), () => e.cv.umat.attach(handle), ArgumentError);
      }
      e.cv.umat.attach(1n);
    },
    fails: unreadable,
  },
  "memory that was given back": {
    run() {
      using e = eye();
      const memory = host.allocate({ shape: [2 ** 20], dtype: "u8" });
      const { handle } = memory;
      memory[Symbol.dispose]();
      e.cv.mat.attach(handle);
    },
    fails: unreadable,
  },
  "bytes that are not a Mat": {
    run() {
      using e = eye();
      using memory = host.allocate({ shape: [4096], dtype: "u8" });
      const view = memory.view();
      for (let turn = 0; turn < 200; turn++) {
        crypto.getRandomValues(view);
        if (turn % 2 === 0) view.set([0, 0, 0xff, 0x42]); // what a Mat begins with
        if (turn % 4 === 0) view.set([2, 0, 0, 0], DIMS);
        fails(`${turn}`, () => e.cv.mat.attach(memory.handle), ArgumentError);
        fails(`${turn}`, () => e.cv.umat.attach(memory.handle), ArgumentError);
      }
      view.fill(0);
      e.cv.mat.attach(memory.handle);
    },
    fails: unfit(
      /there is no cv::Mat at this address/,
      /A cv::UMat\? Use cv\.umat\.attach\. Pass the address of the object/,
    ),
  },
  "a Mat of no dimensions": changed((at) => at.setInt32(DIMS, 0, true), unfit(/it is empty/)),
  "a Mat of 33 dimensions": changed((at) => at.setInt32(DIMS, 33, true), unfit(/it has 33 dimensions/)),
  "a Mat of no rows": changed((at) => at.setInt32(ROWS, 0, true), unfit(/it is empty/)),
  "a Mat of -1 rows": changed((at) => at.setInt32(ROWS, -1, true), unfit(/it is empty/)),
  "a Mat without data": changed((at) => at.setBigUint64(DATA, 0n, true), unfit(/the Mat is empty/)),
  "a Mat with data that is not there": changed((at) => at.setBigUint64(DATA, 64n, true), unreadable),
  "a Mat of more rows than there is memory": changed((at) => at.setInt32(ROWS, 2 ** 31 - 1, true), unreadable),
  "a Mat whose steps are not there": changed((at) => at.setBigUint64(STEP_P, 1n, true), unreadable),
  "a Mat whose sizes are not there": changed((at) => at.setBigUint64(SIZE_P, 2n ** 63n, true), unreadable),
  "a Mat whose owners are not there": changed((at) => at.setBigUint64(U, 0x4141_4141_4141n, true), unreadable),
  "a Mat without an owner": changed(
    (at, address) => at.setBigUint64(U, address + 2048n, true),
    unfit(/its memory has no owner/),
  ),
  "a Mat whose step is shorter than its row": changed(
    (at) => at.setBigUint64(STEP, 3n, true),
    {
      ...{ error: LayoutError, api: "core", argument: "strides[0]" },
      ...{ message: /3 is less than/, hint: /Strides are in bytes/ },
    },
  ),
  "a UMat as a Mat, and the reverse": {
    opencl: true,
    run() {
      using v = vision();
      using image = photo();
      using umat = v.graph.map(image, v.cv.umat);
      using mat = v.cv.mat.create({ shape: [8, 8], dtype: "u8" });
      fails("UMat", () => v.cv.mat.attach(umat.handle), ArgumentError);
      using volume = v.cv.mat.create({ shape: [2, 3, 4, 5], dtype: "u8" });
      fails("more dimensions", () => v.cv.umat.attach(volume.handle), ArgumentError);
      v.cv.umat.attach(mat.handle);
    },
    fails: unfit(/there is no cv::UMat at this address, but a cv::Mat/, /Use cv\.mat\.attach/),
  },
  "a UMat that OpenCV cannot make": {
    run() {
      using e = eye();
      for (const init of [null, {}, { shape: [0, 4], dtype: "u8" }, { shape: [4, 4], dtype: "u8", strides: [8, 1] }]) {
        fails(JSON.stringify(init), () => e.cv.umat.create(any(init)), LayoutError);
      }
      const ended = OpenCVContext.open();
      ended[Symbol.dispose]();
      fails("an ended context", () => ended.umat.create({ shape: [4, 4], dtype: "u8" }), DisposedError);
      e.cv.umat.create({ shape: [4, 4], dtype: "u64" });
    },
    fails: { error: LayoutError, api: "opencv", argument: "dtype", message: /has no Mat of u64/, hint: /Convert it/ },
  },
  "a UMat of samepage's own": {
    opencl: true,
    run() {
      using v = vision();
      using image = photo();
      using umat = v.graph.map(image, v.cv.umat);
      v.cv.umat.attach(umat.handle);
    },
    fails: unfit(/the UMat belongs to a samepage tensor/, /Slice that tensor, or map it/),
  },
  "a Mat of samepage's own, which goes away": {
    run() {
      using e = eye();
      const image = photo();
      const mat = e.graph.map(image, e.cv.mat);
      const again = e.cv.mat.attach(mat.handle);
      fails("lent", () => work(e.cv, again));
      mat[Symbol.dispose]();
      work(e.cv, again);
      image[Symbol.dispose]();
      work(e.cv, again); // a peer: the bytes are there as long as it is
      again[Symbol.dispose]();
    },
  },
  "what OpenCV has made, twice; the first goes away": {
    run() {
      using e = eye();
      const result = made(e.cv, (tensor) => e.graph.map(tensor, e.cv.mat));
      attachedTwice(e.cv, result, (handle) => e.cv.mat.attach(handle));
    },
  },
  "a UMat that OpenCV has made, twice; the first goes away": {
    opencl: true,
    env: { OPENCV_OPENCL_DEVICE: ":CPU:" },
    run() {
      using cv = OpenCVContext.open();
      using cl = OpenCLContext.attach(cv.openCLContext!);
      using graph = new MapperGraph([host, cl, cv]);
      const result = made(cv, (tensor) => graph.map(tensor, cv.umat));
      attachedTwice(cv, result, (handle) => cv.umat.attach(handle));
    },
  },
  "invalid options": {
    run() {
      using e = eye();
      using mat = e.cv.mat.create({ shape: [8, 8], dtype: "u8" });
      for (const options of [null, 5, { access: "all" }, { access: 5 }]) {
        fails(JSON.stringify(options), () => e.cv.mat.attach(mat.handle, any(options)), ArgumentError);
        fails(JSON.stringify(options), () => e.cv.umat.attach(mat.handle, any(options)), ArgumentError);
      }
    },
  },
  "read-only, and written": {
    run() {
      using e = eye();
      const result = made(e.cv, (tensor) => e.graph.map(tensor, e.cv.mat));
      using _ = result;
      using mat = e.cv.mat.attach(result.handle, { access: "read" });
      fails("written", () => work(e.cv, mat));
      const view = e.graph.map(mat, host);
      say(view.access, view.view({ access: "read" }).length);
      view[Symbol.dispose]();
    },
    says: ["read 4096"],
  },
});
