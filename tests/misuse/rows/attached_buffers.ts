import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  LayoutError,
  MapperGraph,
  NoRouteError,
} from "@samepage/interop";
import { CL_MEM_HOST_NO_ACCESS, CL_MEM_READ_ONLY } from "../../../ffi/opencl/constants.ts";
import { SYMBOLS } from "../../../ffi/opencl/symbols.ts";
import { any, fails, open } from "../kit.ts";
import { table } from "../row.ts";

const BYTES = { shape: [64], dtype: "u8" } as const;

/** A `cl_mem` of 64 bytes, as the program's own code would make it. */
function memOf(context: bigint, flags = 0n): bigint {
  return Deno.dlopen("libOpenCL.so.1", SYMBOLS).symbols.clCreateBuffer(context, flags, 64n, 0n, null);
}

export default table(import.meta, {
  "a handle that is not a buffer": {
    opencl: true,
    run() {
      using cl = open();
      for (const handle of [undefined, null, NaN, 4096, 0n, -1n, 2n ** 64n, {}]) {
        fails(String(handle), () => cl.attach(any(handle), BYTES), ArgumentError);
      }
      cl.attach(0n, BYTES);
    },
    fails: { error: ArgumentError, api: "opencl", argument: "handle", message: /expected a handle, got null/ },
  },
  "a buffer of another context": {
    opencl: true,
    run() {
      using cl = open();
      using other = open();
      using tensor = other.allocate(BYTES);
      cl.attach(tensor.handle, BYTES);
    },
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clRetainMemObject", argument: "handle" },
      message: /of another context/,
      hint: /Attach its own/,
    },
  },
  "a layout past the buffer's end": {
    opencl: true,
    run() {
      using cl = open();
      for (
        const init of [{ shape: [NaN], dtype: "u8" }, { shape: [2 ** 53], dtype: "f64" }, { ...BYTES, byteOffset: -1 }]
      ) {
        fails(JSON.stringify(init), () => cl.attach(memOf(cl.handle), any(init)), LayoutError);
      }
      cl.attach(memOf(cl.handle), { ...BYTES, byteOffset: 1 });
    },
    fails: { error: LayoutError, api: "opencl", argument: "init", message: /reaches to byte 65; the memory has 64/ },
  },
  "a kernel that writes what was made to be read": {
    opencl: true,
    run() {
      using cl = open();
      using program = cl.program("kernel void k(global uchar* x) { x[0] = 1; }");
      using tensor = cl.attach(memOf(cl.handle, CL_MEM_READ_ONLY), BYTES);
      program.kernel("k").run({ items: [1] }, [tensor]);
    },
    fails: {
      error: AccessError,
      ...{ api: "opencl", fn: "clSetKernelArg", argument: "x" },
      message: /was made with CL_MEM_READ_ONLY/,
      hint: /Declare the pointer const/,
    },
  },
  "the host looks at what was closed to it": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using tensor = cl.attach(memOf(cl.handle, CL_MEM_HOST_NO_ACCESS), BYTES);
      fails("read", () => cl.queue.read(tensor, new Uint8Array(64)), AccessError);
      fails("write", () => cl.queue.write(tensor, new Uint8Array(64)), AccessError);
      graph.map(tensor, host);
    },
    fails: { error: NoRouteError, api: "core", argument: "target", message: /CL_MEM_HOST_NO_ACCESS/ },
  },
  "one buffer attached twice, and written twice": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      const mem = memOf(cl.handle);
      using one = cl.attach(mem, BYTES);
      using two = cl.attach(mem, BYTES);
      using _mapped = graph.map(one, host);
      graph.map(two, host);
    },
    fails: { error: AccessError, api: "core", message: /are lent to/, hint: /first/ },
  },
  "a buffer whose context was disposed": {
    opencl: true,
    run() {
      const cl = open();
      const tensor = cl.attach(memOf(cl.handle), BYTES);
      cl[Symbol.dispose]();
      fails("handle", () => tensor.handle, DisposedError);
      tensor[Symbol.dispose]();
      cl.attach(4096n, BYTES); // looks at no handle
    },
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
});
