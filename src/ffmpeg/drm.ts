import { type Address, NULL } from "../../ffi/address.ts";
import { AV_DRM_MAX_PLANES } from "../../ffi/avhwcontext57/constants.ts";
import type { NativePicture } from "../core/contract.ts";
import type { ImagePlane } from "../core/device/port.ts";
import { IMAGE_FORMATS, type ImageFormat, type ImageInfo } from "../core/layout/frame_info.ts";
import { viewAt } from "../core/native/pin.ts";
import { ffmpegName, pixelFormatNumber } from "./formats.ts";
import type { Fields } from "./fields.ts";
import { bufferBytes } from "./frame.ts";
import { avutil, checks, made } from "./library.ts";

interface Layer {
  readonly fourcc: number;
  readonly planes: readonly ImagePlane[];
}

/** The objects and planes of a DRM frame, whole, with its layers. */
export function readDescriptor({ view }: Fields): NativePicture & { readonly layers: readonly Layer[] } {
  const { AVFrame, hardware: { AVDRMFrameDescriptor: { size, fields }, ...structs } } = avutil().structs;
  const { AVDRMObjectDescriptor: object, AVDRMLayerDescriptor: layer, AVDRMPlaneDescriptor: plane } = structs;
  const address = view.getBigUint64(AVFrame.fields.data.offset, true) as Address;
  if (address === NULL) throw checks.wrong("pointer", "its AVFrame has no AVDRMFrameDescriptor: data[0] is null.");
  const at = viewAt(address, size, "ffmpeg");
  const { nb_objects, nb_layers } = structs.readAVDRMFrameDescriptor(at, 0);
  const objects = placesOf(nb_objects, "objects", fields.objects.offset, object.size).map((start) => {
    return structs.readAVDRMObjectDescriptor(at, start);
  });
  const layers = placesOf(nb_layers, "layers", fields.layers.offset, layer.size).map((start): Layer => {
    const { format: fourcc, nb_planes } = structs.readAVDRMLayerDescriptor(at, start);
    const first = start + layer.fields.planes.offset;
    const planes = placesOf(nb_planes, "planes in a layer", first, plane.size).map((start) => {
      const { object_index: object, offset, pitch } = structs.readAVDRMPlaneDescriptor(at, start);
      return { object, offset: Number(offset), stride: Number(pitch) };
    });
    return { fourcc, planes };
  });
  const [{ format_modifier: modifier }] = objects;
  if (objects.some(({ format_modifier }) => format_modifier !== modifier)) {
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

/** Where the structs of a list begin. */
function placesOf(count: number, what: string, first: number, size: number): readonly number[] {
  if (count > 0 && count <= AV_DRM_MAX_PLANES) return Array.from({ length: count }, (_, i) => first + i * size);
  throw checks.wrong("pointer", `its AVDRMFrameDescriptor has ${count} ${what}, and 1 to ${AV_DRM_MAX_PLANES} fit.`);
}

/** FFmpeg's number of the format of one layer, or of a layer for each plane. */
export function storedFormat(fields: Fields): number {
  const fourccs = readDescriptor(fields).layers.map(({ fourcc }) => fourcc);
  const formats = Object.keys(IMAGE_FORMATS) as ImageFormat[];
  const found = formats.map((format) => [ffmpegName(format), IMAGE_FORMATS[format]] as const)
    .find(([name, { fourcc, planes }]) =>
      name !== undefined && [String(fourcc), String(planes.map(({ fourcc }) => fourcc))].includes(String(fourccs))
    );
  if (found !== undefined) return pixelFormatNumber(found[0]!);
  const text = fourccs.map((fourcc) => `0x${fourcc.toString(16)}`).join(", ");
  throw checks.wrong(
    "pointer",
    `samepage has no format of DRM's layers ${text}.`,
    "Its frames context would say more.",
  );
}

/** One layer with all planes. The AVFrame owns the descriptor; the fds stay the frame's. */
export function writeDescriptor(
  view: DataView<ArrayBuffer>,
  { objects, planes, modifier: format_modifier = 0n }: NativePicture,
  { format }: ImageInfo,
): number {
  const { fns, structs: { AVFrame, hardware: { AVDRMFrameDescriptor: { size, fields }, ...structs } } } = avutil();
  const { AVDRMObjectDescriptor: object, AVDRMLayerDescriptor: layer, AVDRMPlaneDescriptor: plane } = structs;
  const buffer = made(fns.av_buffer_allocz(BigInt(size)), "av_buffer_allocz");
  view.setBigUint64(AVFrame.fields.buf.offset, buffer, true);
  view.setBigUint64(AVFrame.fields.data.offset, bufferBytes(buffer), true);
  const at = viewAt(bufferBytes(buffer), size, "ffmpeg");
  at.setInt32(fields.nb_objects.offset, objects.length, true);
  for (const [i, { handle, byteLength }] of objects.entries()) {
    const about = { fd: Number(handle), size: BigInt(byteLength!), format_modifier };
    structs.writeAVDRMObjectDescriptor(at, fields.objects.offset + i * object.size, about);
  }
  at.setInt32(fields.nb_layers.offset, 1, true);
  at.setUint32(fields.layers.offset, IMAGE_FORMATS[format].fourcc, true);
  at.setInt32(fields.layers.offset + layer.fields.nb_planes.offset, planes.length, true);
  for (const [i, { object: object_index, offset, stride }] of planes.entries()) {
    const about = { object_index, offset: BigInt(offset), pitch: BigInt(stride) };
    structs.writeAVDRMPlaneDescriptor(at, fields.layers.offset + layer.fields.planes.offset + i * plane.size, about);
  }
  return 1;
}
