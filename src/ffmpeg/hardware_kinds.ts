import type { Address } from "../../ffi/address.ts";
import * as hw from "../../ffi/avhwcontext57/constants.ts";
import { VkPhysicalDeviceFeatures2 } from "../../ffi/avvulkan57/structs.ts";
import type { NativePicture, Natives } from "../core/contract.ts";
import { IMAGE_FORMATS, type ImageFormat, type ImageInfo } from "../core/layout/frame_info.ts";
import { bytesAt } from "../core/native/pin.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { readDescriptor, storedFormat, writeDescriptor } from "./drm.ts";
import type { Fields } from "./fields.ts";
import { avutil, checks, struct } from "./library.ts";
import { readVkFrame, writeVkFrame } from "./vulkan_frame.ts";

type Handles = Readonly<Record<string, bigint>>;

/** Hardware frames of one API: which fields FFmpeg has for its handles. */
export interface HardwareKind {
  /** FFmpeg's name of the pixel format. */
  readonly format: string;
  /** Its `AV_HWDEVICE_TYPE_…`. */
  readonly device: number;
  /** The struct of a device, and by its fields the names of the context's handles. */
  readonly struct: DeviceStruct;
  readonly handles: Readonly<Record<string, string>>;
  /** The field that holds a copy of what a handle points to, and its length. */
  readonly copied?: readonly [field: string, byteLength: number];
  /** The field that identifies the context, and the remedy if it holds another context's handle. */
  readonly same?: readonly [field: string, remedy: (theirs: bigint) => string];
  /** The index in an AVFrame's `data` of the picture's only object; left out if each plane has one. */
  readonly surface?: number;
  /** How an FFmpeg struct holds the picture, if `data[0]` points to one. */
  readonly held?: {
    read(fields: Fields, format: ImageFormat): NativePicture;
    /** Returns how many of the AVFrame's buffers it used. */
    write(fields: Fields, frame: Frame, natives: Natives): number;
  };
  /** The field of the stream, for planes at addresses with line sizes, whose work a stream orders. */
  readonly stream?: string;
}

type DeviceStruct =
  | "AVDRMDeviceContext"
  | "AVVAAPIDeviceContext"
  | "AVOpenCLDeviceContext"
  | "AVCUDADeviceContext"
  | "AVVulkanDeviceContext";

/** Each has the API of its context as its key. */
export const KINDS: Readonly<Record<string, HardwareKind>> = {
  dmabuf: {
    ...{ format: "drm_prime", device: hw.AV_HWDEVICE_TYPE_DRM },
    ...{ struct: "AVDRMDeviceContext", handles: { fd: "device" } },
    held: {
      read: readDescriptor,
      write: (fields, frame, natives) => writeDescriptor(fields, natives.pictureOf(frame), frame.info as ImageInfo),
    },
  },
  vaapi: {
    ...{ format: "vaapi", device: hw.AV_HWDEVICE_TYPE_VAAPI, surface: 3 },
    ...{ struct: "AVVAAPIDeviceContext", handles: { display: "display" } },
    same: ["display", standOn("VaapiContext.attach")],
  },
  opencl: {
    ...{ format: "opencl", device: hw.AV_HWDEVICE_TYPE_OPENCL, struct: "AVOpenCLDeviceContext" },
    handles: { device_id: "device", context: "context", command_queue: "queue" },
    same: ["context", standOn("OpenCLContext.attach")],
  },
  cuda: {
    ...{ format: "cuda", device: hw.AV_HWDEVICE_TYPE_CUDA, stream: "stream" },
    ...{ struct: "AVCUDADeviceContext", handles: { cuda_ctx: "context", stream: "stream" } },
    same: ["cuda_ctx", () => "Have FFmpeg open its device on the primary context: AV_CUDA_USE_PRIMARY_CONTEXT."],
  },
  vulkan: {
    ...{ format: "vulkan", device: hw.AV_HWDEVICE_TYPE_VULKAN, struct: "AVVulkanDeviceContext" },
    handles: {
      ...{ get_proc_addr: "getInstanceProcAddr", inst: "instance", phys_dev: "physicalDevice", act_dev: "device" },
      ...{ device_features: "features", enabled_dev_extensions: "extensions" },
      ...{ nb_enabled_dev_extensions: "extensionCount", queue_family_index: "graphicsFamily" },
      ...{ queue_family_tx_index: "queueFamily", nb_tx_queues: "queueCount" },
      ...{ queue_family_comp_index: "queueFamily", nb_comp_queues: "queueCount" },
      ...{ queue_family_encode_index: "videoFamily", queue_family_decode_index: "videoFamily" },
    },
    copied: ["device_features", VkPhysicalDeviceFeatures2.size],
    held: { read: readVkFrame, write: writeVkFrame },
    same: ["act_dev", standOnDevice],
  },
};

