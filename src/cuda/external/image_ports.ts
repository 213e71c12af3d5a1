import type { CudaArray } from "../../../ffi/cuda_runtime/handles.ts";
import type { GlPort } from "../../gl/port.ts";
import type { ImagePort } from "../../core/device/port.ts";
import type { Images, ImportedImage, Memory } from "../../core/contract.ts";
import { InteropError, messageOf, type Reason } from "../../core/errors.ts";
import type { Target } from "../../core/graph/context.ts";
import { allOrNothing, type Undo, undoAll } from "../../core/life/undo.ts";
import type { PixelFormat } from "../../core/layout/frame_info.ts";
import { pictureIn, type PictureSize } from "../../core/layout/pictures.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { importFor } from "../../core/memory/imports.ts";
import type { Described } from "../../core/tensors/described.ts";
import type { Tensor, TensorInit } from "../../core/tensors/tensor.ts";
import { checks } from "../check.ts";
import { assertWithin } from "../arrays/extent.ts";
import type { CudaImageFormat } from "../arrays/format.ts";
import { MARKER } from "../driver.ts";
import type { FrameStruct } from "../egl/frame.ts";
import { glResourceOf } from "../egl/gl_resource.ts";
import { registered } from "../egl/image.ts";
import type { CudaStreamContext } from "../stream.ts";
import { copyPixels } from "../transfers/array.ts";
import { type ExternalImage, importImage } from "./memory.ts";

const KIND = "opaque-fd";

interface ImportingTarget extends Target, Required<CudaImageFormat> {
  readonly context: CudaStreamContext;
}

/**
 * Imports other APIs' images as images of one format: OpenGL's by their names, others by opaque fds. Images by fds have to be
 * in the driver's own order of pixels: for rows of pixels, the driver reports success and shows wrong pixels (on an H200).
 */
export function imagePortsOf<T extends Tensor<CudaArray> & PictureSize>(
  target: ImportingTarget,
  make: (init: Omit<TensorInit<CudaArray>, "target">) => T,
): Memory<T, ExternalImage> {
  const { context } = target;
  const { uuid } = context.id;
  const device = uuid === undefined ? {} : { uuid };
  const images: Images<ExternalImage> = {
    exports: [],
    imports: [{ kind: KIND, device }, { kind: "gl-image", device, orders: true }, { kind: "egl-image", device }],
    onePlane: true,
    refuse: (source, _access, format) => refuseSource(target, source, format),
    import(port, _access, source) {
      if (port.kind === KIND) return imported(target, port);
      const { allocation } = source!.range;
      return port.kind === "gl-image" ? glImage(target, port, allocation) : eglImage(target, port, allocation);
    },
  };
  return {
    exports: [],
    imports: [],
    images,
    get line() {
      return context.stream.line;
    },
    tensor: ({ handle: { array }, ...init }) => make({ ...init, handle: array }),
    copies: {
      write: (image, bytes) => copyPixels(context, image.rawHandle, image, bytes, true),
      read: (image, into) => copyPixels(context, image.rawHandle, image, into, false),
    },
  };
}

function refuseSource(
  { context, dtype, channels }: ImportingTarget,
  { planes: [{ layout: { shape, dtype: given } }] }: Described,
  format: PixelFormat | undefined,
): Reason | undefined {
  const size = pictureIn(shape, channels);
  const elements = format?.elements ?? elementsIn(shape);
  if (given !== dtype || size === undefined || (format !== undefined && elements !== channels)) {
    return {
      reason: `its pixels are ${elements} × ${given}, and those of the target ${channels} × ${dtype}.`,
      remedy: elements === 3
        ? "CUDA has no arrays of three channels: copy it to an image of four."
        : `Map it to cuda.image({ dtype: "${given}", channels: ${elements} }).`,
    };
  }
  try {
    const { layers } = size;
    assertWithin({ ...size, depth: layers ?? 0 }, { surface: true, layered: layers !== undefined }, context.device);
  } catch (error) {
    return { reason: messageOf(error) };
  }
}

/** The channels of a pixel by the image's shape. A last dimension above 4 is the width of layers with one channel. */
function elementsIn(shape: readonly number[]): number {
  const last = shape.length > 2 ? shape[shape.length - 1] : 1;
  return last > 4 ? 1 : last;
}

function imported({ context, dtype, channels }: ImportingTarget, port: ImagePort): ImportedImage<ExternalImage> {
  const { width, height, layers, modifier, objects: [memory], planes: [{ offset }] } = port;
  if (modifier !== undefined) {
    throw checks.unfit(
      "source",
      "its pixels lie row by row, and CUDA would show others, without an error.",
      undefined,
      "cudaExternalMemoryGetMappedMipmappedArray",
    );
  }
  const { byteLength, dedicated } = memory;
  const place = { format: { dtype, channels }, width, height, layers, offset };
  const image = importImage(context, { fd: memory.takeFd(), byteLength, dedicated }, place);
  // Kernels get only the handle of a texture, which records no work, so the stream itself waits for earlier work.
  return { handles: [image], begin: () => MARKER, release: () => image.release() };
}

/** An OpenGL texture or renderbuffer, whose array is known once it is mapped. */
function glImage({ context }: ImportingTarget, port: ImagePort, block: Allocation): ImportedImage<ExternalImage> {
  const resource = glResourceOf(context, block, port.objects[0] as GlPort);
  return { ...resource.use(true), handles: [resource] };
}

/** @throws {InteropError} if the driver has the image at addresses, as a Tegra may. */
function arrayIn(struct: FrameStruct): CudaArray {
  if (struct.isArrays) return struct.arrayOf(0);
  throw new InteropError("the EGLImage is memory at addresses, and no CUDA array.", {
    ...{ api: "cuda", fn: "cudaGraphicsResourceGetMappedEglFrame", argument: "source" },
    hint: "Take its planes as tensors: CudaEglImage.register(cuda, plane.handle.image).tensors.",
  });
}

/** An `EGLImage`, which needs no map: the stream waits for earlier work, and later users wait for the stream. */
function eglImage({ context }: ImportingTarget, port: ImagePort, block: Allocation): ImportedImage<ExternalImage> {
  const image = importFor(context.resource, block, () => {
    const undo: Undo = [];
    const struct = registered(context, port.objects[0].value, undo);
    const array = allOrNothing("importing an EGLImage", () => arrayIn(struct), undo);
    return { array, release: () => undoAll(undo, "unregistering an EGLImage") };
  });
  return { handles: [image], begin: () => MARKER };
}
