import {
  CL_DEVICE_ADDRESS_BITS,
  CL_DEVICE_EXTENSIONS,
  CL_DEVICE_LOCAL_MEM_SIZE,
  CL_DEVICE_MAX_COMPUTE_UNITS,
  CL_DEVICE_MAX_MEM_ALLOC_SIZE,
  CL_DEVICE_MAX_WORK_GROUP_SIZE,
  CL_DEVICE_MAX_WORK_ITEM_SIZES,
  CL_DEVICE_MEM_BASE_ADDR_ALIGN,
  CL_DEVICE_NAME,
  CL_DEVICE_PCI_BUS_INFO_KHR,
  CL_DEVICE_PLATFORM,
  CL_DEVICE_TYPE,
  CL_DEVICE_TYPE_ACCELERATOR,
  CL_DEVICE_TYPE_ALL,
  CL_DEVICE_TYPE_CPU,
  CL_DEVICE_TYPE_GPU,
  CL_DEVICE_UUID_KHR,
  CL_DEVICE_VENDOR,
  CL_DEVICE_VERSION,
  CL_DRIVER_VERSION,
  CL_PLATFORM_NAME,
} from "../../ffi/opencl/constants.ts";
import { CL_DEVICE_NOT_FOUND, CL_PLATFORM_NOT_FOUND_KHR } from "../../ffi/opencl/errors.ts";
import type { ClDeviceId, ClPlatformId } from "../../ffi/opencl/handles.ts";
import { readClDevicePciBusInfoKhr } from "../../ffi/opencl/structs.ts";
import type { DeviceId } from "../core/context.ts";
import { check } from "./errors.ts";
import { infoBytes, infoString, infoU32, infoU64, infoU64s, type Query } from "./info.ts";
import { opencl } from "./library.ts";

/** What kind of device it is. */
export type DeviceType = "cpu" | "gpu" | "accelerator" | "other";

/** One device of one platform, as it describes itself. Sizes are bytes. */
export interface OpenCLDevice {
  /** The `cl_device_id`. */
  readonly handle: ClDeviceId;
  /** The platform's `cl_platform_id`. */
  readonly platformHandle: ClPlatformId;
  /** The platform's name (CL_PLATFORM_NAME). */
  readonly platform: string;
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
  /** UUID (cl_khr_device_uuid) and PCI address (cl_khr_pci_bus_info), where the device tells them. */
  readonly id: DeviceId;
  /** CL_DEVICE_EXTENSIONS. */
  readonly extensions: readonly string[];
  /** CL_DEVICE_MAX_COMPUTE_UNITS. */
  readonly computeUnits: number;
  /** CL_DEVICE_MAX_WORK_GROUP_SIZE. */
  readonly maxWorkGroupSize: number;
  /** CL_DEVICE_MAX_WORK_ITEM_SIZES. */
  readonly maxWorkItemSizes: readonly number[];
  /** CL_DEVICE_MEM_BASE_ADDR_ALIGN, in bytes (OpenCL counts bits): where a sub-buffer may begin. */
  readonly subBufferAlign: number;
  /** CL_DEVICE_LOCAL_MEM_SIZE. */
  readonly localMemory: number;
  /** CL_DEVICE_MAX_MEM_ALLOC_SIZE. */
  readonly maxAllocation: number;
  /** CL_DEVICE_ADDRESS_BITS. */
  readonly addressBits: number;
}

/** Which device to open; texts match as a part of the name, in any case. */
export interface DeviceChoice {
  /** Part of the platform's name. */
  readonly platform?: string;
  /** Part of the device's name. */
  readonly device?: string;
  /** What kind of device. */
  readonly type?: DeviceType;
  /** The device's UUID, as 32 hexadecimal digits. */
  readonly uuid?: string;
}

/**
 * Every device of every platform, in the loader's order; empty where a loader is there and no driver.
 *
 * @throws {LibraryNotFoundError} where there is no loader.
 */
export function openclDevices(): OpenCLDevice[] {
  return platformHandles().flatMap((platform) => deviceHandles(platform).map((device) => describe(device, platform)));
}

/** A device's description from its handle. */
export function deviceOf(handle: ClDeviceId): OpenCLDevice {
  return describe(handle, infoU64("clGetDeviceInfo", deviceQuery(handle), CL_DEVICE_PLATFORM) as ClPlatformId);
}

