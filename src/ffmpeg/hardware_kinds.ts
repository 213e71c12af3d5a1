import { type Address, NULL } from "../../ffi/address.ts";
import * as hw from "../../ffi/avhwcontext57/constants.ts";
import type { NativePicture } from "../core/contract.ts";
import type { ImagePlane } from "../core/device/port.ts";
import { IMAGE_FORMATS, type ImageFormat, type ImageInfo } from "../core/layout/frame_info.ts";
import { viewAt } from "../core/native/pin.ts";
import { ffmpegName, pixelFormatNumber } from "./formats.ts";
import { bufferBytes, type Fields } from "./frame.ts";
import { avutil, checks, made } from "./library.ts";
import type { Structs } from "./versions.ts";

/** Hardware frames of one API: which fields FFmpeg has for its handles. */
export interface HardwareKind {
  /** FFmpeg's name of the pixel format. */
  readonly format: string;
  /** Its `AV_HWDEVICE_TYPE_…`. */
  readonly device: number;
  /** The struct of a device, and by its fields the names of the context's handles. */
  readonly struct: "AVDRMDeviceContext" | "AVVAAPIDeviceContext" | "AVOpenCLDeviceContext" | "AVCUDADeviceContext";
  readonly handles: Readonly<Record<string, string>>;
  /** The field that is the same for all of one context, and what to do where another's handle is there. */
  readonly same?: readonly [field: string, remedy: (theirs: bigint) => string];
  /** The format of the pixels, for an AVFrame without a frames context; left out where that has to be there. */
  storedFormat?(fields: Fields): number;
  /** What an AVFrame says of its picture; `device` is the struct of its device, where it has one. */
  read(fields: Fields, info: ImageInfo, device: Address | undefined): NativePicture;
  /** Writes it into one. Returns how many of its buffers that took. */
  write(view: DataView<ArrayBuffer>, picture: NativePicture, info: ImageInfo): number;
}

const WORD = 8;

/** By the API of the context. */
export const KINDS: Readonly<Record<string, HardwareKind>> = {
  dmabuf: {
    ...{
      format: "drm_prime",
      device: hw.AV_HWDEVICE_TYPE_DRM,
      struct: "AVDRMDeviceContext",
      handles: { fd: "device" },
    },
    storedFormat: (fields) => pixelFormatNumber(ffmpegName(formatOfLayers(readDescriptor(fields).layers))!),
    read: (fields) => readDescriptor(fields),
    write: writeDescriptor,
  },
  vaapi: {
    ...{ format: "vaapi", device: hw.AV_HWDEVICE_TYPE_VAAPI, struct: "AVVAAPIDeviceContext" },
    handles: { display: "display" },
    same: ["display", standOn("VaapiContext.attach")],
    read: ({ view }) => ({ objects: [{ handle: view.getBigUint64(surfaceOffset(), true) }], planes: [] }),
    write(view, { objects: [{ handle }] }) {
      view.setBigUint64(surfaceOffset(), handle, true);
      return 0;
    },
  },
  opencl: {
    ...{ format: "opencl", device: hw.AV_HWDEVICE_TYPE_OPENCL, struct: "AVOpenCLDeviceContext" },
    handles: { device_id: "device", context: "context", command_queue: "queue" },
    same: ["context", standOn("OpenCLContext.attach")],
    read: ({ view }, { format }) => ({ objects: readData(view, format), planes: [] }),
    write(view, { objects }) {
      for (const [i, { handle }] of objects.entries()) view.setBigUint64(dataOffset(i), handle, true);
      return 0;
    },
  },
  cuda: {
    ...{ format: "cuda", device: hw.AV_HWDEVICE_TYPE_CUDA, struct: "AVCUDADeviceContext" },
    handles: { cuda_ctx: "context", stream: "stream" },
    same: ["cuda_ctx", () => "Have FFmpeg open its device on the primary context: AV_CUDA_USE_PRIMARY_CONTEXT."],
    read({ view }, { format }, device) {
      const { AVFrame: { fields: { linesize } }, hardware } = avutil().structs;
      const { size, fields: { stream } } = hardware.AVCUDADeviceContext;
      const objects = readData(view, format);
      const strideOf = (plane: number) => view.getInt32(linesize.offset + 4 * plane, true);
      return {
        objects,
        planes: objects.map((_, object) => ({ object, offset: 0, stride: strideOf(object) })),
        queue: viewAt(device!, size, "ffmpeg").getBigUint64(stream.offset, true),
      };
    },
    write(view, { objects, planes }) {
      const { linesize } = avutil().structs.AVFrame.fields;
      for (const [i, { object, offset, stride }] of planes.entries()) {
        view.setBigUint64(dataOffset(i), objects[object].handle + BigInt(offset), true);
        view.setInt32(linesize.offset + 4 * i, stride, true);
      }
      return 0;
    },
  },
};

