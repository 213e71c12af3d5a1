import type { EglPort, GlPort } from "../../gl/port.ts";
import type { ImagePort } from "../../core/device/port.ts";
import type { Images, ImportedImage, Memory, Offer } from "../../core/contract.ts";
import type { Layout } from "../../core/layout/layout.ts";
import type { PixelFormat as CommonFormat } from "../../core/layout/frame_info.ts";
import { pictureIn, type PictureSize } from "../../core/layout/pictures.ts";
import type { Reason } from "../../core/errors.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { importFor } from "../../core/memory/imports.ts";
import type { Described } from "../../core/tensors/described.ts";
import { checks } from "../check.ts";
import type { BaseContext, BaseQueue } from "../base_context.ts";
import { PIXEL_FORMATS } from "../images/format.ts";
import type { Target } from "../../core/graph/context.ts";
import { whyEnded, whyUnfit } from "../../core/graph/mapper.ts";
import { imageView } from "../images/map.ts";
import { describeImage } from "../images/native.ts";
import { type ImageProblem, type ImageShape, isProblem } from "../images/shape.ts";
import type { BaseImageTarget, ImageTensor, ImageTensorInit } from "../images/tensor.ts";
import { copiesOn } from "./copies.ts";
import { GlImage, ordersGl, refuseGl, refuseOtherGl } from "./gl.ts";
import { EGL_IMAGE, EXTERNAL_MEMORY, lacking, MEMORY_HANDLES } from "./handles.ts";
import { EglImage, ExternalImage } from "./memory.ts";

type Closed = Reason | undefined;

const [OPAQUE_FD] = MEMORY_HANDLES;
const EGL = "egl-image";
const GL = "gl-image";

type ForeignImage = ExternalImage | EglImage | GlImage;

interface ImportingTarget extends BaseImageTarget {
  readonly context: BaseContext & { readonly queue: BaseQueue };
  forPlane(plane: Layout, i: number): Target | Reason;
}

/**
 * Shows images to the host (clEnqueueMapImage; an image over a buffer: clEnqueueMapBuffer), where the driver chooses address
 * and pitches. Imports other APIs' images as images of one format: OpenGL's by their names (cl_khr_gl_sharing), EGL's by
 * their handles (cl_khr_egl_image), others by opaque fds (cl_khr_external_memory). Among the latter, only images in the
 * driver's own order of pixels come: over rows of pixels, or over a buffer, a driver was seen to report success and to
 * show wrong pixels: seen on an H200.
 */
export function imagePortsOf<T extends ImageTensor>(
  target: ImportingTarget,
  make: (init: Omit<ImageTensorInit, "target">) => T,
  hostView: Offer,
): Memory<T, ForeignImage> {
  const { context } = target;
  const { uuid } = context.id;
  const device = uuid === undefined ? {} : { uuid };
  const byFd = { kind: OPAQUE_FD.kind, device, blocks: true, closed: closedBy(EXTERNAL_MEMORY, OPAQUE_FD.extension) };
  const closed = closedBy(EGL_IMAGE);
  const byEgl: Offer<Described> = closed() === undefined ? { kind: EGL, device } : { kind: EGL, closed };
  const images: Images<ForeignImage> = {
    exports: [],
    imports: [byFd, glOffer(), byEgl],
    forPlane: (plane, i) => target.forPlane(plane, i),
    refuse: (source, _access, format) => refuseSource(target, source) ?? refuseFormat(target, format),
    import: (port, _access, source) => imported(target, port, source?.range.allocation),
  };
  return {
    exports: [hostView],
    imports: [],
    images,
    get line() {
      return context.queue.line;
    },
    refuse: () => whyEnded(context),
    export: (source, _kind, _byteLength, access, gaps) => imageView(context, source, access, !gaps),
    tensor({ handle: { root }, layout, ...about }) {
      const image = fitPicture(target, layout);
      if (isProblem(image)) throw checks.unfit("source", image.problem, undefined, "clCreateImageWithProperties"); // `refuse` has seen that it is no problem
      return make({ ...about, layout, image, root, handle: root.mem });
    },
    copies: copiesOn(context),
  };

  function closedBy(...extensions: string[]): () => Closed {
    const problem = lacking(context, extensions);
    return () => problem === undefined ? undefined : { reason: problem };
  }

  /** An OpenGL picture by its name. Only this offer's refusal is shown, so it also says why that of an `EGLImage` is closed. */
  function glOffer(): Offer<Described> {
    const refusal = refuseGl(context);
    if (refusal !== undefined) {
      const isAlone = refusal.remedy !== undefined || closed() === undefined;
      const reason = isAlone ? refusal.reason : `${refusal.reason} ${closed()!.reason}`;
      return { kind: GL, closed: () => ({ ...refusal, reason }) };
    }
    const refuse = ({ target: { context: of } }: Described) => refuseOtherGl(context, of);
    return { kind: GL, blocks: true, orders: ordersGl(context), refuse };
  }
}

