import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  imageInfo,
  LayoutError,
  MapperGraph,
  NoRouteError,
  region,
} from "@samepage/interop";
import {
  BaseOf,
  type OpenCLContext,
  OpenCLImage,
  type OpenCLKernel,
  OpenCLSampler,
  type OpenCLTensor,
} from "@samepage/interop/opencl";
import { any, fails, open, safe, same } from "../kit.ts";
import { type Row, table } from "../row.ts";

const R8 = { order: "R", type: "UNSIGNED_INT8" } as const;

/** A context, an image of 4 × 4 pixels, a buffer of 4 bytes, and kernels that take them. */
interface Bench {
  readonly cl: OpenCLContext;
  readonly graph: MapperGraph;
  readonly image: OpenCLImage;
  readonly out: OpenCLTensor;
  /** `get(read_only image2d_t from, global uchar* to)`. */
  readonly get: OpenCLKernel;
  /** `put(write_only image2d_t to)`. */
  readonly put: OpenCLKernel;
  /** `sampled(read_only image2d_t from, sampler_t s, global uchar* to)`. */
  readonly sampled: OpenCLKernel;
  /** `layers(read_only image2d_array_t from, global uchar* to)`. */
  readonly layers: OpenCLKernel;
}

/** A program on such a bench, on every driver. */
function onBench(use: (bench: Bench) => unknown): Pick<Row, "opencl" | "run"> {
  return {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using program = cl.program(`
        kernel void get(read_only image2d_t from, global uchar* to) { to[0] = read_imageui(from, (int2)(0, 0)).x; }
        kernel void put(write_only image2d_t to) { write_imageui(to, (int2)(0, 0), (uint4)(1)); }
        kernel void sampled(read_only image2d_t from, sampler_t s, global uchar* to) {
          to[0] = read_imageui(from, s, (int2)(0, 0)).x;
        }
        kernel void layers(read_only image2d_array_t from, global uchar* to) { to[0] = 1; }`);
      const [get, put, sampled, layers] = ["get", "put", "sampled", "layers"].map((name) => program.kernel(name));
      using image = cl.image(R8).allocate({ shape: [4, 4] });
      using out = cl.allocate({ shape: [4], dtype: "u8" });
      use({ cl, graph, image, out, get, put, sampled, layers });
      cl.queue.finish();
    },
  };
}

/** What clSetKernelArg would be given: `argument` is what the kernel calls it. */
const refused = (argument: string, message: RegExp) => ({
  error: ArgumentError,
  ...{ api: "opencl", fn: "clSetKernelArg", argument, message },
});

