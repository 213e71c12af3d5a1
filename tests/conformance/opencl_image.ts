import { MapperGraph } from "../../mod.ts";
import { portMapper } from "../../src/core/graph/port_mapper.ts";
import { hostToOpenCLImage, openCLToOpenCLImage } from "../../src/opencl/edges/mod.ts";
import type { Fence } from "../../src/core/device/fence.ts";
import type { Line } from "../../src/core/device/line.ts";
import { InteropError, messageOf } from "../../src/core/errors.ts";
import { layout, type LayoutInit, region } from "../../src/core/layout/layout.ts";
import type { ImageInfo } from "../../src/core/layout/frame_info.ts";
import type { Frame } from "../../src/core/tensors/frame.ts";
import { edgeOf, type Mapper } from "../../src/core/graph/mapper.ts";
import { host } from "../../src/host/mod.ts";
import { isProblem, sliceProblem } from "../../src/opencl/images/shape.ts";
import { definitionsOf } from "../../src/opencl/images/type.ts";
import {
  type ImageTarget,
  type ImageType,
  OpenCLContext,
  type OpenCLContext as Context,
  type OpenCLDevice,
  type OpenCLImage,
  type OpenCLImageFormat,
  type OpenCLKernel,
  type OpenCLTensor,
} from "../../src/opencl/mod.ts";
import { separateFrame } from "./bytes.ts";
import { SIZE } from "./case.ts";
import { hostEnd } from "./host_end.ts";
import { buffersOf, devicesByName, objectsIn, OpenCLEnd } from "./opencl_end.ts";
import { LateQueue } from "./opencl_late.ts";
import { PASS, type Place, RawQueue, type RawRun, ulong } from "./opencl_raw.ts";
import type { Candidate, End, Foreign, Subject, Variant, Variants } from "./subject.ts";

/** Images of one kind: their pixels, and the shape of so many bytes of them. */
interface Kind {
  readonly format: OpenCLImageFormat;
  readonly shapeOf: (byteLength: number) => readonly number[];
  readonly variants: Variants;
}

const R: OpenCLImageFormat = { order: "R", type: "UNSIGNED_INT8" };
const RGBA: OpenCLImageFormat = { order: "RGBA", type: "UNSIGNED_INT8" };

const variant = (name: string, whole: Omit<LayoutInit, "dtype">, part?: Variant["part"]): Variant => ({
  name,
  whole: { ...whole, dtype: "u8" },
  ...(part === undefined ? {} : { part }),
});

/** What the suite asks of each kind of image; a row of SIZE bytes is 64 of them. */
const KINDS: { readonly [T in ImageType]?: Kind } = {
  "2D": {
    format: R,
    shapeOf: (bytes) => [bytes / 64, 64],
    variants: {
      contiguous: [variant("one pixel", { shape: [1, 1, 1] }), variant("odd", { shape: [31, 61] })],
      padded: [
        variant("padded rows", { shape: [31, 61], rowAlign: 64 }),
        variant("a channel of its own", { shape: [7, 13, 1], strides: [16, 1, 1] }),
      ],
      parts: [
        variant("rows from the middle", { shape: [300, 64] }, (whole) => region(whole, [7, 0], [285, 64])),
        variant("a region", { shape: [48, 128] }, (whole) => region(whole, [3, 5], [11, 17])),
        variant("from byte 1", { shape: [50, 64] }, (whole) => region(whole, [0, 1], [49, 63])),
      ],
    },
  },
  "3D": {
    format: RGBA,
    shapeOf: (bytes) => [bytes / 64, 2, 8, 4],
    variants: {
      contiguous: [variant("odd", { shape: [5, 7, 13, 4] })],
      padded: [
        variant("padded rows", { shape: [3, 5, 7, 4], strides: [160, 32, 4, 1] }),
        variant("padded rows and slices", { shape: [3, 5, 7, 4], strides: [192, 32, 4, 1] }),
      ],
      parts: [variant("slices", { shape: [9, 5, 7, 4] }, (whole) => region(whole, [2, 0, 0, 0], [5, 5, 7, 4]))],
    },
  },
  "2D array": {
    format: R,
    shapeOf: (bytes) => [bytes / 64, 4, 16],
    variants: {
      contiguous: [variant("odd", { shape: [5, 7, 13] })],
      padded: [variant("padded rows", { shape: [3, 5, 7], strides: [80, 16, 1] })],
      parts: [variant("layers", { shape: [9, 5, 7] }, (whole) => region(whole, [2, 0, 0], [5, 5, 7]))],
    },
  },
  "1D array": {
    format: RGBA,
    shapeOf: (bytes) => [bytes / 64, 16, 4],
    variants: {
      contiguous: [variant("odd", { shape: [5, 13, 4] })],
      padded: [variant("padded layers", { shape: [5, 13, 4], strides: [64, 4, 1] })],
      parts: [variant("layers", { shape: [9, 13, 4] }, (whole) => region(whole, [2, 0, 0], [5, 13, 4]))],
    },
  },
  "1D buffer": {
    format: RGBA,
    shapeOf: (bytes) => [bytes / 4, 4],
    variants: {
      contiguous: [variant("odd", { shape: [61, 4] })],
      padded: [],
      parts: [],
    },
  },
};

