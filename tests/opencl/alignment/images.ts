/**
 * Images over host memory and over buffers, and the proofs of both.
 *
 * @module
 */
import { host, type HostTensor, MapperGraph, NativeCallError, NoRouteError, type Target } from "@samepage/interop";
import type { Mapper } from "@samepage/interop/backend";
import type {
  ImageTarget,
  ImageType,
  OpenCLContext,
  OpenCLImage,
  OpenCLKernel,
  PixelFormat,
} from "@samepage/interop/opencl";
import { randomPixels } from "../../../src/opencl/images/specimen.ts";
import { open, type Platform, thrown } from "../help.ts";
import { BROKEN, copySource } from "../image_kernels.ts";
import { ADDRESSES, type Kind, Room, type Row } from "./rows.ts";

/** Pixels of each kind of image, outermost first. */
const SHAPES: { readonly [T in ImageType]?: readonly number[] } = {
  "2D": [3, 5],
  "1D": [7],
  "3D": [2, 3, 5],
  "1D array": [3, 5],
  "2D array": [2, 3, 5],
};

const ROOM = 8192;

/** All formats of one kind of image; of the others one format for each size of a pixel will do. */
function formatsOf(cl: OpenCLContext, type: ImageType, all: boolean): readonly PixelFormat[] {
  const formats = cl.imageFormats(type);
  return all ? formats : [...new Map(formats.map((format) => [format.bytesPerPixel, format])).values()];
}

/** The kernels that copy, one for all formats that are read alike. */
function copiers(cl: OpenCLContext): (type: ImageType, format: PixelFormat) => OpenCLKernel {
  const made = new Map<string, OpenCLKernel>();
  return (type, format) => {
    const source = copySource(type, format);
    let kernel = made.get(source);
    if (kernel === undefined) made.set(source, kernel = cl.program(source).kernel("copy"));
    return kernel;
  };
}

/** The same mapper, which runs no proof before it is asked: without any, nothing is called an alias, and maps as well. */
function unproven(mapper: Mapper): Mapper {
  const { from, to } = mapper;
  return { from, to, probe: (...args) => mapper.probe(...args), map: (...args) => mapper.map(...args) };
}

/** Two rooms with pixels in them, and the part of one that is an image at an offset. */
class Pixels {
  readonly from: Room;
  readonly to: Room;

  constructor(stack: DisposableStack) {
    this.from = Room.of(ROOM, stack);
    this.to = Room.of(ROOM, stack);
  }

  /** Puts pixels there that come through a kernel as they are. */
  fill(begin: number, { format, byteLength }: Picture): Uint8Array<ArrayBuffer> {
    const pixels = randomPixels(byteLength, format);
    this.from.tensor.view().set(pixels, begin);
    this.to.restore();
    return pixels;
  }
}

/** An image of one kind and format. */
class Picture {
  readonly target: ImageTarget;
  readonly format: PixelFormat;
  readonly shape: readonly number[];
  readonly byteLength: number;

  constructor(cl: OpenCLContext, type: ImageType, format: PixelFormat, pixels: readonly number[]) {
    this.target = cl.image(format, { type });
    this.format = format;
    this.shape = [...pixels, format.elements];
    this.byteLength = pixels.reduce((count, n) => count * n, format.bytesPerPixel);
  }

  /** The part of a room that is one. */
  in(room: Room, begin: number): HostTensor {
    return room.part({ shape: this.shape, dtype: this.format.dtype, byteOffset: begin });
  }

  /** The addresses at which its elements lie at multiples of their size: elsewhere there is no tensor. */
  get addresses(): readonly number[] {
    const size = this.format.bytesPerPixel / this.format.elements;
    return ADDRESSES.filter((begin) => begin % size === 0);
  }
}

/** Host memory as images of every format: in place where pixels keep to their size, else by a copy and no other way. */
export const images: Kind = function* (name, stack) {
  const cl = stack.use(open(name as Platform));
  const graph = new MapperGraph([host, cl], cl.edges.map(unproven));
  const kernelFor = copiers(cl);
  const pixels = new Pixels(stack);
  for (const [type, shape] of Object.entries(SHAPES) as [ImageType, readonly number[]][]) {
    for (const format of formatsOf(cl, type, type === "2D")) {
      const picture = new Picture(cl, type, format, shape);
      if (type === "3D" && !cl.device.extensions.includes("cl_khr_3d_image_writes")) continue;
      const kernel = kernelFor(type, format);
      yield* picture.addresses.map((begin): Row => ({
        name: `${type} ${format.name} at ${begin}`,
        run() {
          const expected = pixels.fill(begin, picture);
          {
            using from = picture.in(pixels.from, begin);
            using to = picture.in(pixels.to, begin);
            const inPlace = begin % format.bytesPerPixel === 0;
            if (!inPlace) thrown(NoRouteError, () => graph.map(from, picture.target));
            const copy = inPlace ? "never" : "allow";
            using source = graph.map(from, picture.target, { access: "read", copy });
            using sink = graph.map(to, picture.target, { copy });
            kernel.run({ items: [...source.image.extent] }, [source, sink]);
          }
          if (!BROKEN[name]?.includes(format.name)) pixels.to.assertHolds(begin, expected);
        },
      }));
    }
  }
};

