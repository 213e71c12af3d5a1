import { GL_BGRA_EXT, GL_RENDERBUFFER, GL_TEXTURE_2D } from "../../ffi/gles/constants.ts";
import { ImagePort, Port } from "../core/device/port.ts";
import type { Exported, Images, ImportedImage } from "../core/contract.ts";
import { EglPort, GlPort } from "../gl/port.ts";
import { type Reason, throwAll } from "../core/errors.ts";
import type { ImageInfo } from "../core/layout/frame_info.ts";
import { allOrNothing, undoAll, unwind } from "../core/life/undo.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import type { Described } from "../core/tensors/described.ts";
import { closeFd } from "../core/native/fd.ts";
import { Frame, planesOf } from "../core/tensors/frame.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { EglBase } from "./base.ts";
import { closePlanes, DmaBufFormats, exportPicture, importPicture, seenOutside } from "./dmabuf.ts";
import { glFormats, planeSize, refuseInfo } from "./formats.ts";
import type { EglPicture } from "./picture.ts";
import { type EglTensor, pictureIn } from "./tensor.ts";

type Closed = Reason | undefined;

/** The ports of a context's images, in place: GL's names, EGL's handles, dma-bufs. */
export function imagesOf(base: EglBase): Images<EglPicture> {
  const { openContext } = base;
  let formats: DmaBufFormats | undefined;
  const tellsModifiers = () => openContext.lacks("EGL_EXT_image_dma_buf_import_modifiers") === undefined;
  return {
    exports: [
      { kind: "gl-image", refuse: refuseName },
      { kind: "egl-image", refuse: refuseForeign },
      { kind: "dma-buf", closed: () => openContext.lacks("EGL_MESA_image_dma_buf_export"), prepare: seePictures },
    ],
    imports: [{
      kind: "dma-buf",
      closed: () => openContext.lacks("EGL_EXT_image_dma_buf_import") ?? openContext.lacks("GL_OES_EGL_image"),
      prepare({ info }) {
        if (!tellsModifiers()) return;
        formats ??= new DmaBufFormats(openContext.display);
        formats.ask(glFormats((info as ImageInfo).format)!);
      },
      refuse({ info }) {
        const { format, modifier } = info as ImageInfo;
        if (formats !== undefined) return formats.refuse(base.name, glFormats(format)!, modifier);
        return modifier === 0n || tellsModifiers() ? undefined : openContext.lacks(MODIFIERS);
      },
    }],
    formatOf: ({ planes }) => planes.length === 1 ? pictureOf(planes[0].allocation)?.format.pixel : undefined,
    refuse: ({ info, target }) => target.context === base ? undefined : refuseSource(base, info),
    export: (source, kind) => kind === "dma-buf" ? exported(source, kind) : named(source, kind),
    import: (port, _access, source) => imported(base, port, source!.info as ImageInfo, formats),
  };
}

const MODIFIERS = "EGL_EXT_image_dma_buf_import_modifiers";

/** Refuses plain tensors, because they do not tell whether red or blue comes first, or a byte is brightness. */
function refuseSource(base: EglBase, info: Described["info"]): Closed {
  if (info?.type === "image") return refuseInfo(base.openContext, info);
  return {
    reason: "EGL has images of a pixel format, and a tensor has none.",
    remedy: 'Make a frame of it: Frame.of([tensor], imageInfo({ format: "RGBA", … })).',
  };
}

const PICTURE = {};

export function keepPicture(allocation: Allocation, picture: EglPicture): void {
  allocation.attachment(PICTURE, () => picture);
}

function pictureOf(allocation: Allocation): EglPicture | undefined {
  return allocation.findAttachment<EglPicture>(PICTURE);
}

/** Refuses pictures over another API's memory: they may share its block, by which APIs recognise their imports. */
function refuseForeign({ planes: [{ allocation }] }: Described): Closed {
  if (pictureOf(allocation) !== undefined) return undefined;
  return { reason: "the picture lies in another API's memory.", remedy: "Map the memory that it came from." };
}

/** CUDA refuses a BGRA texture by its GL name (code 1), but takes its `EGLImage`. */
function refuseName(source: Described): Closed {
  if (pictureOf(source.planes[0].allocation)?.format.internal !== GL_BGRA_EXT) return refuseForeign(source);
  return { reason: "other drivers know no GL textures in BGRA." };
}

