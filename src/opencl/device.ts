import { CL_DEVICE_PLATFORM, CL_DEVICE_TYPE_ALL } from "../../ffi/opencl/constants.ts";
import { CL_DEVICE_NOT_FOUND, CL_PLATFORM_NOT_FOUND_KHR } from "../../ffi/opencl/errors.ts";
import type { ClDeviceId, ClPlatformId } from "../../ffi/opencl/handles.ts";
import { type DeviceInfo, deviceInfo, platformInfo } from "./devices/info.ts";
import { withJson } from "../core/printed.ts";
import { alone } from "../core/native/process_lock.ts";
import { deviceQuery } from "./devices/queries.ts";
import { check } from "./errors.ts";
import { infoU64 } from "./info.ts";
import { opencl } from "./library.ts";

/** One device of one platform, as it describes itself. */
export interface OpenCLDevice extends DeviceInfo {
  /** The `cl_device_id`. */
  readonly handle: ClDeviceId;
  /** The platform's `cl_platform_id`. */
  readonly platformHandle: ClPlatformId;
  /** The platform's name (CL_PLATFORM_NAME). */
  readonly platform: string;
  /** CL_PLATFORM_VERSION: `"OpenCL 3.0 PoCL 3.1 …"`. */
  readonly platformVersion: string;
}

/**
 * Every device of every platform, in the loader's order; empty if the loader finds no driver.
 *
 * @throws {LibraryNotFoundError} if there is no loader.
 */
export function openclDevices(): OpenCLDevice[] {
  return platformHandles().flatMap((platform) => deviceHandles(platform).map((device) => describe(device, platform)));
}

export function deviceOf(handle: ClDeviceId): OpenCLDevice {
  return describe(handle, infoU64("clGetDeviceInfo", deviceQuery(handle), CL_DEVICE_PLATFORM) as ClPlatformId);
}

let awake = false;

/**
 * Every platform, in the loader's order.
 *
 * The first call makes each driver initialise its devices under a lock. Otherwise a second thread of PoCL 3.1 may see
 * devices whose names are still null pointers, and the process crashes (in C too, with clGetDeviceIDs and
 * clGetDeviceInfo on two threads).
 */
export function platformHandles(): ClPlatformId[] {
  if (awake) return platforms();
  const found = alone(() => {
    const all = platforms();
    for (const platform of all) deviceHandles(platform);
    return all;
  });
  awake = true;
  return found;
}

function platforms(): ClPlatformId[] {
  return listed<ClPlatformId>(
    "clGetPlatformIDs",
    CL_PLATFORM_NOT_FOUND_KHR,
    (n, out, count) => opencl().clGetPlatformIDs(n, out, count),
  );
}

export function deviceHandles(platform: ClPlatformId): ClDeviceId[] {
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

function describe(handle: ClDeviceId, platformHandle: ClPlatformId): OpenCLDevice {
  return Object.freeze(withJson({ handle, platformHandle, ...platformInfo(platformHandle), ...deviceInfo(handle) }));
}
