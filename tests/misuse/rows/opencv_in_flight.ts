import { AccessError, host, NativeCallError, NoRouteError } from "@samepage/interop";
import type { OpenCLContext } from "@samepage/interop/opencl";
import { fails, type Opening, opening, say } from "../kit.ts";
import { adder, eye, onBoth, photo, type Vision, vision, work } from "../opencv.ts";
import { type Failure, type Row, table } from "../row.ts";

/** A C program's buffer with these flags, as `cl.attach` gets it; no entry point makes one. */
const CL_MEM_READ_ONLY = 1n << 2n, CL_MEM_WRITE_ONLY = 1n << 1n;
const CL_MEM_HOST_WRITE_ONLY = 1n << 7n, CL_MEM_HOST_READ_ONLY = 1n << 8n, CL_MEM_HOST_NO_ACCESS = 1n << 9n;

const unset: Failure = {
  error: AccessError,
  ...{ api: "host", argument: "fence" },
  message: /could never end: the work waits for a promise that is not settled/,
  hint: /Settle it first, or await instead/,
};

/** Has OpenCV work on bytes that a kernel has, behind a promise that is not settled; the end is in order all the same. */
function behindUnset(use: (v: Vision, event: Opening) => Promise<unknown>): Row {
  return {
    opencl: true,
    async run() {
      using v = vision();
      using event = opening();
      await use(v, event);
    },
  };
}

/** Maps a buffer of these flags to a UMat. */
function flagged(flags: bigint): Row {
  return {
    opencl: true,
    run() {
      using v = vision();
      const mem = bufferOf(v.cl, flags);
      using buffer = v.cl.attach(mem.handle, { shape: [64, 64], dtype: "u8" });
      mem.release();
      using umat = v.graph.map(buffer, v.cv.umat);
      work(v.cv, umat);
    },
    fails: {
      ...{ error: NoRouteError, api: "core", argument: "target" },
      message: /the buffer was made with CL_MEM_\w+, and OpenCV maps a UMat for the host/,
      hint: /Make it without that flag|Map it for "(read|write)"/,
      has: { refused: /CL_MEM_/ },
    },
  };
}

/** clCreateBuffer, as another library would call it. */
function bufferOf(cl: OpenCLContext, flags: bigint): { handle: bigint; release(): void } {
  const { symbols } = Deno.dlopen("libOpenCL.so.1", {
    clCreateBuffer: { parameters: ["u64", "u64", "usize", "u64", "buffer"], result: "u64" },
    clReleaseMemObject: { parameters: ["u64"], result: "i32" },
  });
  const handle = symbols.clCreateBuffer(cl.handle, flags, 4096n, 0n, new Int32Array(1));
  if (handle === 0n) throw new Error("no buffer");
  return { handle, release: () => void symbols.clReleaseMemObject(handle) };
}