export default table(import.meta, {
  "a buffer where a kernel takes an image": {
    ...onBench(({ get, out }) => get.run({ items: [1] }, [out, out])),
    fails: { ...refused("from", /expected an image, got an OpenCLTensor/), hint: /A buffer is not an image/ },
  },
  "an image where a kernel takes a buffer": {
    ...onBench(({ get, image }) => get.run({ items: [1] }, [image, image])),
    fails: { ...refused("to", /expected a tensor in memory of the device, got an OpenCLImage/), hint: /./ },
  },
  "anything else where a kernel takes an image or a sampler": onBench(({ cl, get, sampled, image, out }) => {
    const handle = new BigUint64Array([image.handle]);
    using pixels = host.allocate({ shape: [4, 4], dtype: "u8" });
    const wrongs = [5, 5n, null, undefined, {}, image.handle, handle];
    for (
      const wrong of [...wrongs, cl.image(R8), pixels, new BaseOf(any(image))]
    ) {
      fails("image", () => get.run({ items: [1] }, [any(wrong), out]), ArgumentError);
      fails("sampler", () => sampled.run({ items: [1] }, [image, any(wrong), out]), ArgumentError);
    }
    fails("base", () => get.run({ items: [1] }, [image, new BaseOf(any(image))]), ArgumentError);
    same("image", [image.type, image.width, image.height, image.context === cl].join(), "2D,4,4,true");
    same("is", [out, null, 5].some((value) => OpenCLImage.isImage(value) || OpenCLSampler.isSampler(value)), false);
  }),
  "an image of another kind than the kernel's": {
    ...onBench(({ cl, get, layers, image, out }) => {
      fails("kind", () => layers.run({ items: [1] }, [image, out]), ArgumentError);
      using stack = cl.image(R8, { type: "2D array" }).allocate({ shape: [2, 4, 4] });
      get.run({ items: [1] }, [stack, out]);
    }),
    fails: { ...refused("from", /it is an image2d_t; .* an image2d_array_t/), hint: /The kind of image is chosen/ },
  },
  "an image that was mapped for reading, written by a kernel": {
    ...onBench(({ cl, graph, put }) => {
      using pixels = host.allocate({ shape: [4, 4], dtype: "u8" });
      using mapped = graph.map(pixels, cl.image(R8), { access: "read" });
      put.run({ items: [1] }, [mapped]);
    }),
    fails: {
      error: AccessError,
      ...{
        api: "opencl",
        fn: "clSetKernelArg",
        argument: "to",
        message: /is for "write", and .* was mapped for "read"/,
        hint: /Map it with/,
      },
    },
  },
  "an image and a sampler of another context": onBench(({ get, sampled, image, out }) => {
    using other = open();
    const theirs = other.image(R8).allocate({ shape: [4, 4] });
    fails("image", () => get.run({ items: [1] }, [theirs, out]), ArgumentError);
    fails("sampler", () => sampled.run({ items: [1] }, [image, other.sampler(), out]), ArgumentError);
    fails("queue", () => other.queue.read(image, new Uint8Array(16)), ArgumentError);
    same("is", other.image(R8).is(image), false);
  }),
  "a sampler that was disposed": {
    ...onBench(({ cl, sampled, image, out }) => {
      const sampler = cl.sampler({ filter: "linear" });
      sampled.run({ items: [1] }, [image, sampler, out]);
      sampler[Symbol.dispose]();
      sampler[Symbol.dispose]();
      sampled.run({ items: [1] }, [image, sampler, out]);
    }),
    fails: { error: DisposedError, api: "core", argument: "s", message: /sampler .* was disposed/ },
  },
  "a sampler that is disposed without blocking, twice": {
    opencl: true,
    async run() {
      await using cl = open();
      const sampler = cl.sampler();
      await Promise.all([sampler[Symbol.asyncDispose](), sampler[Symbol.asyncDispose]()]);
      fails("handle", () => sampler.handle, DisposedError);
    },
  },
  "an image whose source was disposed": {
    ...onBench(({ cl, graph, put }) => {
      const pixels = host.allocate({ shape: [4, 4], dtype: "u8" });
      using mapped = graph.map(pixels, cl.image(R8));
      pixels[Symbol.dispose]();
      put.run({ items: [1] }, [mapped]);
    }),
    fails: { error: DisposedError, api: "core", argument: "to", message: /was disposed with/ },
  },
  "a part of an image": {
    ...onBench(({ image }) => image.slice(region(image.layout, [0, 0], [2, 4]))),
    fails: {
      error: LayoutError,
      ...{ api: "opencl", argument: "init", message: /is an image, which has no parts/, hint: /Map a part/ },
    },
  },
  "an image that is mapped for the host, used by a kernel": {
    ...onBench(({ graph, image, put }) => {
      using _ = graph.map(image, host);
      put.run({ items: [1] }, [image]);
    }),
    fails: { error: AccessError, api: "core", argument: "to", message: /are lent to/, hint: /Dispose/ },
  },
  "invalid shapes, and 2^64": onBench(({ cl }) => {
    const target = cl.image(R8);
    const none = [[0, 4], [-1, 4], [NaN, 4], [1.5, 4], [2 ** 53, 4], [2 ** 52, 2], [2 ** 64, 1], ["4", 4], [4n, 4]];
    for (const shape of [...none, [2 ** 30, 2 ** 30], [8_000_000, 4], [1, 1, 1, 1, 1], [], null, undefined, "4", {}]) {
      fails("shape", () => target.allocate({ shape: any(shape) }), LayoutError);
    }
    for (const init of [null, undefined, 5]) fails("init", () => target.allocate(any(init)), ArgumentError);
  }),
  "formats, kinds and samplers that there are not": onBench(({ cl }) => {
    const formats = [null, 5, {}, { order: "RGBA" }, { order: "R", type: "__proto__" }, {
      order: "RGB",
      type: "FLOAT",
    }];
    for (const format of [...formats, { order: {}, type: [] }, { order: Symbol("R"), type: "FLOAT" }]) {
      fails("format", () => cl.image(any(format)), ArgumentError);
    }
    for (const options of [null, 5, { type: "2d" }, { type: null }]) {
      fails("options", () => cl.image(R8, any(options)), ArgumentError);
    }
    fails("kind", () => cl.imageFormats(any("4D")), ArgumentError);
    const samplers = [null, 5, { filter: "cubic" }, { addressing: 0 }, { normalized: 1 }, { addressing: "repeat" }];
    for (const init of samplers) fails("sampler", () => cl.sampler(any(init)), ArgumentError);
  }),
  "an invalid image attached, and one that is lent": {
    ...onBench(({ cl, image, out }) => {
      const target = cl.image(R8);
      for (const handle of [0n, -1n, 2n ** 64n, 4096, "4096", null, undefined, {}, out.handle]) {
        fails(String(handle), () => target.attach(any(handle)), ArgumentError);
      }
      for (const options of [null, 1, { owner: 1 }, { access: "all" }, { after: 1 }, { shape: [4, 4] }]) {
        fails(JSON.stringify(options), () => target.attach(image.handle, any(options)), ArgumentError);
      }
      fails("format", () => cl.image({ order: "R", type: "SIGNED_INT8" }).attach(image.handle), ArgumentError);
      using peer = target.attach(image.handle);
      using _lent = image.borrow("read-write");
      peer.handle;
    }),
    fails: { error: AccessError, api: "core", message: /are lent to/, hint: /first/ },
  },
  "images of a context that was closed": onBench(() => {
    const cl = open();
    const target = cl.image(R8);
    cl[Symbol.dispose]();
    for (const use of [() => cl.image(R8), () => cl.imageFormats(), () => cl.sampler()]) {
      fails("use", use, DisposedError);
    }
    fails("allocate", () => target.allocate({ shape: [4, 4] }), DisposedError);
  }),
  "rows that overlap, lie anywhere, or end with the memory": onBench(({ cl, graph, put }) => {
    const target = cl.image(R8);
    using room = host.allocate({ shape: [4096], dtype: "u8" });
    for (const [row, pixel] of [[1, 1], [3, 1], [2 ** 40, 1], [4, 2], [1, 4], [5, 1]]) {
      safe("strides", () => {
        const byteLength = 3 * row + 3 * pixel + 1;
        using part = room.slice({ shape: [4, 4], dtype: "u8", strides: [row, pixel], byteOffset: 0, byteLength });
        using mapped = graph.map(part, target, { copy: "allow" });
        put.run({ items: [1] }, [mapped]);
      });
    }
    // The padding of the last row would lie behind the block, on a page that may not be touched.
    using edge = host.allocate({ shape: [61, 65], dtype: "u8", rowAlign: 4096, guard: true });
    using part = edge.slice(region(edge.layout, [0, 1], [61, 64]));
    using mapped = graph.map(part, target, { copy: "allow" });
    same("transfer", mapped.route.steps[0].transfer, "copy");
    put.run({ items: [1] }, [mapped]);
  }),
  "frames that are not images of the format": onBench(({ cl, graph }) => {
    for (const [format, order] of [["NV12", "RGBA"], ["P010", "R"], ["I420", "RGBA"]] as const) {
      using frame = host.allocateFrame(imageInfo({ format, width: 8, height: 4 }));
      fails(format, () => graph.map(frame, cl.image({ ...R8, order })), NoRouteError);
      frame.planes[0].bytes().fill(1);
    }
    using planes = host.allocateFrame(imageInfo({ format: "I420", width: 4, height: 4 }));
    using images = graph.map(planes, cl.image(R8));
    fails("the frame, meanwhile", () => planes.planes[2].bytes(), AccessError);
    images.planes[1][Symbol.dispose]();
    fails("without a plane", () => graph.map(images, host), DisposedError);
  }),
  "transfers of pixels that do not fit": onBench(({ cl, image, out }) => {
    const { queue } = cl;
    using other = cl.image({ order: "RGBA", type: "FLOAT" }).allocate({ shape: [4, 4, 4] });
    for (const bytes of [new Uint8Array(15), new Float64Array(16)]) {
      fails("read", () => queue.read(image, bytes), LayoutError);
      fails("write", () => queue.write(image, bytes), LayoutError);
    }
    for (const bytes of [null, 16, new ArrayBuffer(16)]) {
      fails("bytes", () => queue.read(image, any(bytes)), ArgumentError);
    }
    for (const to of [other, out, image]) fails("copy", () => queue.copy(image, to), LayoutError);
    fails("buffers", () => queue.copy(out, out), LayoutError);
    for (const colour of [null, [1, 2, 3], [1, 2, 3, -4], [0.5, 1, 1, 1], [NaN, 1, 1, 1], ["1", 1, 1, 1]]) {
      fails("fill", () => queue.fill(image, any(colour)), ArgumentError);
    }
    for (const wrong of [null, {}]) {
      fails("image", () => queue.fill(any(wrong), [0, 0, 0, 0]), ArgumentError);
    }
  }),
  "a sampler behind a typedef, whose bytes are made up": onBench(({ cl, image, out }) => {
    using program = cl.program(`
      typedef sampler_t smp;
      kernel void k(read_only image2d_t i, smp s, global uchar* o) { o[0] = read_imageui(i, s, (int2)(0, 0)).x; }`);
    const k = program.kernel("k");
    fails("bytes", () => k.run({ items: [1] }, [image, new BigUint64Array([0x41414141n]), out]), ArgumentError);
  }),
});
