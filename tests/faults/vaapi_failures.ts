/**
 * How VA-API's functions fail.
 *
 * @module
 */
import { VA_STATUS_ERROR_OPERATION_FAILED } from "../../ffi/va/errors.ts";
import type { VA } from "../../ffi/va/functions.ts";
import type { VADrm } from "../../ffi/va_drm/functions.ts";
import type { Failure, Failures } from "./failures.ts";

/** Every call may fail so. */
const failed: Failure = { result: VA_STATUS_ERROR_OPERATION_FAILED };
const release: Failure = { ...failed, release: true };

/** libva. */
export const VAAPI: Failures<VA> = {
  vaSetInfoCallback: undefined,
  vaSetDriverName: failed,
  vaInitialize: failed,
  vaTerminate: release,
  vaDisplayIsValid: { result: 0 },
  vaQueryVendorString: undefined,
  vaMaxNumProfiles: undefined,
  vaMaxNumEntrypoints: undefined,
  vaMaxNumImageFormats: undefined,
  vaQueryConfigProfiles: failed,
  vaQueryConfigEntrypoints: failed,
  vaQueryImageFormats: failed,
  vaGetConfigAttributes: failed,
  vaCreateConfig: failed,
  vaDestroyConfig: release,
  vaQuerySurfaceAttributes: failed,
  vaCreateSurfaces: failed,
  vaDestroySurfaces: release,
  vaQuerySurfaceStatus: { ...failed, poll: true },
  vaSyncSurface: failed,
  vaExportSurfaceHandle: failed,
  vaCreateImage: failed,
  vaDeriveImage: failed,
  vaDestroyImage: release,
  vaGetImage: failed,
  vaPutImage: failed,
  vaMapBuffer: failed,
  vaUnmapBuffer: release,
  vaErrorStr: undefined,
  vaProfileStr: undefined,
  vaEntrypointStr: undefined,
};

/** Its library of DRM displays. */
export const VAAPI_DRM: Failures<VADrm> = {
  vaGetDisplayDRM: { result: 0n },
};