export default table(import.meta, {
  "an operation on a UMat behind a promise that is not settled": behindUnset(async ({ cv, cl, graph }, event) => {
    using buffer = cl.allocate({ shape: [64, 64], dtype: "u8" });
    using other = cl.allocate({ shape: [64, 64], dtype: "u8" });
    adder(cl).run({ items: [4096] }, [buffer], { after: event.fence });
    const umat = graph.map(buffer, cv.umat);
    fails("operation", () => work(cv, umat), AccessError);
    fails("dispose", () => umat[Symbol.dispose](), AccessError);
    using beside = graph.map(other, cv.umat); // what waits for nothing goes on
    work(cv, beside);
    await event.complete();
    await umat[Symbol.asyncDispose]();
    using again = graph.map(buffer, cv.umat);
    work(cv, again);
  }),
  "an operation on a Mat behind a promise that is not settled": behindUnset(async ({ cv, cl, graph }, event) => {
    const image = photo();
    const mat = graph.map(image, cv.mat);
    mat.usedBy(event.fence);
    fails("operation", () => work(cv, mat), AccessError);
    await event.complete();
    work(cv, mat);
    cl.queue.finish();
    image[Symbol.dispose]();
  }),
  "an operation on both, one of them behind a promise that is not settled": behindUnset(
    async ({ cv, graph }, event) => {
      using a = photo();
      using b = photo();
      using mat = graph.map(a, cv.mat);
      const umat = graph.map(b, cv.umat);
      umat.usedBy(event.fence);
      fails("from", () => cv.GaussianBlur(umat, mat, [3, 3]), AccessError);
      fails("to", () => cv.GaussianBlur(mat, umat, [3, 3]), AccessError);
      await event.complete();
      await umat[Symbol.asyncDispose]();
    },
  ),
  "a UMat mapped after a promise that is not settled, to the host": {
    opencl: true,
    async run() {
      using v = vision();
      using image = photo();
      using event = opening();
      const umat = v.graph.map(image, v.cv.umat);
      umat.usedBy(event.fence);
      try {
        v.graph.map(umat, v.cv.mat);
      } finally {
        await event.complete();
        await umat[Symbol.asyncDispose]();
      }
    },
    fails: unset,
  },
  "an operation behind a fence that has failed": {
    opencl: true,
    async run() {
      using v = vision();
      const image = photo();
      const umat = v.graph.map(image, v.cv.umat);
      using event = opening();
      const queue = v.cl.createQueue();
      const behind = queue.waitFor(event.fence);
      umat.usedBy(behind);
      await event.fail();
      await behind.wait().catch(() => {});
      for (let i = 0; i < 3; i++) work(v.cv, umat);
      fails("dispose", () => umat[Symbol.dispose](), NativeCallError);
      fails("the queue", () => queue[Symbol.dispose](), NativeCallError);
      say(image.view()[0]); // all bytes are the same
      image[Symbol.dispose]();
    },
    says: ["7"],
  },
  "a buffer that the host may not map": flagged(CL_MEM_HOST_NO_ACCESS),
  "a buffer that the host may only read": flagged(CL_MEM_HOST_READ_ONLY),
  "a buffer that the host may only write": flagged(CL_MEM_HOST_WRITE_ONLY),
  "a buffer that kernels may only read": flagged(CL_MEM_READ_ONLY),
  "a buffer that kernels may only write": flagged(CL_MEM_WRITE_ONLY),
  "a read-only Mat and UMat as an output": {
    opencl: true,
    run() {
      using v = vision();
      using image = photo();
      using mat = v.graph.map(image, v.cv.mat, { access: "read" });
      using umat = v.graph.map(image, v.cv.umat, { access: "read" });
      fails("mat", () => work(v.cv, mat), AccessError);
      work(v.cv, umat);
    },
    fails: {
      ...{
        error: AccessError,
        api: "core",
        argument: "access",
        message: /was lent for "read" and cannot be used for "write"/,
        hint: /access: "read-write"/,
      },
    },
  },
  "a write-only Mat as an input": {
    run() {
      using image = photo();
      using v = eye();
      using mat = v.graph.map(image, v.cv.mat, { access: "write" });
      work(v.cv, mat);
    },
    fails: {
      error: AccessError,
      api: "core",
      argument: "access",
      message: /was lent for "write" and cannot be used for "read"/,
      hint: /access: "read-write"/,
    },
  },
  "an output that is lent to a child": {
    opencl: true,
    run() {
      using v = vision();
      onBoth(v, (map, kind) => {
        using a = photo();
        using b = photo();
        using src = map(a);
        using dst = map(b);
        {
          using child = dst.borrow("read");
          fails(`${kind} being read`, () => v.cv.GaussianBlur(src, dst, [3, 3]), AccessError);
          fails(`${kind} read-only`, () => v.cv.GaussianBlur(src, child, [3, 3]), AccessError);
        }
        using child = v.graph.map(src, host);
        fails(`${kind} being written`, () => v.cv.GaussianBlur(src, dst, [3, 3]), AccessError);
        say(child.view()[0]);
      });
    },
    says: ["7", "7"],
  },
  "bytes that OpenCV has, viewed": {
    opencl: true,
    run() {
      using v = vision();
      onBoth(v, (map, kind) => {
        using image = photo();
        const before = image.view();
        using mapped = map(image);
        say(before.length);
        fails(kind, () => image.view(), AccessError);
        fails(kind, () => image.view({ access: "read" }), AccessError);
        fails(kind, () => v.graph.map(image, v.cv.mat), AccessError);
        fails(kind, () => v.graph.map(image, v.cl), AccessError);
        work(v.cv, mapped);
      });
    },
    says: ["0", "0"],
  },
});