/** True where a device is the one that was asked for. */
export function matches(device: OpenCLDevice, choice: DeviceChoice): boolean {
  const part = (text: string, wanted: string | undefined) =>
    wanted === undefined || text.toLowerCase().includes(wanted.toLowerCase());
  return part(device.platform, choice.platform) && part(device.name, choice.device) &&
    (choice.type === undefined || device.type === choice.type) &&
    (choice.uuid === undefined || device.id.uuid === choice.uuid.replaceAll("-", "").toLowerCase());
}

function platformHandles(): ClPlatformId[] {
  return listed<ClPlatformId>(
    "clGetPlatformIDs",
    CL_PLATFORM_NOT_FOUND_KHR,
    (n, out, count) => opencl().clGetPlatformIDs(n, out, count),
  );
}

function deviceHandles(platform: ClPlatformId): ClDeviceId[] {
  return listed<ClDeviceId>(
    "clGetDeviceIDs",
    CL_DEVICE_NOT_FOUND,
    (n, out, count) => opencl().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, out, count),
  );
}

function listed<H extends bigint>(
  fn: string,
  none: number,
  call: (n: number, out: BufferSource | null, count: BufferSource | null) => number,
): H[] {
  const count = new Uint32Array(1);
  const code = call(0, null, count);
  if (code === none) return [];
  check(code, fn);
  if (count[0] === 0) return [];
  const handles = new BigUint64Array(count[0]);
  check(call(count[0], handles, null), fn);
  return [...handles] as H[];
}

function deviceQuery(device: ClDeviceId): Query {
  return (name, size, value, written) => opencl().clGetDeviceInfo(device, name, size, value, written);
}

function describe(handle: ClDeviceId, platformHandle: ClPlatformId): OpenCLDevice {
  const query = deviceQuery(handle);
  const string = (name: number) => infoString("clGetDeviceInfo", query, name);
  const u32 = (name: number) => infoU32("clGetDeviceInfo", query, name);
  const u64 = (name: number) => Number(infoU64("clGetDeviceInfo", query, name));
  const extensions = string(CL_DEVICE_EXTENSIONS).split(/\s+/).filter((name) => name !== "");
  return {
    handle,
    platformHandle,
    platform: infoString(
      "clGetPlatformInfo",
      (name, size, value, written) => opencl().clGetPlatformInfo(platformHandle, name, size, value, written),
      CL_PLATFORM_NAME,
    ),
    name: string(CL_DEVICE_NAME),
    vendor: string(CL_DEVICE_VENDOR),
    version: string(CL_DEVICE_VERSION),
    driver: string(CL_DRIVER_VERSION),
    type: typeOf(infoU64("clGetDeviceInfo", query, CL_DEVICE_TYPE)),
    id: idOf(query, extensions),
    extensions,
    computeUnits: u32(CL_DEVICE_MAX_COMPUTE_UNITS),
    maxWorkGroupSize: u64(CL_DEVICE_MAX_WORK_GROUP_SIZE),
    maxWorkItemSizes: infoU64s("clGetDeviceInfo", query, CL_DEVICE_MAX_WORK_ITEM_SIZES).map(Number),
    subBufferAlign: u32(CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8,
    localMemory: u64(CL_DEVICE_LOCAL_MEM_SIZE),
    maxAllocation: u64(CL_DEVICE_MAX_MEM_ALLOC_SIZE),
    addressBits: u32(CL_DEVICE_ADDRESS_BITS),
  };
}

function typeOf(bits: bigint): DeviceType {
  if ((bits & CL_DEVICE_TYPE_GPU) !== 0n) return "gpu";
  if ((bits & CL_DEVICE_TYPE_ACCELERATOR) !== 0n) return "accelerator";
  return (bits & CL_DEVICE_TYPE_CPU) !== 0n ? "cpu" : "other";
}

function idOf(query: Query, extensions: readonly string[]): DeviceId {
  const uuid = extensions.includes("cl_khr_device_uuid")
    ? [...new Uint8Array(infoBytes("clGetDeviceInfo", query, CL_DEVICE_UUID_KHR).buffer)].map((byte) => hex(byte, 2))
      .join("")
    : undefined;
  const pci = extensions.includes("cl_khr_pci_bus_info")
    ? readClDevicePciBusInfoKhr(infoBytes("clGetDeviceInfo", query, CL_DEVICE_PCI_BUS_INFO_KHR), 0)
    : undefined;
  return {
    ...(uuid === undefined ? {} : { uuid }),
    ...(pci === undefined
      ? {}
      : { pci: `${hex(pci.pci_domain, 4)}:${hex(pci.pci_bus, 2)}:${hex(pci.pci_device, 2)}.${pci.pci_function}` }),
  };
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