function typeOf({ layers }: PictureSize): "2D" | "2D array" {
  return layers === undefined ? "2D" : "2D array";
}

/** A layout as such an image, which never has three dimensions. */
function fitPicture(target: ImportingTarget, at: Layout): ImageShape | ImageProblem {
  const size = pictureIn(at.shape, target.format.elements);
  return target.fit(at, size && typeOf(size));
}

function refuseSource(target: ImportingTarget, { planes: [{ layout }] }: Described): Closed {
  if (!target.context.queue.resource.isLive) return { reason: `${target.context.name}, or its queue, was disposed.` };
  const image = fitPicture(target, layout);
  if (isProblem(image)) return whyUnfit(image);
  const { type = image.type } = target;
  if (image.type === type) return undefined;
  const what = image.type === "2D" ? "one picture" : "an array of pictures";
  return {
    reason: `it is ${what}, and these are ${type} images.`,
    remedy: `Map it to cl.image(format, { type: "${image.type}" }).`,
  };
}

/** Pixels of another format may have the same layout. */
function refuseFormat({ format }: ImportingTarget, of: CommonFormat | undefined): Closed {
  if (of === undefined || of.name === format.common) return undefined;
  const reason = `its pixels are ${of.name}, and those of ${format.name} are ${format.common}.`;
  const fit = [...PIXEL_FORMATS.values()].find(({ common }) => common === of.name);
  if (fit === undefined) return { reason, remedy: "OpenCL has no such format." };
  return { reason, remedy: `Map it to cl.image({ order: "${fit.order}", type: "${fit.type}" }).` };
}

function imported(
  target: ImportingTarget,
  port: ImagePort,
  block: Allocation | undefined,
): ImportedImage<ForeignImage> {
  if (port.modifier !== undefined) {
    throw checks.unfit(
      "source",
      "its pixels lie row by row, and OpenCL would show others, without an error.",
      undefined,
      "clCreateImageWithProperties",
    );
  }
  const { context } = target;
  const [object] = port.objects;
  const make = () => new GlImage(context, object as GlPort);
  const gl = port.kind === GL ? importFor(context.queue.resource, block!, make) : undefined;
  const image = gl ?? (port.kind === EGL ? new EglImage(context, object as EglPort) : overFd(target, port));
  return { ...image.use(image === gl), handles: [image] };
}

function overFd({ context, format }: ImportingTarget, port: ImagePort): ExternalImage {
  const { width, height, layers = 1, objects: [memory], planes: [{ offset }] } = port;
  if (offset !== 0) {
    const what = `it begins at byte ${offset} of its memory, and OpenCL takes only images that begin with theirs.`;
    throw checks.unfit("source", what, undefined, "clCreateImageWithProperties");
  }
  const row = width * format.bytesPerPixel;
  const pitch = { row, slice: row * height };
  const shape: ImageShape = { type: typeOf(port), extent: [width, height, layers], pitch };
  return new ExternalImage(context, OPAQUE_FD.property, memory.takeFd(), describeImage(format, shape));
}