function standOn(attach: string) {
  return (theirs: bigint) => `Stand on theirs: FFmpegContext.open({ on: ${attach}(${theirs}n) }).`;
}

/** The names are those of FFmpeg's fields: an AVVulkanDeviceContext has all that is attached. */
function standOnDevice(theirs: bigint): string {
  const more = "instance: inst, physicalDevice: phys_dev, queue, queueFamily: queue_family_comp_index";
  return `Stand on theirs: FFmpegContext.open({ on: VulkanContext.attach({ device: ${theirs}n, ${more} }) }).`;
}

/** Writes a context's handles into the struct of a device. */
export function writeHandles({ struct, handles, copied = ["", 0] }: HardwareKind, at: Address, given: Handles): void {
  const { fields } = avutil().structs[struct]!;
  const device = fieldsOf(struct, at);
  for (const [field, name] of Object.entries(handles)) {
    if (field === copied[0]) {
      const { offset } = fields[field as keyof typeof fields];
      bytesAt(at + BigInt(offset) as Address, copied[1], "ffmpeg", []).set(
        bytesAt(given[name] as Address, copied[1], "ffmpeg", []),
      );
    } else device[field] = typeof device[field] === "number" ? Number(given[name]) : given[name];
  }
}

/** The fields of the struct of a device, by their names. */
function fieldsOf(name: DeviceStruct, at: Address): Record<string, bigint | number> {
  return struct.at(name, at) as unknown as Record<string, bigint | number>;
}

/** @throws {ArgumentError} for a device of another context. */
export function assertSame(
  { format, device, struct, handles, same }: HardwareKind,
  { type, hwctx }: { readonly type: number; readonly hwctx: Address },
  given: Handles,
  on: string,
): void {
  if (same === undefined) return;
  if (type !== device) {
    throw checks.wrong("pointer", `its frames context is of another API than its format, ${format}.`);
  }
  const [field, remedy] = same;
  const theirs = fieldsOf(struct, hwctx)[field] as bigint;
  if (theirs === given[handles[field]]) return;
  const what = `its frames context is on ${field} 0x${
    theirs.toString(16)
  }, and this context is on ${on}, which is another.`;
  throw checks.wrong("pointer", what, remedy(theirs));
}

/** The format of the pixels, for an AVFrame without a frames context. @throws {ArgumentError} where that has to be there. */
export function formatWithout({ format, same }: HardwareKind, fields: Fields): number {
  if (same === undefined) return storedFormat(fields);
  const what = `its AVFrame has no frames context (hw_frames_ctx), by which FFmpeg knows a frame of ${format}.`;
  throw checks.wrong("pointer", what, "av_hwframe_get_buffer() makes frames that have one.");
}

/** The picture in an AVFrame; `device` is the struct of its device, if it has one. */
export function readPicture(kind: HardwareKind, fields: Fields, format: ImageFormat, device?: Address): NativePicture {
  if (kind.held !== undefined) return kind.held.read(fields, format);
  const { AVFrame: { fields: { data, linesize } } } = avutil().structs;
  const { view } = fields;
  const slots = slotsOf(kind, IMAGE_FORMATS[format].planes.length);
  const objects = slots.map((i) => ({ handle: view.getBigUint64(data.offset + 8 * i, true) }));
  if (kind.stream === undefined) return { objects, planes: [] };
  const planes = slots.map((object) => {
    return { object, offset: 0, stride: view.getInt32(linesize.offset + 4 * object, true) };
  });
  return { objects, planes, queue: fieldsOf(kind.struct, device!)[kind.stream] as bigint };
}

/** Writes a picture into an AVFrame. Returns how many of its buffers that used. */
export function writePicture(kind: HardwareKind, fields: Fields, frame: Frame, natives: Natives): number {
  if (kind.held !== undefined) return kind.held.write(fields, frame, natives);
  const { view } = fields;
  const picture = natives.pictureOf(frame);
  const { data, linesize } = avutil().structs.AVFrame.fields;
  for (const [i, slot] of slotsOf(kind, picture.objects.length).entries()) {
    const { offset = 0, stride = 0 } = picture.planes[i] ?? {};
    view.setBigUint64(data.offset + 8 * slot, picture.objects[i].handle + BigInt(offset), true);
    view.setInt32(linesize.offset + 4 * slot, stride, true);
  }
  return 0;
}

function slotsOf({ surface }: HardwareKind, planes: number): readonly number[] {
  return surface === undefined ? Array.from({ length: planes }, (_, i) => i) : [surface];
}
