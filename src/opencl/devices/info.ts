import {
  CL_DEVICE_ADDRESS_BITS,
  CL_DEVICE_EXTENSIONS,
  CL_DEVICE_GLOBAL_MEM_SIZE,
  CL_DEVICE_HOST_UNIFIED_MEMORY,
  CL_DEVICE_LOCAL_MEM_SIZE,
  CL_DEVICE_MAX_COMPUTE_UNITS,
  CL_DEVICE_MAX_MEM_ALLOC_SIZE,
  CL_DEVICE_MAX_WORK_GROUP_SIZE,
  CL_DEVICE_MAX_WORK_ITEM_SIZES,
  CL_DEVICE_MEM_BASE_ADDR_ALIGN,
  CL_DEVICE_NAME,
  CL_DEVICE_PARENT_DEVICE,
  CL_DEVICE_TYPE,
  CL_DEVICE_TYPE_ACCELERATOR,
  CL_DEVICE_TYPE_CPU,
  CL_DEVICE_TYPE_GPU,
  CL_DEVICE_VENDOR,
  CL_DEVICE_VERSION,
  CL_DRIVER_VERSION,
  CL_PLATFORM_NAME,
  CL_PLATFORM_VERSION,
} from "../../../ffi/opencl/constants.ts";
import type { ClDeviceId, ClPlatformId } from "../../../ffi/opencl/handles.ts";
import type { DeviceId } from "../../core/device/device_id.ts";
import { askImages, askQueues, askSvm, type DeviceImages, type DeviceQueues, type DeviceSvm } from "./features.ts";
import { askId } from "./id.ts";
import {
  count,
  deviceQuery,
  flag,
  from,
  optional,
  type Queries,
  queryAll,
  size,
  text,
  word,
  words,
} from "./queries.ts";
import { infoString, type Query } from "../info.ts";
import { opencl } from "../library.ts";
import { type DeviceSharing, SHARING } from "./sharing.ts";

/** The kind of a device. */
export type DeviceType = "cpu" | "gpu" | "accelerator" | "other";

/** A device's description of itself. Sizes are in bytes. A refused query counts as a missing feature. */
export interface DeviceInfo {
  /** CL_DEVICE_NAME. */
  readonly name: string;
  /** CL_DEVICE_VENDOR. */
  readonly vendor: string;
  /** CL_DEVICE_VERSION: `"OpenCL 3.0 …"`. */
  readonly version: string;
  /** CL_DRIVER_VERSION. */
  readonly driver: string;
  /** CL_DEVICE_TYPE. */
  readonly type: DeviceType;
  /** UUID (cl_khr_device_uuid) and PCI address (cl_khr_pci_bus_info), if the device reports them. */
  readonly id: DeviceId;
  /** CL_DEVICE_EXTENSIONS. */
  readonly extensions: readonly string[];
  /** CL_DEVICE_PARENT_DEVICE of a sub-device. */
  readonly parent: ClDeviceId | undefined;
  /** CL_DEVICE_MAX_COMPUTE_UNITS. */
  readonly computeUnits: number;
  /** CL_DEVICE_MAX_WORK_GROUP_SIZE. */
  readonly maxWorkGroupSize: number;
  /** CL_DEVICE_MAX_WORK_ITEM_SIZES. */
  readonly maxWorkItemSizes: readonly number[];
  /** CL_DEVICE_MEM_BASE_ADDR_ALIGN, in bytes (OpenCL counts bits): the alignment of sub-buffers. */
  readonly subBufferAlign: number;
  /** CL_DEVICE_LOCAL_MEM_SIZE. */
  readonly localMemory: number;
  /** CL_DEVICE_GLOBAL_MEM_SIZE. */
  readonly globalMemory: number;
  /** CL_DEVICE_HOST_UNIFIED_MEMORY: the device claims to share host memory. Only a proof shows it. */
  readonly unifiedMemory: boolean;
  /** CL_DEVICE_MAX_MEM_ALLOC_SIZE. */
  readonly maxAllocation: number;
  /** CL_DEVICE_ADDRESS_BITS. */
  readonly addressBits: number;
  /** Shared virtual memory. */
  readonly svm: DeviceSvm;
  /** Images; undefined if it has none (CL_DEVICE_IMAGE_SUPPORT). */
  readonly images: DeviceImages | undefined;
  /** Queues. */
  readonly queues: DeviceQueues;
  /** Sharing with other APIs. */
  readonly sharing: DeviceSharing;
}

const QUERIES: Queries<DeviceInfo> = {
  name: text(CL_DEVICE_NAME),
  vendor: text(CL_DEVICE_VENDOR),
  version: text(CL_DEVICE_VERSION),
  driver: text(CL_DRIVER_VERSION),
  type: from(word(CL_DEVICE_TYPE), typeOf),
  id: askId,
  extensions: ({ extensions }) => extensions,
  parent: optional(from(word(CL_DEVICE_PARENT_DEVICE), (it) => it === 0n ? undefined : it as ClDeviceId), undefined),
  computeUnits: count(CL_DEVICE_MAX_COMPUTE_UNITS),
  maxWorkGroupSize: size(CL_DEVICE_MAX_WORK_GROUP_SIZE),
  maxWorkItemSizes: from(words(CL_DEVICE_MAX_WORK_ITEM_SIZES), (sizes) => sizes.map(Number)),
  subBufferAlign: from(count(CL_DEVICE_MEM_BASE_ADDR_ALIGN), (bits) => bits / 8),
  localMemory: size(CL_DEVICE_LOCAL_MEM_SIZE),
  globalMemory: optional(size(CL_DEVICE_GLOBAL_MEM_SIZE), 0),
  unifiedMemory: optional(flag(CL_DEVICE_HOST_UNIFIED_MEMORY), false),
  maxAllocation: size(CL_DEVICE_MAX_MEM_ALLOC_SIZE),
  addressBits: count(CL_DEVICE_ADDRESS_BITS),
  svm: askSvm,
  images: askImages,
  queues: askQueues,
  sharing: (device) => queryAll(SHARING, device),
};

export function deviceInfo(handle: ClDeviceId): DeviceInfo {
  const device = { handle, query: deviceQuery(handle), extensions: [] };
  const extensions = text(CL_DEVICE_EXTENSIONS)(device).split(/\s+/).filter((name) => name !== "");
  return queryAll(QUERIES, { ...device, extensions });
}

export function platformInfo(platform: ClPlatformId): { readonly platform: string; readonly platformVersion: string } {
  const query: Query = (name, size, value, written) => opencl().clGetPlatformInfo(platform, name, size, value, written);
  const text = (name: number) => infoString("clGetPlatformInfo", query, name);
  return { platform: text(CL_PLATFORM_NAME), platformVersion: text(CL_PLATFORM_VERSION) };
}

function typeOf(bits: bigint): DeviceType {
  if ((bits & CL_DEVICE_TYPE_GPU) !== 0n) return "gpu";
  if ((bits & CL_DEVICE_TYPE_ACCELERATOR) !== 0n) return "accelerator";
  return (bits & CL_DEVICE_TYPE_CPU) !== 0n ? "cpu" : "other";
}
