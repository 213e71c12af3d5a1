import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  LayoutError,
  MapperGraph,
  NativeCallError,
  region,
} from "@samepage/interop";
import { LocalMemory, type OpenCLContext } from "@samepage/interop/opencl";
import { any, fails, open, safe, same, say, withKernel } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

/** A run in which one argument is something else: `o` a pointer, `n` an int, `v` a float4, `l` local memory. */
function refused(
  argument: "o" | "n" | "v" | "l",
  value: (cl: OpenCLContext) => unknown,
  message: RegExp,
  more: Partial<Failure> = {},
): Row {
  return {
    opencl: true,
    run: withKernel(({ cl, k, good }) => {
      using whole = new DisposableStack();
      const given = value(cl);
      if (typeof given === "object" && given !== null && Symbol.dispose in given) whole.use(given as Disposable);
      k.run({ items: [1] }, good.with("onvl".indexOf(argument), any(given)));
    }),
    fails: { error: ArgumentError, api: "opencl", fn: "clSetKernelArg", argument, message, ...more },
  };
}

export default table(import.meta, {
  "a struct of too few bytes": {
    opencl: true,
    run() {
      using cl = open();
      using program = cl.program(`
        typedef struct { int a[16]; } big;
        typedef int mine;
        kernel void k(global int* o, big v) { for (int i = 0; i < 16; i++) o[i] = v.a[i]; }
        kernel void l(global int* o, mine v) { o[0] = v; }`);
      using o = cl.allocate({ shape: [16], dtype: "i32" });
      for (const name of ["k", "l"]) {
        using kernel = program.kernel(name);
        for (const bytes of [1, 2, 12]) {
          fails(name, () => kernel.run({ items: [1] }, [o, new Uint8Array(bytes)]), ArgumentError, NativeCallError);
        }
      }
      using l = program.kernel("l");
      l.run({ items: [1] }, [o, Int32Array.of(7)]);
      const told = new Int32Array(16);
      cl.queue.read(o, told);
      say(told[0]);
    },
    says: ["7"],
  },
  "a vector by another name, at an odd address": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using program = cl.program("typedef float4 f4; kernel void k(global f4* p) { p[0] = p[1] * 2.0f; }");
      using k = program.kernel("k");
      using t = host.allocate({ shape: [1024], dtype: "f32" });
      using part = t.slice(region(t.layout, [1], [1000]));
      using mapped = graph.map(part, cl);
      k.run({ items: [1] }, [mapped]);
    },
    fails: {
      error: LayoutError,
      ...{ api: "opencl", fn: "clSetKernelArg", argument: "p" },
      message: /multiple of 128 bytes/,
      hint: /take a pointer to numbers/,
    },
  },
  "one missing": {
    opencl: true,
    run: withKernel(({ k, good }) => k.run({ items: [1] }, good.slice(1))),
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clEnqueueNDRangeKernel", argument: "args" },
      message: /expected 4 arguments \(int\* o, int n, float4 v, int\* l\), got 3/,
    },
  },
  "none for a kernel of one parameter": {
    opencl: true,
    run: () => {
      using cl = open();
      using program = cl.program("kernel void one(global int *a) {}");
      using k = program.kernel("one");
      k.run({ items: [1] }, []);
    },
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clEnqueueNDRangeKernel", argument: "args" },
      message: /expected 1 argument \(int\* a\), got 0/,
    },
  },
  "no array": {
    opencl: true,
    run: withKernel(({ k }) => k.run({ items: [1] }, any({ length: 4 }))),
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clEnqueueNDRangeKernel", argument: "args" },
      message: /expected an array/,
    },
  },
  "a number for a pointer": refused("o", () => 5, /k: argument 0 \(int\* o\)/, { hint: /Map the tensor/ }),
  "a handle for a pointer": refused("o", () => 5n, /got a bigint/, { hint: /not its handle/ }),
  "a typed array for a pointer": refused("o", () => new Int32Array(4), /got an Int32Array/, { hint: /host\.wrap/ }),
  "a host tensor for a pointer": refused("o", () => host.allocate({ shape: [4], dtype: "i32" }), /got a HostTensor/, {
    hint: /Map the tensor/,
  }),
  "a pointer's tensor of another dtype": refused(
    "o",
    (cl) => cl.allocate({ shape: [4], dtype: "f32" }),
    /it points to i32; .* holds f32/,
    { hint: /Slice the tensor/ },
  ),
  "local memory for global memory": refused(
    "o",
    () => new LocalMemory(64),
    /expected a tensor in memory of the device/,
    {
      hint: /Map the tensor/,
    },
  ),
  "global memory for local memory": refused("l", (cl) => cl.allocate({ shape: [4], dtype: "i32" }), /local memory/, {
    hint: /new LocalMemory/,
  }),
  "a tensor for a number": refused("n", (cl) => cl.allocate({ shape: [4], dtype: "i32" }), /got an OpenCLTensor/),
  "a text for a number": refused("n", () => "1", /got a string/),
  "a fraction for an int": refused("n", () => 1.5, /expected a whole number from .*, got 1\.5/),
  "2^31 for an int": refused("n", () => 2 ** 31, /expected a whole number from .*, got 2147483648/),
  "2^64 for an int": refused("n", () => 2n ** 64n, /expected a whole number from .*, got 18446744073709551616/),
  "NaN for an int": refused("n", () => NaN, /expected a whole number from .*, got NaN/),
  "too few elements for a vector": refused("v", () => [1, 2, 3], /expected 4 elements, got 3/),
  "too many bytes for a vector": refused("v", () => new Float32Array(8), /expected 16 bytes, got 32/),
  "more local memory than the device has": {
    opencl: true,
    run: withKernel(({ k, good }) => k.run({ items: [1] }, good.with(3, any(new LocalMemory(2 ** 40))))),
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clEnqueueNDRangeKernel", argument: "args" },
      message: /bytes of local memory are more than the device's/,
    },
  },
  "a buffer of another context": {
    opencl: true,
    run: withKernel(({ k, good }) => {
      using other = open();
      k.run({ items: [1] }, good.with(0, any(other.allocate({ shape: [64], dtype: "i32" }))));
    }),
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clSetKernelArg", argument: "o" },
      message: /belongs to another context of/,
    },
  },
  "a tensor that was disposed": {
    opencl: true,
    run: withKernel(({ cl, k, good }) => {
      const t = cl.allocate({ shape: [64], dtype: "i32" });
      t[Symbol.dispose]();
      k.run({ items: [1] }, good.with(0, any(t)));
    }),
    fails: {
      error: DisposedError,
      api: "core",
      argument: "o",
      message: /k: argument 0 \(int\* o\): opencl tensor \[64\] i32 was disposed/,
    },
  },
  "a tensor that was mapped for reading, written": {
    opencl: true,
    run: withKernel(({ cl, k, good }) => {
      using graph = new MapperGraph([host, cl]);
      using t = host.allocate({ shape: [64], dtype: "i32" });
      k.run({ items: [1] }, good.with(0, any(graph.map(t, cl, { access: "read" }))));
    }),
    fails: {
      error: AccessError,
      ...{ api: "opencl", fn: "clSetKernelArg", argument: "o" },
      message: /may be written, and .* was mapped for "read"/,
      hint: /Declare the pointer const/,
    },
  },
  "a tensor that is mapped to the host": {
    opencl: true,
    run: withKernel(({ cl, k, good }) => {
      using graph = new MapperGraph([host, cl]);
      using t = cl.allocate({ shape: [64], dtype: "i32" });
      using _ = graph.map(t, host);
      k.run({ items: [1] }, good.with(0, any(t)));
    }),
    fails: { error: AccessError, api: "core", argument: "o", message: /are lent to/, hint: /Dispose/ },
  },
  "a part that no sub-buffer can begin at": {
    opencl: true,
    run: withKernel(({ cl, k, good }) => {
      using t = cl.allocate({ shape: [64], dtype: "i32" });
      using part = t.slice(region(t.layout, [1], [4]));
      k.run({ items: [1] }, good.with(0, any(part.base)));
      k.run({ items: [1] }, good.with(0, any(part)));
    }),
    fails: {
      error: LayoutError,
      ...{ api: "opencl", fn: "clSetKernelArg", argument: "o" },
      message: /begins 4 bytes into its cl_mem/,
      hint: /Pass tensor\.base/,
    },
  },
  "local memory whose size is changed": {
    opencl: true,
    run() {
      using cl = open();
      using program = cl.program("kernel void k(local int* l) { l[0] = 1; }");
      using k = program.kernel("k");
      for (const size of [-1, -4096, NaN, 0.5, "4", -(2 ** 53)]) {
        const local = new LocalMemory(4);
        try {
          Object.assign(local, { byteLength: size });
        } catch { /* it cannot be set */ }
        same("size", local.byteLength, 4);
        k.run({ items: [1] }, [local]);
        cl.queue.finish();
      }
    },
  },
  "an invalid size of local memory": {
    run() {
      for (const size of [-1, 0, NaN, 0.5, "4", 2 ** 53, 2n]) {
        fails(String(size), () => new LocalMemory(any(size)), ArgumentError);
      }
    },
  },
  "pointers to vectors, off the vector's alignment": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = host.allocate({ shape: [1024], dtype: "f32" });
      for (const lanes of [2, 4, 8, 16]) {
        using program = cl.program(
          `kernel void k(global float${lanes}* x) { size_t i = get_global_id(0); x[i] = x[i] * 2.0f; }`,
        );
        using part = t.slice(region(t.layout, [1], [64]));
        using mapped = graph.map(part, cl);
        fails("run", () => program.kernel("k").run({ items: [64 / lanes] }, [mapped]), LayoutError);
      }
    },
  },
  "an image by a typedef": {
    opencl: true,
    run() {
      using cl = open();
      using t = cl.allocate({ shape: [4], dtype: "i32" });
      using program = cl.program(
        "typedef read_only image2d_t img; kernel void k(img x, global int* o) { o[0] = get_image_width(x); }",
      );
      program.kernel("k").run({ items: [1] }, [t, t]);
    },
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clSetKernelArg", argument: "x" },
      message: /k: argument 0/,
      hint: /declared by OpenCL's own names/,
    },
  },
  "a sampler by a typedef, which the kernel does not use": {
    opencl: true,
    run() {
      using cl = open();
      using t = cl.allocate({ shape: [4], dtype: "i32" });
      using program = cl.program("typedef sampler_t smp; kernel void k(smp s, global int* o) { o[0] = 1; }");
      // rusticl 22.3 takes any bytes for what is not used.
      safe("run", () => program.kernel("k").run({ items: [1] }, [new BigUint64Array([0x41414141n]), t]));
      cl.queue.finish();
    },
  },
});
