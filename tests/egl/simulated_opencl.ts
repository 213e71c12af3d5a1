/**
 * PoCL as a driver with cl_khr_egl_image, cl_khr_gl_sharing, cl_khr_egl_event and cl_khr_gl_event: an image of its own stands
 * for EGL's, and a user event for a sync. It has to be imported before OpenCL is opened.
 *
 * @module
 */
import * as names from "../../ffi/opencl/constants.ts";
import { CL_INVALID_VALUE, CL_OUT_OF_RESOURCES } from "../../ffi/opencl/errors.ts";
import type { OpenCL } from "../../ffi/opencl/functions.ts";
import { setTap } from "../../src/core/native/library.ts";
import { GL_EXTENSION, glFakes } from "./simulated_gl.ts";

/** What the driver is to do, and the calls that it got. */
export const driver = {
  /** The calls of the extension, in order. */
  told: [] as unknown[][],
  /** The call that fails. */
  fails: undefined as string | undefined,
  /** True if the device lists cl_khr_egl_image. */
  lists: true,
  /** True if it lists cl_khr_gl_sharing. */
  listsGl: false,
  /** True if it lists cl_khr_gl_event. */
  listsGlEvent: false,
  /** True if it lists cl_khr_egl_event. */
  listsEglEvent: false,
  /** False if it lists the extensions of events, and has none of their functions. */
  hasEvents: true,
  /** Completes the events of the syncs that it was given. */
  signal: [] as (() => void)[],
  /** True if GL draws on another device. */
  drawsElsewhere: false,
  /** The device. */
  device: 0n,
  /** The device's UUID. */
  uuid: "",
};

// deno-lint-ignore no-explicit-any -- native functions of any signature
export type Fakes = Record<string, (...args: any[]) => unknown>;

function fill(bytes: Uint8Array, size: bigint, value: Uint8Array | null, written: BigUint64Array | null): number {
  if (written !== null) written[0] = BigInt(bytes.length);
  if (value === null) return 0;
  if (BigInt(bytes.length) > size) return CL_INVALID_VALUE;
  new Uint8Array(value.buffer, value.byteOffset).set(bytes);
  return 0;
}

let real: OpenCL;

/** The objects over EGLImages. */
const images = new Set<bigint>();

const DRIVER: Fakes = {
  clReleaseMemObject(mem: never) {
    if (images.delete(mem)) driver.told.push(["clReleaseMemObject"]);
    return real.clReleaseMemObject(mem);
  },
  clGetDeviceInfo(device: never, name: number, size: bigint, value: Uint8Array | null, written: never) {
    if (name === names.CL_DEVICE_UUID_KHR) return fill(Uint8Array.fromHex(driver.uuid), size, value, written);
    if (name !== names.CL_DEVICE_EXTENSIONS) return real.clGetDeviceInfo(device, name, size, value as never, written);
    const own = new Uint8Array(65_536);
    const length = new BigUint64Array(1);
    real.clGetDeviceInfo(device, name, BigInt(own.length), own, length);
    const text = new TextDecoder().decode(own.subarray(0, Number(length[0]) - 1));
    const [egl, gl] = [driver.lists ? " cl_khr_egl_image" : "", driver.listsGl ? " cl_khr_gl_sharing" : ""];
    const events = `${driver.listsGlEvent ? " cl_khr_gl_event" : ""}${driver.listsEglEvent ? " cl_khr_egl_event" : ""}`;
    const more = ` cl_khr_device_uuid${egl}${gl}${events}`;
    return fill(new TextEncoder().encode(`${text}${more}\0`), size, value, written);
  },
};

const EXTENSION: Fakes = {
  clCreateFromEGLImageKHR(
    context: never,
    display: bigint,
    image: bigint,
    flags: bigint,
    _: null,
    errcode: Int32Array<ArrayBuffer>,
  ) {
    driver.told.push(["create", display > 0n, image > 0n, flags]);
    if (driver.fails === "create") {
      errcode[0] = CL_OUT_OF_RESOURCES;
      return 0n;
    }
    const format = new Uint8Array(Uint32Array.of(names.CL_RGBA, names.CL_UNORM_INT8).buffer);
    const about = new BigUint64Array(9);
    about[0] = BigInt(names.CL_MEM_OBJECT_IMAGE2D);
    [about[1], about[2]] = [8n, 4n];
    const mem = real.clCreateImage!(context, flags, format, new Uint8Array(about.buffer), 0n as never, errcode);
    images.add(mem);
    return mem;
  },
  clEnqueueAcquireEGLObjectsKHR: handing("acquire"),
  clEnqueueReleaseEGLObjectsKHR: handing("release"),
};

const EVENTS: Fakes = {
  clCreateEventFromEGLSyncKHR: (context: never, sync: bigint, display: bigint, errcode: Int32Array<ArrayBuffer>) =>
    eventOf(["EGLSync", sync > 0n, display > 0n], context, errcode),
  clCreateEventFromGLsyncKHR: (context: never, sync: bigint, errcode: Int32Array<ArrayBuffer>) =>
    eventOf(["GLsync", sync > 0n], context, errcode),
};

/** A user event, which a test completes: so a missing wait is seen. */
function eventOf(told: unknown[], context: never, errcode: Int32Array<ArrayBuffer>): bigint {
  driver.told.push(told);
  if (driver.fails === "event") {
    errcode[0] = CL_OUT_OF_RESOURCES;
    return 0n;
  }
  const event = real.clCreateUserEvent(context, errcode);
  real.clRetainEvent(event);
  driver.signal.push(() => {
    real.clSetUserEventStatus(event, names.CL_COMPLETE);
    real.clReleaseEvent(event);
  });
  return event;
}

function handing(name: string) {
  return (queue: never, count: number, _: never, waitCount: never, waits: never, slot: never) => {
    driver.told.push([name, count]);
    return driver.fails === name
      ? CL_OUT_OF_RESOURCES
      : real.clEnqueueMarkerWithWaitList(queue, waitCount, waits, slot);
  };
}

setTap((api, functions) => {
  if (api === "opencl_egl") return EXTENSION;
  if (api === "opencl_gl") return GL_EXTENSION;
  if (api === "opencl_events") return driver.hasEvents ? EVENTS : { ...EVENTS, clCreateEventFromEGLSyncKHR: null };
  if (api !== "opencl") return functions;
  real = functions as unknown as OpenCL;
  return { ...functions, ...DRIVER, ...glFakes(() => real) };
});
