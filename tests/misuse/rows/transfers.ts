import { AccessError, ArgumentError, DisposedError, host, LayoutError, MapperGraph, region } from "@samepage/interop";
import type { OpenCLContext, OpenCLTensor } from "@samepage/interop/opencl";
import { any, fails, open, safe, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const bytes = { shape: [64], dtype: "u8" } as const;

/** A program that has two tensors of 64 bytes. */
function withTensors(
  use: (cl: OpenCLContext, one: OpenCLTensor, two: OpenCLTensor) => unknown,
): Pick<Row, "opencl" | "run"> {
  return {
    opencl: true,
    run() {
      using cl = open();
      using one = cl.allocate(bytes);
      using two = cl.allocate(bytes);
      use(cl, one, two);
    },
  };
}

function layoutError(fn: string, argument: string, message: RegExp, hint?: RegExp): Failure {
  return { error: LayoutError, api: "opencl", fn, argument, message, ...(hint === undefined ? {} : { hint }) };
}

export default table(import.meta, {
  "a pattern out of range": {
    ...withTensors((cl, one) => {
      for (const pattern of [-1, 256, 0.5, NaN, Infinity, -1n, [1, 256]]) {
        fails(String(pattern), () => cl.queue.fill(one, pattern), ArgumentError);
      }
      cl.queue.fill(one, 2n ** 64n);
    }),
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clEnqueueFillBuffer", argument: "pattern" },
      message: /18446744073709551616 is out of the range of u8/,
    },
  },
  "a pattern of another kind": {
    ...withTensors((cl, one) => {
      const endless = new Proxy([1], { get: (of, name) => name === "length" ? 2 ** 32 : Reflect.get(of, name) });
      for (
        const pattern of [null, undefined, "1", {}, true, Symbol("s"), new ArrayBuffer(4), ["1"], new Array(4), endless]
      ) {
        fails("pattern", () => cl.queue.fill(one, any(pattern)), ArgumentError);
      }
      class Odd extends Uint8Array {
        static get [Symbol.species](): Uint8ArrayConstructor {
          return any(Array);
        }
        override get length(): never {
          return any(3);
        }
      }
      cl.queue.fill(one, new Odd([7]));
      const got = new Uint8Array(64);
      cl.queue.read(one, got);
      say(got.every((byte) => byte === 7));
    }),
    says: ["true"],
  },
  "a pattern of three bytes": {
    ...withTensors((cl, one) => cl.queue.fill(one, [1, 2, 3])),
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clEnqueueFillBuffer", argument: "pattern" },
      message: /it has 3 bytes; it can have 1, 2, 4/,
    },
  },
  "a pattern that disposes the tensor": {
    ...withTensors((cl, one) => {
      const pattern = [1, 2];
      Object.defineProperty(pattern, 1, { get: () => (one[Symbol.dispose](), 2) });
      cl.queue.fill(one, pattern);
    }),
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "a fill of single elements far apart": {
    opencl: true,
    run() {
      using cl = open();
      using t = cl.allocate({ shape: [1 << 20], dtype: "u8", strides: [2] });
      cl.queue.fill(t, 1);
    },
    fails: layoutError("clEnqueueFillBuffer", "tensor", /1048576 rows of 1 bytes, with gaps between them/),
  },
  "a copy to itself": {
    ...withTensors((cl, one) => cl.queue.copy(one, one)),
    fails: layoutError("clEnqueueCopyBuffer", "to", /its bytes overlap/),
  },
  "a copy to another shape": {
    ...withTensors((cl, one) => {
      using other = cl.allocate({ shape: [8, 8], dtype: "u8" });
      cl.queue.copy(one, other);
    }),
    fails: layoutError("clEnqueueCopyBuffer", "to", /the elements of \[8,8\] u8, not of \[64\] u8/),
  },
  "a copy that turns rows into columns": {
    opencl: true,
    run() {
      using cl = open();
      using rows = cl.allocate({ shape: [4, 6], dtype: "u8" });
      using columns = cl.allocate({ shape: [4, 6], dtype: "u8", strides: [1, 4] });
      cl.queue.copy(rows, columns);
    },
    fails: layoutError("clEnqueueCopyBufferRect", "to", /different orders/, /Transfer it in parts/),
  },
  "a copy in four dimensions": {
    opencl: true,
    run() {
      using cl = open();
      using gaps = cl.allocate({ shape: [2, 2, 2, 2], dtype: "u8", strides: [1000, 100, 10, 2] });
      using plain = cl.allocate({ shape: [2, 2, 2, 2], dtype: "u8" });
      cl.queue.copy(gaps, plain);
    },
    fails: layoutError("clEnqueueCopyBufferRect", "to", /5 dimensions of bytes/, /Transfer it in parts/),
  },
  "transfers of what is lent, of another context, of the host, of nothing": {
    ...withTensors((cl, one, two) => {
      using other = open();
      using far = other.allocate(bytes);
      using memory = host.allocate(bytes);
      using graph = new MapperGraph([host, cl]);
      const uses = [
        (t: OpenCLTensor) => cl.queue.fill(t, 1),
        (t: OpenCLTensor) => cl.queue.copy(t, two),
        (t: OpenCLTensor) => cl.queue.copy(two, t),
        (t: OpenCLTensor) => cl.queue.readRect(t, new Uint8Array(64)),
        (t: OpenCLTensor) => cl.queue.writeRect(t, new Uint8Array(64)),
        (t: OpenCLTensor) => cl.queue.migrate([t], { to: "host" }),
      ];
      for (const use of uses) {
        for (const none of [far, memory, null, undefined, {}, 5n]) {
          fails(String(use), () => use(any(none)), ArgumentError);
        }
      }
      {
        using _ = graph.map(one, host);
        for (const use of uses) fails(String(use), () => use(one), AccessError);
      }
      using reading = one.borrow("read");
      fails("fill", () => cl.queue.fill(reading, 1), AccessError);
      cl.queue.copy(two, reading);
    }),
    fails: { error: AccessError, api: "core", argument: "access", message: /cannot be used for "write"/ },
  },
  "elements into too few bytes": {
    opencl: true,
    run() {
      using cl = open();
      using t = cl.allocate({ shape: [4, 6], dtype: "u8", rowAlign: 64 });
      for (const length of [0, 23, 25, 198]) {
        fails(String(length), () => cl.queue.readRect(t, new Uint8Array(length)), LayoutError);
      }
      cl.queue.readRect(t, new Uint8Array(34), { shape: [4, 6], dtype: "u8", rowAlign: 8, byteOffset: 5 });
    },
    fails: layoutError("clEnqueueReadBufferRect", "bytes", /34 bytes were given; \[4,6\] u8, strides \[8,1\] takes 35/),
  },
  "a layout whose shape moves the bytes away, or disposes the tensor": {
    ...withTensors((cl, one, two) => {
      const at = (get: () => unknown) => any(Object.defineProperty({ dtype: "u8" }, "shape", { get }));
      const got = new Uint8Array(64);
      fails("moved", () => cl.queue.readRect(one, got, at(() => (got.buffer.transfer(), [64]))), LayoutError);
      const dispose = at(() => (two[Symbol.dispose](), [64]));
      fails("disposed", () => cl.queue.writeRect(two, new Uint8Array(64), dispose), DisposedError);
      safe("lost", () => cl.queue.readRect(one, new Uint8Array(64), at(() => [NaN])));
    }),
  },
  "a migration of a part, without its contents": {
    ...withTensors((cl, one) => {
      using part = one.slice(region(one.layout, [0], [32]));
      cl.queue.migrate([part], { to: "device" });
      cl.queue.migrate([part], { to: "device", contentUndefined: true });
    }),
    fails: layoutError(
      "clEnqueueMigrateMemObjects",
      "tensors[0]",
      /is not all of its buffer, which has 64 bytes/,
      /with its contents/,
    ),
  },
  "a migration of nothing, to nowhere": {
    ...withTensors((cl, one) => {
      for (const tensors of [null, undefined, one, [], [null], new Array(2), new Array(2 ** 32 - 1)]) {
        fails("tensors", () => cl.queue.migrate(any(tensors), { to: "host" }), ArgumentError);
      }
      for (const options of [null, undefined, 5, {}, { to: "toString" }]) {
        fails("options", () => cl.queue.migrate([one], any(options)), ArgumentError);
      }
      cl.queue.migrate([one], { to: any("elsewhere") });
    }),
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clEnqueueMigrateMemObjects", argument: "to" },
      message: /elsewhere is neither "device" nor "host"/,
    },
  },
  "a list of tensors that disposes one of them": {
    ...withTensors((cl, one, two) => {
      const tensors = [one, two];
      Object.defineProperty(tensors, 1, { get: () => (one[Symbol.dispose](), two) });
      cl.queue.migrate(tensors, { to: "host" });
    }),
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
});