/** Each edge, and the kinds of image that it is asked about. */
const EDGES: readonly (readonly [mapper: Mapper, types: readonly ImageType[]])[] = [
  [hostToOpenCLImage as unknown as Mapper, ["2D", "3D", "1D array", "2D array"]],
  // The driver chooses the pitches of these; the rows of SIZE bytes are as every driver here likes them.
  [portMapper("opencl.image", "host"), ["2D"]],
  [openCLToOpenCLImage as unknown as Mapper, ["1D buffer"]],
];

/** The edges of OpenCL's images, on every device of every platform. @param expected what the edge from the host has to say of itself */
export function openclImages(expected: Subject["expected"] = "as proven"): Candidate[] {
  const closed = (reason: string) => EDGES.map(([mapper]) => ({ edge: edgeOf(mapper), open: reason }));
  try {
    const devices = devicesByName();
    if (devices.length === 0) return closed("OpenCL has no device");
    return devices.flatMap((device) =>
      EDGES.flatMap(([mapper, types]) => types.map((type) => candidate(edgeOf(mapper), type, device, expected)))
    );
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    return closed(messageOf(error));
  }
}

function candidate(edge: string, type: ImageType, device: OpenCLDevice, expected: Subject["expected"]): Candidate {
  const where = {
    edge,
    device: `${device.platform}: ${device.name}, ${type}`,
    covered: type === "3D" || type.endsWith("array"),
    openedElsewhere: true,
  };
  if (type !== "1D buffer") return { ...where, open: () => open(edge, type, device, expected) };
  using cl = OpenCLContext.open({ platform: device.platform, device: device.name });
  const of = cl.image(RGBA, { type });
  const fit = cl.images.overBuffers.fit(of, layout({ shape: [16, 4], dtype: "u8" }), undefined);
  return { ...where, open: "problem" in fit ? fit.problem : () => open(edge, type, device, expected) };
}

function open(edge: string, type: ImageType, device: OpenCLDevice, expected: Subject["expected"]): Subject {
  const choice = { platform: device.platform, device: device.name };
  const contexts = [OpenCLContext.open(choice), OpenCLContext.open(choice)];
  const ends = contexts.map((context) => new ImageEnd(context, type, takesFrames(edge, type)));
  const buffers = contexts.map((context) => new OpenCLEnd(context, buffersOf(context)));
  const graph = new MapperGraph([host, ...contexts]);
  const { shapeOf, variants } = KINDS[type]!;
  const [from, to] = edge.split("→");
  const end = (kind: string, i: number): End => {
    if (kind === "opencl.image") return ends[i];
    return { ...(kind === "host" ? hostEnd : plain(buffers[i])), shapeOf };
  };
  return {
    graph,
    source: end(from, 0),
    target: end(to, 0),
    ...(from === "host" ? { elsewhere: ends[1] } : {}),
    ...(takesFrames(edge, type) ? { picture: "I420" } : {}),
    expected: from === "host" ? expected : "as proven",
    variants: { ...variants, padded: variants.padded.filter(({ whole }) => !hasUnsoundSlices(ends[0].target, whole)) },
    alive: () => objectsIn(...contexts),
    openContext: () => OpenCLContext.open(choice),
    quiet: () => buffers.forEach((buffer) => buffer.quiet()),
    [Symbol.dispose]() {
      using all = new DisposableStack();
      for (const one of [...contexts, ...ends, ...buffers, graph]) all.use(one);
    },
  };
}

/** Frames are asked about once: of I420, because no driver here has images of RG, which NV12's chroma would be. */
function takesFrames(edge: string, type: ImageType): boolean {
  return edge === "host→opencl.image" && type === "2D";
}

/** Slices that the device's driver is known to get wrong: they are refused, which tests/opencl/images_test.ts sees to. */
function hasUnsoundSlices(target: ImageTarget, whole: LayoutInit): boolean {
  const image = target.fit(layout(whole));
  return !isProblem(image) && sliceProblem(image, target.context.device) !== undefined;
}

/** The same end as an object whose methods can be spread. */
function plain(end: OpenCLEnd): End {
  return {
    target: end.target,
    allocate: (init) => end.allocate(init),
    submit: (tensor, bytes) => end.submit(tensor, bytes),
    write: (tensor, bytes) => end.write(tensor, bytes),
    read: (tensor) => end.read(tensor),
    raw: end.raw,
    wholeOnly: true, // an image begins where a sub-buffer may
  };
}

/** A work-item a pixel; (row, slice) are the pitches of the bytes. */
const SOURCE = `
#define PLACE int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2); \\
  size_t at = x * CHANNELS + y * row + z * slice;
kernel void store(write_only IMAGE to, global const uchar* from, ulong row, ulong slice) {
  PLACE
  WRITE(to, AT, (uint4)(from[at], from[at + (1 % CHANNELS)], from[at + (2 % CHANNELS)], from[at + (3 % CHANNELS)]));
}
kernel void load(read_only IMAGE from, global uchar* to, ulong row, ulong slice) {
  PLACE
  uint4 pixel = READ(from, AT);
  to[at] = pixel.x;
  if (CHANNELS == 4) { to[at + 1] = pixel.y; to[at + 2] = pixel.z; to[at + 3] = pixel.w; }
}`;

