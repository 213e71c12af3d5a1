import { AccessError, ArgumentError, DisposedError, host, LayoutError, MapperGraph, region } from "@samepage/interop";
import { BaseOf, BuildError } from "@samepage/interop/opencl";
import { any, fails, open, safe, same } from "../kit.ts";
import { type Row, table } from "../row.ts";

const R8 = { order: "R", type: "UNSIGNED_INT8" } as const;

/** A context with kernels that read, write and sample a picture, and what they take. */
function start() {
  const cl = open();
  const graph = new MapperGraph([host, cl]);
  const program = cl.program(`
    kernel void get(read_only image2d_t from, global uchar* to) { to[0] = read_imageui(from, (int2)(0, 0)).x; }
    kernel void put(write_only image2d_t to) { write_imageui(to, (int2)(0, 0), (uint4)(1)); }
    kernel void sampled(read_only image2d_t from, sampler_t s, global uchar* to) {
      to[0] = read_imageui(from, s, (int2)(0, 0)).x;
    }
    kernel void layers(read_only image2d_array_t from, global uchar* to) { to[0] = 1; }`);
  const [get, put, sampled, layers] = ["get", "put", "sampled", "layers"].map((name) => program.kernel(name));
  const target = cl.image(R8);
  const out = cl.allocate({ shape: [4], dtype: "u8" });
  const image = target.allocate({ shape: [4, 4] });
  return { cl, graph, get, put, sampled, layers, target, out, image };
}

/** A program with all of that; the context ends with it. */
function row(run: (bench: ReturnType<typeof start>) => unknown, more: Partial<Row> = {}): Row {
  return {
    opencl: true,
    run() {
      const bench = start();
      using _cl = bench.cl;
      using _graph = bench.graph;
      run(bench);
      if (bench.cl.resource.state === "live") bench.cl.queue.finish();
    },
    ...more,
  };
}