function standOn(attach: string) {
  return (theirs: bigint) => `Stand on theirs: FFmpegContext.open({ on: ${attach}(${theirs}n) }).`;
}

function dataOffset(plane: number): number {
  return avutil().structs.AVFrame.fields.data.offset + WORD * plane;
}

/** What an AVFrame has for each plane of a format. */
function readData(view: DataView<ArrayBuffer>, format: ImageFormat) {
  return IMAGE_FORMATS[format].planes.map((_, i) => ({ handle: view.getBigUint64(dataOffset(i), true) }));
}

function surfaceOffset(): number {
  return avutil().structs.hardware.HardwareAVFrame.fields.surface.offset;
}

/** Writes a context's handles into the struct of a device. */
export function writeHandles({ struct, handles }: HardwareKind, at: Address, given: Readonly<Record<string, bigint>>) {
  const { size, fields } = avutil().structs.hardware[struct];
  const view = viewAt(at, size, "ffmpeg");
  for (const [field, name] of Object.entries(handles)) {
    const { offset, type } = fields[field];
    if (type === "i32") view.setInt32(offset, Number(given[name]), true);
    else view.setBigUint64(offset, given[name], true);
  }
}

/** @throws {ArgumentError} for a device of another context. */
export function assertSame(
  { format, device, struct, handles, same }: HardwareKind,
  { type, hwctx }: { readonly type: number; readonly hwctx: Address },
  given: Readonly<Record<string, bigint>>,
  on: string,
): void {
  if (same === undefined) return;
  if (type !== device) {
    throw checks.wrong("pointer", `its frames context is of another API than its format, ${format}.`);
  }
  const [field, remedy] = same;
  const { size, fields } = avutil().structs.hardware[struct];
  const theirs = viewAt(hwctx, size, "ffmpeg").getBigUint64(fields[field].offset, true);
  if (theirs === given[handles[field]]) return;
  const what = `its frames context is on ${field} 0x${
    theirs.toString(16)
  }, and this context is on ${on}, which is another.`;
  throw checks.wrong("pointer", what, remedy(theirs));
}

interface Layer {
  readonly fourcc: number;
  readonly planes: readonly ImagePlane[];
}

