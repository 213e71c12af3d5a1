import { type Address, NULL } from "../../ffi/address.ts";
import { AV_DRM_MAX_PLANES } from "../../ffi/avhwcontext57/constants.ts";
import type { NativePicture } from "../core/contract.ts";
import type { ImagePlane } from "../core/device/port.ts";
import { IMAGE_FORMATS, type ImageFormat, type ImageInfo } from "../core/layout/frame_info.ts";
import { formats } from "./formats.ts";
import type { Fields } from "./fields.ts";
import { bufferBytes } from "./frame.ts";
import { avutil, checks, made, struct } from "./library.ts";

interface Layer {
  readonly fourcc: number;
  readonly planes: readonly ImagePlane[];
}

/** The objects and planes of a DRM frame, whole, with its layers. */
export function readDescriptor({ data: address }: Fields): NativePicture & { readonly layers: readonly Layer[] } {
  if (address === NULL) throw checks.wrong("pointer", "its AVFrame has no AVDRMFrameDescriptor: data[0] is null.");
  const { nb_objects, nb_layers } = struct.at("AVDRMFrameDescriptor", address);
  assertCount(nb_objects, "objects");
  assertCount(nb_layers, "layers");
  const objects = objectsOf(address, nb_objects);
  const layers = layersOf(address, nb_layers).map((layer): Layer => {
    assertCount(layer.nb_planes, "planes in a layer");
    const planes = planesOf(layer.address, layer.nb_planes).map(({ object_index, offset, pitch }) => {
      return { object: object_index, offset: Number(offset), stride: Number(pitch) };
    });
    return { fourcc: layer.format, planes };
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

function objectsOf(descriptor: Address, count: number) {
  return struct.within("AVDRMObjectDescriptor", count, ["AVDRMFrameDescriptor", descriptor, "objects"]);
}

function layersOf(descriptor: Address, count: number) {
  return struct.within("AVDRMLayerDescriptor", count, ["AVDRMFrameDescriptor", descriptor, "layers"]);
}

function planesOf(layer: Address, count: number) {
  return struct.within("AVDRMPlaneDescriptor", count, ["AVDRMLayerDescriptor", layer, "planes"]);
}

function assertCount(count: number, what: string): void {
  if (count > 0 && count <= AV_DRM_MAX_PLANES) return;
  throw checks.wrong("pointer", `its AVDRMFrameDescriptor has ${count} ${what}, and 1 to ${AV_DRM_MAX_PLANES} fit.`);
}

/** FFmpeg's number of the format of one layer, or of a layer for each plane. */
export function storedFormat(fields: Fields): number {
  const fourccs = readDescriptor(fields).layers.map(({ fourcc }) => fourcc);
  const known = Object.keys(IMAGE_FORMATS) as ImageFormat[];
  const found = known.map((format) => [formats.nameOf(format), IMAGE_FORMATS[format]] as const)
    .find(([name, { fourcc, planes }]) =>
      name !== undefined && [String(fourcc), String(planes.map(({ fourcc }) => fourcc))].includes(String(fourccs))
    );
  if (found !== undefined) return formats.numberOf(found[0]!)!;
  const text = fourccs.map((fourcc) => `0x${fourcc.toString(16)}`).join(", ");
  throw checks.wrong(
    "pointer",
    `samepage has no format of DRM's layers ${text}.`,
    "Its frames context would say more.",
  );
}

/** One layer with all planes. The AVFrame owns the descriptor; the fds stay the frame's. */
export function writeDescriptor(
  frame: Fields,
  { objects, planes, modifier: format_modifier = 0n }: NativePicture,
  { format }: ImageInfo,
): number {
  const { fns, structs: { AVDRMFrameDescriptor: { size } } } = avutil();
  const buffer = made(fns.av_buffer_allocz(BigInt(size)), "av_buffer_allocz");
  const descriptor = bufferBytes(buffer);
  Object.assign(frame, { buf: buffer, data: descriptor });
  struct.change("AVDRMFrameDescriptor", descriptor, { nb_objects: objects.length, nb_layers: 1 });
  for (const [i, object] of objectsOf(descriptor, objects.length).entries()) {
    const { handle, byteLength } = objects[i];
    Object.assign(object, { fd: Number(handle), size: BigInt(byteLength!), format_modifier });
  }
  const [layer] = layersOf(descriptor, 1);
  Object.assign(layer, { format: IMAGE_FORMATS[format].fourcc, nb_planes: planes.length });
  for (const [i, plane] of planesOf(layer.address, planes.length).entries()) {
    const { object: object_index, offset, stride } = planes[i];
    Object.assign(plane, { object_index, offset: BigInt(offset), pitch: BigInt(stride) });
  }
  return 1;
}