/** An image's end of an edge: kernels write and read its pixels, with samepage's checks and without. */
export class ImageEnd implements End, Disposable {
  readonly target: ImageTarget;
  readonly wholeOnly = true;
  readonly ownPitches = true;
  readonly shapeOf: Kind["shapeOf"];
  readonly onlyMapped: boolean;
  readonly foreign?: () => Foreign;
  readonly allocateFrame?: (info: ImageInfo) => Frame;
  readonly #cl: Context;
  readonly #store: OpenCLKernel;
  readonly #load: OpenCLKernel;
  readonly #raw: RawQueue;
  readonly #late: LateQueue;
  /** Keep the handles that the raw queue uses. */
  readonly #rawKernels: { readonly store: OpenCLKernel; readonly load: OpenCLKernel };

  constructor(context: Context, type: ImageType, withFrames = false) {
    const { format, shapeOf } = KINDS[type]!;
    this.#cl = context;
    this.#late = new LateQueue(context);
    this.shapeOf = shapeOf;
    this.onlyMapped = type === "1D buffer"; // it is one of a buffer, though PoCL makes others
    if (!this.onlyMapped) this.foreign = () => this.#foreign();
    if (withFrames) {
      this.allocateFrame = (info) => separateFrame((init) => this.allocate(init), info);
    }
    this.target = context.image(format, { type });
    const words = `#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable\n${
      definitionsOf(type, this.target.format)
    }`;
    const program = context.program(`${words}\n#define CHANNELS ${this.target.format.elements}\n${SOURCE}`);
    this.#store = program.kernel("store");
    this.#load = program.kernel("load");
    this.#rawKernels = { store: program.kernel("store"), load: program.kernel("load") };
    this.#raw = new RawQueue(context.handle, context.device.handle);
  }

  /** The line on which its work comes late. */
  get lateLine(): Line {
    return this.#late.line;
  }

  allocate({ shape }: LayoutInit): OpenCLImage {
    return this.target.allocate({ shape });
  }

  #foreign(): Foreign {
    const [made, buffer] = [this.target.allocate({ shape: this.shapeOf(SIZE) }), this.#scratch(SIZE)];
    const [image, mem] = [made.handle, buffer.handle];
    return {
      attach: (options) => this.target.attach(image, options),
      misfit: (options) => this.target.attach(mem, options),
      [Symbol.dispose]: () => [made, buffer].forEach((one) => one[Symbol.dispose]()),
    };
  }

  submit(image: OpenCLImage, bytes: Uint8Array): Fence {
    const from = this.#scratch(bytes.length);
    this.#cl.queue.write(from, bytes);
    const queue = this.#late.busy();
    this.#store.run({ items: itemsOf(image) }, [image, from, ...pitchesOf(image)], { queue });
    const fence = queue.fence();
    from.disposeAfter(fence);
    return fence;
  }

  async write(image: OpenCLImage, bytes: Uint8Array): Promise<void> {
    await using from = this.#scratch(bytes.length);
    this.#cl.queue.write(from, bytes);
    this.#store.run({ items: itemsOf(image) }, [image, from, ...pitchesOf(image)]);
  }

  async read(image: OpenCLImage): Promise<Uint8Array> {
    await using to = this.#scratch(image.layout.byteLength);
    this.#load.run({ items: itemsOf(image) }, [image, to, ...pitchesOf(image)]);
    const bytes = new Uint8Array(image.layout.byteLength);
    this.#cl.queue.read(to, bytes);
    return bytes;
  }

  readonly raw = {
    write: (image: OpenCLImage, bytes: Uint8Array) =>
      this.#raw.write(bytes.slice(), (from) => this.#rawRun("store", image, from)),
    read: (image: OpenCLImage) =>
      Promise.resolve(this.#raw.read(image.layout.byteLength, (to) => this.#rawRun("load", image, to))),
  };

  [Symbol.dispose](): void {
    this.#raw[Symbol.dispose]();
  }

  #scratch(byteLength: number): OpenCLTensor {
    return this.#cl.allocate({ shape: [byteLength], dtype: "u8" });
  }

  #rawRun(which: "store" | "load", image: OpenCLImage, bytes: Place["pass"]): RawRun {
    const pass = [PASS.mem(image.rawHandle), bytes, ...pitchesOf(image).map(ulong)];
    return { kernel: this.#rawKernels[which].handle, items: itemsOf(image), pass };
  }
}

function itemsOf({ image: { extent } }: OpenCLImage): number[] {
  return [...extent];
}

function pitchesOf({ image: { pitch } }: OpenCLImage): bigint[] {
  return [BigInt(pitch.row), BigInt(pitch.slice)];
}