export default table(import.meta, {
  "what is no image for an image": row(({ get, image, target, out }) => {
    using pixels = host.allocate({ shape: [4, 4], dtype: "u8" });
    const wrong = [
      ...[out, pixels, 5, 5n, null, undefined, {}, image.handle, target, new BaseOf(any(image))],
      ...[new BigUint64Array([image.handle]), new Proxy(image, {}), Object.create(image)],
    ];
    for (const each of wrong) fails("image", () => get.run([1], [any(each), out]), ArgumentError);
    get.run([1], [image, out]);
  }),
  "a buffer for an image": row(({ get, out }) => get.run([1], [out, out]), {
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clSetKernelArg", argument: "from" },
      message: /get: argument 0/,
      hint: /image/,
    },
  }),
  "an image for a pointer": row(({ get, image, target }) => {
    for (const wrong of [image, new BaseOf(any(image)), target]) {
      fails("pointer", () => get.run([1], [image, any(wrong)]), ArgumentError);
    }
  }),
  "what is no sampler for a sampler": row(({ sampled, image, out }) => {
    for (const wrong of [image, out, 5, 5n, null, {}, new BigUint64Array([1n])]) {
      fails("sampler", () => sampled.run([1], [image, any(wrong), out]), ArgumentError);
    }
  }),
  "an image of another kind": row(({ cl, get, layers, image, out }) => {
    using stack = cl.image(R8, { type: "2D array" }).allocate({ shape: [2, 4, 4] });
    fails("kind", () => get.run([1], [stack, out]), ArgumentError);
    layers.run([1], [image, out]);
  }, {
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clSetKernelArg", argument: "from" },
      message: /layers: argument 0/,
      hint: /./,
    },
  }),
  "an image for other access than it was mapped for": row(({ graph, get, put, target, image, out }) => {
    using pixels = host.allocate({ shape: [4, 4], dtype: "u8" });
    {
      using m = graph.map(pixels, target, { access: "read" });
      fails("read only", () => put.run([1], [m]), AccessError);
      fails("part", () => m.slice(region(m.layout, [0, 0], [2, 4]), {}), LayoutError);
    }
    {
      using m = graph.map(pixels, target, { access: "write" });
      fails("write only", () => get.run([1], [m, out]), AccessError);
      fails("lent", () => pixels.view(), AccessError);
    }
    using _ = graph.map(image, host);
    fails("lent image", () => put.run([1], [image]), AccessError);
  }),
  "images and samplers of another context": row(({ get, sampled, image, out }) => {
    using other = open();
    fails("image", () => get.run([1], [other.image(R8).allocate({ shape: [4, 4] }), out]), ArgumentError);
    sampled.run([1], [image, other.sampler(), out]);
  }, {
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clSetKernelArg", argument: "s" },
      message: /belongs to another context of/,
    },
  }),
  "images and samplers that were disposed": row(({ cl, put, sampled, image, out }) => {
    const sampler = cl.sampler();
    sampled.run([1], [image, sampler, out]);
    sampler[Symbol.dispose]();
    sampler[Symbol.dispose]();
    fails("disposed sampler", () => sampled.run([1], [image, sampler, out]), DisposedError);
    fails("disposed sampler", () => sampler.handle, DisposedError);
    image[Symbol.dispose]();
    put.run([1], [image]);
  }, { fails: { error: DisposedError, api: "core", message: /image .* was disposed/ } }),
  "images of a context that was disposed": row(({ cl, target }) => {
    cl[Symbol.dispose]();
    fails("image", () => cl.image(R8), DisposedError);
    fails("sampler", () => cl.sampler(), DisposedError);
    fails("formats", () => cl.imageFormats(), DisposedError);
    target.allocate({ shape: [4, 4] });
  }, { fails: { error: DisposedError, api: "core", message: /opencl context .* was disposed/ } }),
  "an argument that disposes the image or the sampler before it": row(({ cl, sampled, image, out }) => {
    const sampler = cl.sampler();
    for (const each of [image, sampler]) {
      const args = [image, sampler, out];
      Object.defineProperty(args, 2, {
        get() {
          each[Symbol.dispose]();
          return out;
        },
      });
      fails("run", () => sampled.run([1], args), DisposedError);
    }
  }),
  "shapes from nowhere": row(({ target }) => {
    const shapes = [
      ...[[0, 4], [-1, 4], [NaN, 4], [1.5, 4], [2 ** 53, 4], [2 ** 52, 2], [2 ** 30, 2 ** 30], [8_000_000, 4]],
      ...[["4", 4], [4n, 4], null, undefined, "4,4", {}, [], [1, 1, 1, 1, 1]],
      new Proxy([4, 4], {
        get() {
          throw new BuildError("", "", {});
        },
      }),
    ];
    for (const shape of shapes) fails("shape", () => target.allocate({ shape: any(shape) }));
    for (const init of [null, undefined, 5, "x"]) fails("init", () => target.allocate(any(init)), ArgumentError);
  }),
  "formats from nowhere": row(({ cl, target }) => {
    const formats = [
      ...[null, 5, {}, { order: "RGBA" }, { order: "RGBA", type: "__proto__" }, { order: "RGB", type: "UNORM_INT8" }],
      ...[{ order: {}, type: [] }, { order: Symbol("RGBA"), type: "FLOAT" }],
    ];
    for (const format of formats) fails("format", () => cl.image(any(format)), ArgumentError);
    for (const options of [null, 5, { type: "2d" }, { type: null }, { type: Symbol("2D") }]) {
      fails("options", () => cl.image(R8, any(options)), ArgumentError);
    }
    let reads = 0;
    const sly = {
      get order() {
        return ++reads > 1 ? "BGRA" : "R";
      },
      type: "UNSIGNED_INT8",
    };
    same("read once", cl.image(any(sly)), target);
  }),
  "samplers from nowhere": row(({ cl }) => {
    for (const init of [null, 5, { filter: "cubic" }, { addressing: 0 }, { normalized: 1 }, { addressing: "repeat" }]) {
      fails("sampler", () => cl.sampler(any(init)), ArgumentError);
    }
    cl.sampler({ addressing: "mirrored-repeat", normalized: false });
  }, {
    fails: { error: ArgumentError, api: "opencl", argument: "addressing", message: /./, hint: /./ },
  }),
  "memory whose rows overlap what they may not, or lie anywhere": row(({ graph, put, target }) => {
    using room = host.allocate({ shape: [4096], dtype: "u8" });
    for (const strides of [[1, 1], [3, 1], [2 ** 40, 1], [4, 2], [1, 4]]) {
      safe(`strides ${strides}`, () => {
        const byteLength = 3 * strides[0] + 3 * strides[1] + 1;
        using part = room.slice({ shape: [4, 4], dtype: "u8", strides, byteOffset: 0, byteLength });
        using m = graph.map(part, target, { copy: "allow" });
        put.run([1], [m]);
      });
    }
  }),
  "a block that ends with the last pixel": row(({ graph, put, target }) => {
    // The padding of its row would be somebody else's memory.
    using edge = host.allocate({ shape: [61, 65], dtype: "u8", rowAlign: 4096, guard: true });
    using part = edge.slice(region(edge.layout, [0, 1], [61, 64]));
    using m = graph.map(part, target, { copy: "allow" });
    put.run([1], [m]);
  }),
  "an image whose source was disposed": row(({ graph, put, target }) => {
    const gone = host.allocate({ shape: [4, 4], dtype: "u8" });
    const mapped = graph.map(gone, target);
    gone[Symbol.dispose]();
    put.run([1], [mapped]);
  }, { fails: { error: DisposedError, api: "core", message: /was disposed with host tensor \[4,4\] u8/ } }),
  "a sampler by a typedef, to read an image by": row(({ cl, image, out }) => {
    using own = cl.program(`typedef sampler_t smp;
      kernel void k(read_only image2d_t i, smp s, global uchar* o) { o[0] = read_imageui(i, s, (int2)(0, 0)).x; }`);
    using k = own.kernel("k");
    safe("bytes", () => {
      k.run([1], [image, new BigUint64Array([0x41414141n]), out]);
      cl.queue.finish();
    });
    safe("sampler", () => {
      k.run([1], [image, cl.sampler(), out]);
      cl.queue.finish();
    });
  }),
});
