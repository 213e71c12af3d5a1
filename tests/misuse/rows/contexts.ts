import { ArgumentError, DisposedError, host, LayoutError, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { any, fails, open, safe, say } from "../kit.ts";
import { type Row, table } from "../row.ts";

const u8 = (length: number) => ({ shape: [length], dtype: "u8" }) as const;

/** A copy with something else for the bytes, or the tensor: no driver is asked. */
function copies(argument: "into" | "from", what: (cl: OpenCLContext) => unknown, error: Row["fails"]): Row {
  return {
    opencl: "Portable",
    run() {
      using cl = open();
      using t = cl.allocate(u8(1 << 20));
      const given = what(cl);
      using _ = any(given instanceof Object && Symbol.dispose in given ? given : null) as Disposable;
      const [tensor, bytes] = argument === "into" ? [t, given] : [given, new Uint8Array(1 << 20)];
      fails("write", () => cl.queue.write(any(tensor), any(bytes)));
      cl.queue.read(any(tensor), any(bytes));
    },
    fails: error!,
  };
}

const wrong = (error: typeof ArgumentError, argument: string, message: RegExp) => ({
  ...{ error, api: "opencl", argument, message },
});

/** The error for a view whose bytes are gone. */
const STALE = {
  ...{ error: ArgumentError, api: "opencl", argument: "into" },
  message: /^into: the view is stale: its buffer was detached/,
  hint: /Take the view again/,
};

export default table(import.meta, {
  "a choice for an invalid OpenGL context": {
    run() {
      fails("a number", () => OpenCLContext.open({ gl: any(5) }), ArgumentError);
      OpenCLContext.open({ gl: any({ handle: 1n, display: 2n }) });
    },
    fails: {
      ...{ error: ArgumentError, api: "opencl", argument: "choice.gl" },
      message: /expected an EglContext/,
    },
  },
  "a choice that is not an object": {
    run: () => OpenCLContext.open(any("PoCL")),
    fails: { error: ArgumentError, api: "core", argument: "choice", message: /expected an object, got "PoCL"/ },
  },
  "a choice of a number": {
    run: () => OpenCLContext.open({ device: any(1) }),
    fails: {
      error: ArgumentError,
      api: "opencl",
      argument: "choice.device",
      message: /expected a string, got a number/,
    },
  },
  "a null context, attached": {
    opencl: "Portable",
    run: () => OpenCLContext.attach(0n),
    fails: { error: ArgumentError, api: "opencl", argument: "handle", message: /expected a handle, got null/ },
  },
  "an invalid handle, attached": {
    opencl: "Portable",
    run() {
      for (const handle of [undefined, null, 4096, {}, -1n, 2n ** 64n]) {
        fails(String(handle), () => OpenCLContext.attach(any(handle)), ArgumentError);
      }
      OpenCLContext.attach(any("0x1000"));
    },
    fails: { error: ArgumentError, api: "opencl", argument: "handle", message: /expected a bigint, got a string/ },
  },
  "a context attached twice, the first disposed": {
    opencl: true,
    run() {
      const cl = open();
      const again = OpenCLContext.attach(cl.handle);
      cl[Symbol.dispose]();
      using t = again.allocate(u8(64));
      again.queue.write(t, new Uint8Array(64).fill(3));
      const out = new Uint8Array(64);
      again.queue.read(t, out);
      say(out[63], again.bytesCopied, again.id === again.device.id);
      again[Symbol.dispose]();
      again.queue.write(t, out);
    },
    says: ["3 128 true"],
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "bytes of another length": copies(
    "into",
    () => new Uint8Array(16),
    wrong(LayoutError, "into", /expected the \d+ bytes of .*, got 16\./),
  ),
  "bytes that were moved away": copies("into", () => {
    const bytes = new Uint8Array(1 << 20);
    bytes.buffer.transfer();
    return bytes;
  }, STALE),
  "an object for bytes": copies("into", () => ({
    ...{ buffer: new ArrayBuffer(16), byteOffset: -(2 ** 40), byteLength: 1 << 20 },
  }), { error: ArgumentError, api: "opencl", argument: "into", message: /typed array or DataView, got an Object/ }),
  "a buffer for bytes": copies(
    "into",
    () => new ArrayBuffer(1 << 20),
    { error: ArgumentError, api: "opencl", argument: "into", message: /got an ArrayBuffer/ },
  ),
  "a host tensor to copy to": copies("from", () => host.allocate(u8(1 << 20)), {
    ...{ error: ArgumentError, api: "opencl", argument: "from" },
    message: /expected a tensor or an image of OpenCL's, got a HostTensor/,
    hint: /Map it first/,
  }),
  "a tensor of another context to copy to": {
    opencl: true,
    run() {
      using cl = open();
      using other = open();
      using t = other.allocate(u8(16));
      cl.queue.read(t, new Uint8Array(16));
    },
    fails: {
      ...{ error: ArgumentError, api: "opencl", argument: "from" },
      message: /belongs to another context of /,
    },
  },
  "a queue of another context": {
    opencl: true,
    run() {
      using cl = open();
      using other = open();
      using program = cl.program("kernel void k() {}");
      program.kernel("k").run({ items: [1] }, [], { queue: other.queue });
    },
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clEnqueueNDRangeKernel", argument: "queue" },
      message: /it is of another context/,
    },
  },
  "a queue that was disposed": {
    opencl: true,
    run() {
      using cl = open();
      const queue = cl.createQueue();
      queue[Symbol.dispose]();
      queue[Symbol.dispose]();
      queue.flush(); // there is nothing left to flush
      fails("handle", () => queue.handle, DisposedError);
      queue.fence();
    },
    fails: { error: DisposedError, api: "core", message: /opencl queue .* was disposed/ },
  },
  "a fence for a buffer's map of another context": {
    opencl: true,
    run() {
      using cl = open();
      using other = open();
      using graph = new MapperGraph([host, cl]);
      using t = other.allocate(u8(64));
      graph.map(t, host);
    },
    fails: {
      error: ArgumentError,
      api: "core",
      argument: "source",
      message: /^opencl \(.+\) is not in this graph/,
      hint: /MapperGraph/,
    },
  },
  "proofs about invalid addresses": {
    opencl: true,
    run() {
      using cl = open();
      safe("no length", () => cl.memory.classOf(4096n, NaN));
      say(cl.proofs.judge(cl.memory.classOf(12345n, 7)).aliases);
      cl.proofs.tryToProve(cl.memory.classOf(undefined, 64));
      say(cl.proofs.prove(cl.memory.classOf(undefined, 64)) === cl.proofs.judge(cl.memory.classOf(undefined, 0)));
      cl.memory.classOf(any(4096), 64);
    },
    says: ["false", "true"],
    fails: { error: ArgumentError, api: "opencl", argument: "address", message: /expected a bigint, got a number/ },
  },
  "300 contexts at once": {
    opencl: true,
    run() {
      const contexts = Array.from({ length: 300 }, open);
      for (const cl of contexts) cl[Symbol.dispose]();
    },
  },
  "more memory than the device has": {
    opencl: true,
    run() {
      using cl = open();
      cl.allocate(u8(2 ** 42));
    },
    fails: {
      ...{ error: LayoutError, api: "opencl", fn: "clCreateBuffer", argument: "shape" },
      message: /4398046511104 bytes are more than the \d+ that .* takes in one piece/,
      hint: /in parts/,
    },
  },
});