function readDescriptor({ view }: Fields): NativePicture & { readonly layers: readonly Layer[] } {
  const { AVFrame, hardware: { AVDRMFrameDescriptor: { size, fields }, ...structs } } = avutil().structs;
  const address = view.getBigUint64(AVFrame.fields.data.offset, true) as Address;
  if (address === NULL) throw checks.wrong("pointer", "its AVFrame has no AVDRMFrameDescriptor: data[0] is null.");
  const at = viewAt(address, size, "ffmpeg");
  const { nb_objects, nb_layers } = structs.readAVDRMFrameDescriptor(at, 0);
  const list = <T>(count: number, what: string, read: (i: number) => T): T[] => {
    if (count > 0 && count <= hw.AV_DRM_MAX_PLANES) return Array.from({ length: count }, (_, i) => read(i));
    throw checks.wrong(
      "pointer",
      `its AVDRMFrameDescriptor has ${count} ${what}, and 1 to ${hw.AV_DRM_MAX_PLANES} fit.`,
    );
  };
  const { AVDRMObjectDescriptor: object, AVDRMLayerDescriptor: layer, AVDRMPlaneDescriptor: plane } = structs;
  const objects = list(
    nb_objects,
    "objects",
    (i) => structs.readAVDRMObjectDescriptor(at, fields.objects.offset + i * object.size),
  );
  const layers = list(nb_layers, "layers", (i): Layer => {
    const start = fields.layers.offset + i * layer.size;
    const { format, nb_planes } = structs.readAVDRMLayerDescriptor(at, start);
    const planes = list(nb_planes, `planes in layer ${i}`, (p) => {
      const { object_index, offset, pitch } = structs.readAVDRMPlaneDescriptor(
        at,
        start + layer.fields.planes.offset + p * plane.size,
      );
      return { object: object_index, offset: Number(offset), stride: Number(pitch) };
    });
    return { fourcc: format, planes };
  });
  const [{ format_modifier: modifier }, ...others] = objects;
  if (others.some(({ format_modifier }) => format_modifier !== modifier)) {
    throw checks.wrong(
      "pointer",
      "the objects of its AVDRMFrameDescriptor have different modifiers, and a frame has one.",
    );
  }
  return {
    ...{ layers, modifier, planes: layers.flatMap(({ planes }) => planes) },
    objects: objects.map(({ fd, size }) => ({ handle: BigInt(fd), byteLength: Number(size) })),
  };
}

/** The format of one layer, or of a layer for each plane. */
function formatOfLayers(layers: readonly Layer[]): ImageFormat {
  const said = layers.map(({ fourcc }) => fourcc).join();
  const formats = Object.keys(IMAGE_FORMATS) as ImageFormat[];
  const found = formats.filter((format) => ffmpegName(format) !== undefined).find((format) => {
    const { fourcc, planes } = IMAGE_FORMATS[format];
    return said === String(fourcc) || said === planes.map(({ fourcc }) => fourcc).join();
  });
  if (found !== undefined) return found;
  const text = layers.map(({ fourcc }) => `0x${fourcc.toString(16)}`).join(", ");
  throw checks.wrong(
    "pointer",
    `samepage has no format of DRM's layers ${text}.`,
    "Its frames context would say more.",
  );
}

/** One layer with all planes. The AVFrame owns the descriptor; the fds stay the frame's. */
function writeDescriptor(
  view: DataView<ArrayBuffer>,
  { objects, planes, modifier = 0n }: NativePicture,
  { format }: ImageInfo,
): number {
  const { fns, structs: { AVFrame, hardware: { AVDRMFrameDescriptor: { size, fields }, ...structs } } } = avutil();
  const buffer = made(fns.av_buffer_allocz(BigInt(size)), "av_buffer_allocz");
  view.setBigUint64(AVFrame.fields.buf.offset, buffer, true);
  const address = bufferBytes(buffer);
  view.setBigUint64(AVFrame.fields.data.offset, address, true);
  const at = viewAt(address, size, "ffmpeg");
  at.setInt32(fields.nb_objects.offset, objects.length, true);
  at.setInt32(fields.nb_layers.offset, 1, true);
  const { AVDRMObjectDescriptor: object, AVDRMLayerDescriptor: layer, AVDRMPlaneDescriptor: plane } = structs;
  for (const [i, { handle, byteLength }] of objects.entries()) {
    const about = { fd: Number(handle), size: BigInt(byteLength!), format_modifier: modifier };
    structs.writeAVDRMObjectDescriptor(at, fields.objects.offset + i * object.size, about);
  }
  at.setUint32(fields.layers.offset, IMAGE_FORMATS[format].fourcc, true);
  at.setInt32(fields.layers.offset + layer.fields.nb_planes.offset, planes.length, true);
  for (const [i, { object, offset, stride }] of planes.entries()) {
    const about = { object_index: object, offset: BigInt(offset), pitch: BigInt(stride) };
    structs.writeAVDRMPlaneDescriptor(at, fields.layers.offset + layer.fields.planes.offset + i * plane.size, about);
  }
  return 1;
}