/** What explain finds out by experiments: each runs where memory keeps the rules, and nowhere else. */
export const imageProofs: Kind = function* (name, stack) {
  const cl = stack.use(open(name as Platform));
  const graph = new MapperGraph([host, cl]);
  const pixels = new Pixels(stack);
  const experiments = provesAny(cl, graph, stack);
  // A proof takes a tenth of a second: one format for each size of a pixel will do, and all that are refused without any.
  const bySize = formatsOf(cl, "2D", false);
  for (const format of formatsOf(cl, "2D", true)) {
    const { bytesPerPixel } = format;
    const picture = new Picture(cl, "2D", format, SHAPES["2D"]!);
    const isKept = (begin: number) => begin % bytesPerPixel !== 0 || (experiments && bySize.includes(format));
    yield* picture.addresses.filter(isKept).map((begin): Row => ({
      name: `2D ${format.name} at ${begin}`,
      run() {
        using from = picture.in(pixels.from, begin);
        const { open } = graph.explain(from, picture.target);
        if (open !== (begin % bytesPerPixel === 0)) throw new Error(`it is ${open ? "open" : "refused"}`);
      },
    }));
  }
};

/** Where images as well aligned as can be are no alias, no other experiment runs, and that one takes a second. */
function provesAny(cl: OpenCLContext, graph: MapperGraph, stack: DisposableStack): boolean {
  const [format] = cl.imageFormats("2D");
  if (format === undefined) return false;
  const source = stack.use(host.allocate({ shape: [4, 4, format.elements], dtype: format.dtype }));
  return graph.explain(source, cl.image(format)).steps[0].transfer === "alias";
}

/** Buffers as images, over host memory: 1D and, where the device has them, 2D. */
export const imagesOverBuffers: Kind = function* (name, stack) {
  const cl = stack.use(open(name as Platform));
  const graph = new MapperGraph([host, cl], cl.edges.map(unproven));
  const kernelFor = copiers(cl);
  const pixels = new Pixels(stack);
  const { bufferPitch } = cl.images.abilities.limits;
  let none = true;
  const kinds = [["1D buffer", [7]], ["2D", [3, Math.max(bufferPitch, 1)]]] as const;
  for (const [type, shape] of kinds) {
    for (const format of formatsOf(cl, type, type === "1D buffer")) {
      const picture = new Picture(cl, type, format, shape);
      if (!isOpen(graph, pixels, picture, cl)) continue;
      none = false;
      const kernel = kernelFor(type, format);
      yield* picture.addresses.map((begin): Row => ({
        name: `${type} ${format.name} at ${begin}`,
        run() {
          const expected = pixels.fill(begin, picture);
          {
            using from = picture.in(pixels.from, begin);
            using to = picture.in(pixels.to, begin);
            using a = graph.map(from, cl, { access: "read" });
            using b = graph.map(to, cl);
            const toImage = (buffer: typeof b, access: "read" | "read-write") =>
              graph.map(buffer, picture.target as Target<OpenCLImage>, { access });
            const base = type === "2D" ? Math.max(1, cl.images.abilities.limits.bufferBase) : 1;
            if (begin % (base * format.bytesPerPixel) !== 0) return void thrown(NoRouteError, () => toImage(b, "read"));
            using source = toImage(a, "read");
            using sink = toImage(b, "read-write");
            kernel.run({ items: [...source.image.extent] }, [source, sink]);
          }
          pixels.to.assertHolds(begin, expected);
        },
      }));
    }
  }
  if (none) {
    yield* cl.imageFormats("1D buffer").map((format) => refusedRow(cl, new Picture(cl, "1D buffer", format, [7])));
  }
};

/** False where there is no such image at all; only the driver knows whether it makes one over host memory. */
function isOpen(graph: MapperGraph, pixels: Pixels, picture: Picture, cl: OpenCLContext): boolean {
  using from = picture.in(pixels.from, 0);
  using buffer = graph.map(from, cl);
  try {
    graph.map(buffer, picture.target)[Symbol.dispose]();
    return true;
  } catch (error) {
    if (error instanceof NoRouteError || error instanceof NativeCallError) return false;
    throw error;
  }
}

/** Where a driver makes no image over a buffer of host memory, the graph says so before it asks for one. */
function refusedRow(cl: OpenCLContext, picture: Picture): Row {
  return {
    name: `1D buffer ${picture.format.name}, refused`,
    run() {
      const graph = new MapperGraph([host, cl]);
      using source = host.allocate({ shape: picture.shape, dtype: picture.format.dtype });
      using buffer = graph.map(source, cl);
      thrown(NoRouteError, () => graph.map(buffer, picture.target));
    },
  };
}
