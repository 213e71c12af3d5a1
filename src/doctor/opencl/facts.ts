import * as cl from "../../../ffi/opencl/constants.ts";
import type { ClDeviceId, ClPlatformId } from "../../../ffi/opencl/handles.ts";
import { type Ask, count, deviceQuery, flag, from, size, text, word } from "../../opencl/devices/queries.ts";
import { infoBytes, infoString, type Query } from "../../opencl/info.ts";
import { opencl } from "../../opencl/library.ts";
import { LOADER_INFOS, loaderInfo } from "../../opencl/loader.ts";
import { factOf, factValue } from "../library.ts";
import type { Fact } from "../report.ts";

type Asks = Partial<Record<keyof typeof cl, (name: number) => Ask<string | number | boolean>>>;

const bits = (name: number) => from(word(name), Number);

/** The queries of a device, one by one, so that a driver that fails in one still returns the rest. */
const DEVICE: Asks = {
  CL_DEVICE_NAME: text,
  CL_DEVICE_VENDOR: text,
  CL_DEVICE_VENDOR_ID: count,
  CL_DEVICE_TYPE: bits,
  CL_DEVICE_VERSION: text,
  CL_DRIVER_VERSION: text,
  CL_DEVICE_OPENCL_C_VERSION: text,
  CL_DEVICE_PROFILE: text,
  CL_DEVICE_AVAILABLE: flag,
  CL_DEVICE_COMPILER_AVAILABLE: flag,
  CL_DEVICE_MAX_COMPUTE_UNITS: count,
  CL_DEVICE_MAX_CLOCK_FREQUENCY: count,
  CL_DEVICE_MAX_WORK_GROUP_SIZE: size,
  CL_DEVICE_ADDRESS_BITS: count,
  CL_DEVICE_ENDIAN_LITTLE: flag,
  CL_DEVICE_GLOBAL_MEM_SIZE: size,
  CL_DEVICE_MAX_MEM_ALLOC_SIZE: size,
  CL_DEVICE_LOCAL_MEM_SIZE: size,
  CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE: count,
  CL_DEVICE_HOST_UNIFIED_MEMORY: flag,
  CL_DEVICE_MEM_BASE_ADDR_ALIGN: count,
  CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE: count,
  CL_DEVICE_SVM_CAPABILITIES: bits,
  CL_DEVICE_IMAGE_SUPPORT: flag,
  CL_DEVICE_IMAGE2D_MAX_WIDTH: size,
  CL_DEVICE_IMAGE2D_MAX_HEIGHT: size,
  CL_DEVICE_IMAGE3D_MAX_WIDTH: size,
  CL_DEVICE_IMAGE3D_MAX_HEIGHT: size,
  CL_DEVICE_IMAGE3D_MAX_DEPTH: size,
  CL_DEVICE_IMAGE_MAX_BUFFER_SIZE: size,
  CL_DEVICE_IMAGE_MAX_ARRAY_SIZE: size,
  CL_DEVICE_IMAGE_PITCH_ALIGNMENT: count,
  CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT: count,
  CL_DEVICE_MAX_SAMPLERS: count,
  CL_DEVICE_QUEUE_ON_HOST_PROPERTIES: bits,
  CL_DEVICE_PREFERRED_INTEROP_USER_SYNC: flag,
  CL_DEVICE_PROFILING_TIMER_RESOLUTION: size,
  CL_DEVICE_EXTENSIONS: text,
};

const PLATFORM = [
  "CL_PLATFORM_NAME",
  "CL_PLATFORM_VENDOR",
  "CL_PLATFORM_VERSION",
  "CL_PLATFORM_PROFILE",
  "CL_PLATFORM_EXTENSIONS",
] as const;

export function deviceFacts(handle: ClDeviceId): readonly Fact[] {
  const device = { handle, query: deviceQuery(handle), extensions: [] };
  const asks = Object.entries(DEVICE) as [keyof typeof cl, (name: number) => Ask<string | number | boolean>][];
  return asks.flatMap(([name, ask]) => factOf(name, () => ask(cl[name] as number)(device)));
}

/** The handle types that a platform with an extension takes and gives, in numbers. */
const HANDLES = [
  ["CL_PLATFORM_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR", "cl_khr_external_memory"],
  ["CL_PLATFORM_SEMAPHORE_TYPES_KHR", "cl_khr_semaphore"],
  ["CL_PLATFORM_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR", "cl_khr_external_semaphore"],
  ["CL_PLATFORM_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR", "cl_khr_external_semaphore"],
] as const;

export function platformFacts(platform: ClPlatformId): readonly Fact[] {
  const fn = "clGetPlatformInfo";
  const query: Query = (name, size, value, written) => opencl()[fn](platform, name, size, value, written);
  const facts = PLATFORM.flatMap((fact) => factOf(fact, () => infoString(fn, query, cl[fact])));
  const extensions = (factValue(facts, "CL_PLATFORM_EXTENSIONS") ?? "").split(/\s+/);
  const handles = HANDLES.filter(([, extension]) => extensions.includes(extension));
  return [...facts, ...handles.flatMap(([fact]) => factOf(fact, () => hexadecimal(infoBytes(fn, query, cl[fact]))))];
}

function hexadecimal({ buffer }: DataView<ArrayBuffer>): string {
  return [...new Uint32Array(buffer)].map((value) => `0x${value.toString(16)}`).join(" ");
}

/** The ICD loader's facts about itself; an old loader has none. */
export function loaderFacts(): readonly Fact[] {
  return LOADER_INFOS.flatMap((name) => factOf(name, () => loaderInfo(name)));
}
