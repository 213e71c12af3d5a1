import * as driver from "../../ffi/cuda_driver/constants.ts";
import * as constants from "../../ffi/cuda_runtime/constants.ts";
import { cudaDriver, cudart } from "./library.ts";

const PREFIX = "cudaDevAttr";

/** Attributes of the driver API alone: `CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED` is `dmaBufSupported`. */
const DRIVER_ONLY = {
  virtualMemoryManagementSupported: driver.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
  handleTypePosixFileDescriptorSupported: driver.CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
  dmaBufSupported: driver.CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED,
  hostNumaVirtualMemoryManagementSupported: driver.CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
} as const;

/** An attribute of a device, by CUDA's name without its prefix: `cudaDevAttrWarpSize` is `warpSize`. */
export type CudaAttribute =
  | {
    [Name in keyof typeof constants]: Name extends `cudaDevAttr${infer Rest}` ? Uncapitalize<Rest> : never;
  }[keyof typeof constants]
  | "virtualMemoryManagementSupported"
  | "handleTypePosixFileDescriptorSupported"
  | "dmaBufSupported"
  | "hostNumaVirtualMemoryManagementSupported";

/** The attributes of a device that this version of CUDA has. */
export type CudaAttributes = Readonly<Partial<Record<CudaAttribute, number>>>;

const NUMBERS: readonly (readonly [CudaAttribute, number])[] = Object.entries(constants)
  .filter(([name]) => name.startsWith(PREFIX) && !/Reserved\d|Max$/.test(name))
  .map(([name, value]) => [attributeName(name), Number(value)]);

/** All attributes of a device (cudaDeviceGetAttribute), after cuInit. Needs no context and makes none. */
export function attributesOf(ordinal: number): CudaAttributes {
  const { cudaDeviceGetAttribute, cudaGetLastError } = cudart();
  const value = new Int32Array(1);
  const attributes: Partial<Record<CudaAttribute, number>> = {};
  for (const [name, number] of NUMBERS) {
    if (cudaDeviceGetAttribute(value, number, ordinal) === 0) attributes[name] = value[0];
    else cudaGetLastError(); // an older CUDA does not have the attribute
  }
  for (const [name, number] of Object.entries(DRIVER_ONLY)) {
    const reported = driverAttribute(ordinal, number);
    if (reported !== undefined) attributes[name as CudaAttribute] = reported;
  }
  return Object.freeze(attributes);
}

function attributeName(constant: string): CudaAttribute {
  const rest = constant.slice(PREFIX.length);
  return rest[0].toLowerCase() + rest.slice(1) as CudaAttribute;
}

const value = new Int32Array(1);

/** An attribute of the driver API (cuDeviceGetAttribute); undefined if the driver is too old. */
function driverAttribute(ordinal: number, attribute: number): number | undefined {
  return cudaDriver().cuDeviceGetAttribute(value, attribute, ordinal) === 0 ? value[0] : undefined;
}
