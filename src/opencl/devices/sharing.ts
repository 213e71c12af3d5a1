import * as constants from "../../../ffi/opencl/constants.ts";
import {
  CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR,
  CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR,
  CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR,
  CL_DEVICE_SEMAPHORE_TYPES_KHR,
  CL_SEMAPHORE_TYPE_BINARY_KHR,
} from "../../../ffi/opencl/constants.ts";
import { type Ask, counts, from, listed, type Queries } from "./queries.ts";

/** How a device shares memory and semaphores with other APIs. Unknown types are hexadecimal. */
export interface DeviceSharing {
  /** Its extensions for sharing: `"cl_khr_external_memory"`, `"cl_khr_gl_sharing"`, … */
  readonly extensions: readonly string[];
  /** The handle types of memory that it imports (cl_khr_external_memory): `"opaque_fd"`, `"dma_buf"`. */
  readonly memoryImports: readonly string[];
  /** The handle types of semaphores that it imports (cl_khr_external_semaphore): `"opaque_fd"`, `"sync_fd"`. */
  readonly semaphoreImports: readonly string[];
  /** The handle types of semaphores that it exports (cl_khr_external_semaphore). */
  readonly semaphoreExports: readonly string[];
  /** Its kinds of semaphores (cl_khr_semaphore): `"binary"`. */
  readonly semaphores: readonly string[];
}

/** The prefixes of extensions that share memory, images, events or semaphores with another API, or with the host. */
const EXTENSIONS = [
  "cl_khr_gl_",
  "cl_khr_egl_",
  "cl_khr_d3d10_",
  "cl_khr_d3d11_",
  "cl_khr_external_",
  "cl_khr_semaphore",
  "cl_khr_image2d_from_buffer",
  "cl_ext_image_from_buffer",
  "cl_ext_buffer_device_address",
  "cl_intel_va_api_media_sharing",
  "cl_intel_sharing_format_query",
  "cl_intel_unified_shared_memory",
  "cl_intel_mem_force_host_memory",
  "cl_arm_import_memory",
  "cl_arm_shared_virtual_memory",
  "cl_img_use_gralloc_ptr",
  "cl_qcom_ext_host_ptr",
  "cl_qcom_dmabuf_host_ptr",
  "cl_qcom_ion_host_ptr",
];

/** The names of all types of handles, Windows' too: a device of another system reports none of those. */
const MEMORY_HANDLES: ReadonlyMap<number, string> = namesOf("CL_EXTERNAL_MEMORY_HANDLE_");
const SEMAPHORE_HANDLES: ReadonlyMap<number, string> = namesOf("CL_SEMAPHORE_HANDLE_");

const SEMAPHORE_TYPES: ReadonlyMap<number, string> = new Map([[CL_SEMAPHORE_TYPE_BINARY_KHR, "binary"]]);

export const SHARING: Queries<DeviceSharing> = {
  extensions: ({ extensions }) =>
    extensions.filter((name) => EXTENSIONS.some((beginning) => name.startsWith(beginning))).sort(),
  memoryImports: named(
    "cl_khr_external_memory",
    CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR,
    MEMORY_HANDLES,
  ),
  semaphoreImports: named(
    "cl_khr_external_semaphore",
    CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR,
    SEMAPHORE_HANDLES,
  ),
  semaphoreExports: named(
    "cl_khr_external_semaphore",
    CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR,
    SEMAPHORE_HANDLES,
  ),
  semaphores: named("cl_khr_semaphore", CL_DEVICE_SEMAPHORE_TYPES_KHR, SEMAPHORE_TYPES),
};

function named(extension: string, name: number, names: ReadonlyMap<number, string>): Ask<readonly string[]> {
  const reported = from(counts(name), (values) => values.map((value) => names.get(value) ?? `0x${value.toString(16)}`));
  return listed(extension, reported, []);
}

function namesOf(beginning: string): ReadonlyMap<number, string> {
  const all = Object.entries(constants).filter(([name]) => name.startsWith(beginning));
  return new Map(
    all.map(([name, value]) => [value as number, name.slice(beginning.length, -"_KHR".length).toLowerCase()]),
  );
}
