import { AccessError, ArgumentError, host, imageInfo, LayoutError, MapperGraph } from "@samepage/interop";
import type { OpenCLContext, OpenCLTensor } from "@samepage/interop/opencl";
import { any, fails, open, say } from "../kit.ts";
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
  "a pattern of three bytes": {
    ...withTensors((cl, one) => cl.queue.fill(one, [1, 2, 3])),
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", argument: "value" },
      message: /expected 1, 2, 4, .* bytes, got 3/,
    },
  },
  "a fill of single elements far apart": {
    opencl: true,
    run() {
      using cl = open();
      using t = cl.allocate({ shape: [1 << 20], dtype: "u8", strides: [2] });
      cl.queue.fill(t, 1);
    },
    fails: layoutError("clEnqueueFillBuffer", "to", /each of the 1048576 rows .* takes a command/, /slice/),
  },
  "a copy that turns rows into columns": {
    opencl: true,
    run() {
      using cl = open();
      using rows = cl.allocate({ shape: [4, 6], dtype: "u8" });
      using columns = cl.allocate({ shape: [4, 6], dtype: "u8", strides: [1, 4] });
      cl.queue.copy(rows, columns);
    },
    fails: layoutError("clEnqueueCopyBufferRect", "to", /in another order/, /Transfer it in parts/),
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
  "a read and a write of an array of another dtype": {
    opencl: true,
    run() {
      using cl = open();
      using words = cl.allocate({ shape: [4], dtype: "i32" });
      using octets = cl.allocate({ shape: [24], dtype: "u8" });
      const halves = cl.image({ order: "RGBA", type: "HALF_FLOAT" });
      using image = halves.allocate({ shape: [1, 2, 4] });
      for (
        const [tensor, array] of [
          [words, new Uint32Array(4)],
          [octets, new Float32Array(6)],
          [octets, new Int8Array(24)],
          [image, new Uint16Array(8)],
        ] as const
      ) {
        fails("read", () => cl.queue.read(tensor, array), LayoutError);
        fails("write", () => cl.queue.write(tensor, array), LayoutError);
      }
      cl.queue.write(image, new Float16Array(8));
      cl.queue.read(image, new DataView(new ArrayBuffer(16)));
      for (const array of [new Int32Array(4), new Uint8Array(16), new Uint8ClampedArray(16)]) {
        cl.queue.write(words, array);
        cl.queue.read(words, array, { at: "dense" });
      }
      cl.queue.write(words, new Float32Array([1, 2, 3, 4]));
    },
    fails: {
      error: LayoutError,
      ...{ api: "opencl", argument: "from" },
      message: /from: expected i32, which opencl tensor \[4\] i32.* holds, got a Float32Array\./,
      hint: /Pass an Int32Array, or raw bytes: a Uint8Array or a DataView\./,
    },
  },
  "a place that there is not, and a place for an image's pixels": {
    ...withTensors((cl, one) => {
      using image = cl.image({ order: "RGBA", type: "UNORM_INT8" }).allocate({ shape: [2, 4, 4] });
      const pixels = new Uint8Array(32);
      cl.queue.write(image, pixels.fill(9), { at: "dense" });
      cl.queue.read(image, pixels.fill(0), { at: "dense" });
      say(pixels.every((byte) => byte === 9));
      const at = { shape: [2, 4, 4], dtype: "u8", rowAlign: 64 } as const;
      fails("read", () => cl.queue.read(image, new Uint8Array(80), { at }), LayoutError);
      cl.queue.read(one, new Uint8Array(64), { at: any("dens") });
    }),
    says: ["true"],
    fails: {
      error: LayoutError,
      ...{ api: "opencl", argument: "at" },
      message: /^at: expected "dense" or a layout, got "dens"\.$/,
    },
  },
  "a frame in place of a tensor": {
    ...withTensors((cl) => {
      using graph = new MapperGraph([host, cl]);
      using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 8, height: 8 }));
      using mapped = graph.map(frame, cl);
      cl.queue.write(any(mapped), new Uint8Array(96));
    }),
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", argument: "to" },
      message: /expected a tensor or an image of OpenCL's, got a Frame/,
      hint: /frame\.planes\[i\]/,
    },
  },
  "a copy of a tensor of the host's": {
    ...withTensors((cl, one) => {
      using source = host.allocate(bytes);
      cl.queue.copy(any(source), one);
    }),
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", argument: "from" },
      message: /expected a tensor or an image of OpenCL's, got a HostTensor/,
      hint: /^Map it first: graph\.map\(tensor, cl\), or queue\.write\(\) its view\.$/,
    },
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
        (t: OpenCLTensor) => cl.queue.read(t, new Uint8Array(64), { at: "dense" }),
        (t: OpenCLTensor) => cl.queue.write(t, new Uint8Array(64), { at: "dense" }),
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
    fails: {
      error: AccessError,
      api: "core",
      argument: "access",
      message: /cannot be used for "write"/,
      hint: /read-write/,
    },
  },
});