function seePictures({ planes }: Described): void {
  for (const plane of planes) {
    const picture = pictureIn(plane);
    if (picture !== undefined) picture.fd ??= seenOutside(picture);
  }
}

/** Exports each plane by its GL name or `EGLImage`. The other driver has it until the map ends. */
function named(source: Mapped, kind: string): Exported<ImagePort> {
  const { planes, form } = picturesIn(source);
  const objects = planes.map(({ rawHandle: { context, name, storage }, grant, layout: { byteLength } }) => {
    if (kind === "egl-image") {
      const { image } = pictureOf(grant.allocation)!; // the image lives as long as the memory
      return new EglPort("egl-image", { value: image, display: context.display.handle, byteLength });
    }
    const isRenderbuffer = storage === "renderbuffer";
    const target = isRenderbuffer ? GL_RENDERBUFFER : GL_TEXTURE_2D;
    const at = { value: BigInt(name), byteLength, target, isRenderbuffer };
    return new GlPort("gl-image", { ...at, within: (use) => context.within(use) });
  });
  const port = new ImagePort(kind, { ...form, objects, planes: planes.map((_, object) => ({ object, ...AT_ONCE })) });
  for (const { rawHandle } of planes) rawHandle.lent++;
  return { port, release: () => planes.forEach(({ rawHandle }) => rawHandle.lent--) };
}

/** Only the driver knows where the pixels of such an object lie. */
const AT_ONCE = { offset: 0, stride: 0 } as const;

function picturesIn(source: Mapped) {
  const planes = planesOf(source) as readonly EglTensor[];
  if (source instanceof Frame) {
    const { width, height } = source.info as ImageInfo;
    return { planes, form: { width, height } };
  }
  const { width, height } = planes[0].rawHandle;
  return { planes, form: { width, height } };
}

/** Exports each plane by an fd of its own. */
function exported(source: Mapped, kind: string): Exported<ImagePort> {
  const { planes, form } = picturesIn(source);
  const out = allOrNothing("exporting a picture", (undo) =>
    planes.map(({ rawHandle }) => {
      const picture = exportPicture(rawHandle);
      undo.push(() => closePlanes(picture.planes));
      return picture;
    }));
  const heights = planes.flatMap(({ rawHandle }, i) => out[i].planes.map(() => rawHandle.height));
  const first = out.map(({ planes: [plane] }) => plane);
  const all = [...first, ...out.flatMap(({ planes: [, ...rest] }) => rest)]; // those of the format come first
  const fds = [...new Set(all.map(({ fd }) => fd))];
  const objects = fds.map((fd) => {
    const ends = all.map((plane, i) => plane.fd === fd ? plane.offset + plane.stride * heights[i] : 0);
    return new Port(kind, { fd, byteLength: Math.max(...ends) });
  });
  const places = all.map(({ fd, offset, stride }) => ({ object: fds.indexOf(fd), offset, stride }));
  const [{ modifier }] = out;
  return { port: new ImagePort(kind, { objects, ...form, planes: places, modifier }) };
}

/** Imports each plane of the format as an image of its own. EGL duplicates the fds, so the port's own are closed. */
function imported(
  { openContext }: EglBase,
  port: ImagePort,
  info: ImageInfo,
  dmaBufs: DmaBufFormats | undefined,
): ImportedImage<EglPicture> {
  const formats = glFormats(info.format)!;
  const fds = port.objects.map((object) => object.takeFd());
  const planes = port.planes.map(({ object, offset, stride }) => ({ fd: fds[object], offset, stride }));
  const handles: EglPicture[] = [];
  const errors: unknown[] = [];
  const release = () => undoAll(handles.map((picture) => () => picture.free()), "releasing images");
  try {
    for (const [i, format] of formats.entries()) {
      const memory = formats.length === 1 ? planes : [planes[i]];
      const modifier = dmaBufs?.takesModifier(format) ? port.modifier : undefined;
      handles.push(importPicture(openContext, format, planeSize(info, format), memory, modifier));
    }
  } catch (error) {
    errors.push(error);
  }
  errors.push(...unwind(fds.map((fd) => () => closeFd(fd))));
  if (errors.length > 0) throwAll([...errors, ...unwind([release])], "importing an image");
  return { handles, release };
}
