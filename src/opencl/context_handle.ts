import { NULL } from "../../ffi/address.ts";
import { CL_CONTEXT_DEVICES, CL_CONTEXT_PLATFORM } from "../../ffi/opencl/constants.ts";
import type { ClContext, ClDeviceId } from "../../ffi/opencl/handles.ts";
import type { GlContext } from "../gl/port.ts";
import { owned } from "../core/life/ledger.ts";
import type { Undo } from "../core/life/undo.ts";
import { deviceOf, type OpenCLDevice } from "./device.ts";
import { glProperties } from "./devices/gl.ts";
import { check, errcode, made } from "./errors.ts";
import { infoU64s } from "./info.ts";
import { newer, opencl } from "./library.ts";

/** A new `cl_context` with these devices, of one platform, and for a GL context; its release goes on the undo list. */
export function createContext(devices: readonly OpenCLDevice[], undo: Undo, gl?: GlContext): ClContext {
  const shared = gl === undefined ? [] : glProperties(gl);
  const properties = BigUint64Array.of(...shared, CL_CONTEXT_PLATFORM, devices[0].platformHandle, 0n);
  const handles = BigUint64Array.from(devices, (device) => device.handle);
  const context = made(
    opencl().clCreateContext(properties, handles.length, handles, NULL, null, errcode),
    "clCreateContext",
  );
  return own(context, undo);
}

/** Retains a `cl_context` that other code made; the release goes on the undo list. */
export function retainContext(context: ClContext, undo: Undo): ClContext {
  check(opencl().clRetainContext(context), "clRetainContext");
  return own(context, undo);
}

/** For a library that releases both the context and the device. The undo list releases them if the library does not. */
export function shareContext(context: ClContext, device: ClDeviceId, undo: Undo): void {
  check(opencl().clRetainContext(context), "clRetainContext");
  undo.push(() => check(opencl().clReleaseContext(context), "clReleaseContext"));
  check(newer("clRetainDevice")(device), "clRetainDevice");
  undo.push(() => check(newer("clReleaseDevice")(device), "clReleaseDevice"));
}

/** The devices of a `cl_context`, in its order. @throws {NativeCallError} if the driver does not know it. */
export function devicesOf(context: ClContext): OpenCLDevice[] {
  const handles = infoU64s(
    "clGetContextInfo",
    (name, size, value, written) => opencl().clGetContextInfo(context, name, size, value, written),
    CL_CONTEXT_DEVICES,
  );
  return handles.map((handle) => deviceOf(handle as ClDeviceId));
}

function own(context: ClContext, undo: Undo): ClContext {
  owned("opencl.cl_context", undo, () => check(opencl().clReleaseContext(context), "clReleaseContext"));
  return context;
}
