import { type Address, NULL } from "../../ffi/address.ts";
import {
  EGL_CUDA_DEVICE_NV,
  EGL_DRM_DEVICE_FILE_EXT,
  EGL_DRM_RENDER_NODE_FILE_EXT,
  EGL_EXTENSIONS,
  EGL_PLATFORM_DEVICE_EXT,
  EGL_PLATFORM_SURFACELESS_MESA,
  EGL_TRUE,
  EGL_VENDOR,
  EGL_VERSION,
} from "../../ffi/egl/constants.ts";
import { EGL_BAD_ATTRIBUTE } from "../../ffi/egl/errors.ts";
import { InteropError } from "../core/errors.ts";
import { textAt } from "../core/native/text.ts";
import { check, made, nativeError } from "./errors.ts";
import { checks, egl, eglExtensions } from "./library.ts";
import { onThread } from "./thread.ts";

/** How a display is found: without a window system, by a device, or by EGL's own choice. */
export type EglPlatform = "surfaceless" | "device" | "default";

/** An EGL device. */
export interface EglDevice {
  /** Its index in the list, which `EglContext.open({ device })` takes. */
  readonly index: number;
  /** True if its driver draws in software, on the CPU. */
  readonly software: boolean;
  /** Its primary node, if the driver reports it: `"/dev/dri/card0"`. */
  readonly node: string | undefined;
  /** Its render node: `"/dev/dri/renderD128"`. */
  readonly renderNode: string | undefined;
  /** CUDA's ordinal, if it is an NVIDIA GPU that CUDA sees too. */
  readonly cuda: number | undefined;
  /** The extensions of the device. */
  readonly extensions: readonly string[];
}

/** An initialised `EGLDisplay`. It is never terminated, because other code of this process may have the same one. */
export interface Display {
  /** The `EGLDisplay`. */
  readonly handle: Address;
  /** Its EGL version. */
  readonly version: string;
  /** The driver's vendor. */
  readonly vendor: string;
  /** Its extensions, and those of all displays. */
  readonly extensions: ReadonlySet<string>;
  /** The render node of its device, if it was opened by a device that reports one. */
  readonly renderNode?: string | undefined;
}

interface Found {
  readonly handle: Address;
  readonly device: EglDevice;
}

function words(text: string | undefined): string[] {
  return text?.split(" ").filter((word) => word !== "") ?? [];
}

function clientExtensions(): string[] {
  return words(textAt(made(egl().eglQueryString(NULL, EGL_EXTENSIONS), "eglQueryString")));
}

/**
 * The EGL devices of this machine, software included; empty if EGL does not list them.
 *
 * @throws {LibraryNotFoundError} if there is no libEGL.
 *
 * @example
 * ```ts
 * import { eglDevices } from "@samepage/interop/egl";
 *
 * for (const { index, software, renderNode } of eglDevices()) console.log(index, software ? "CPU" : renderNode);
 * ```
 */
export function eglDevices(): EglDevice[] {
  return onThread(found).map(({ device }) => device);
}

function found(): Found[] {
  const extensions = clientExtensions();
  if (!extensions.includes("EGL_EXT_device_enumeration") && !extensions.includes("EGL_EXT_device_base")) return [];
  const { eglQueryDevicesEXT } = eglExtensions();
  const count = new Int32Array(1);
  check(eglQueryDevicesEXT!(0, null, count), "eglQueryDevicesEXT");
  const handles = new BigUint64Array(count[0]);
  if (handles.length > 0) check(eglQueryDevicesEXT!(handles.length, handles, count), "eglQueryDevicesEXT");
  return Array.from(handles.subarray(0, count[0]), (handle, i) => deviceOf(handle as Address, i));
}

function deviceOf(handle: Address, index: number): Found {
  const { eglQueryDeviceStringEXT } = eglExtensions();
  const extensions = words(textAt(made(eglQueryDeviceStringEXT!(handle, EGL_EXTENSIONS), "eglQueryDeviceStringEXT")));
  const text = (extension: string, name: number) =>
    extensions.includes(extension) ? textAt(eglQueryDeviceStringEXT!(handle, name)) : undefined;
  const device: EglDevice = Object.freeze({
    index,
    software: extensions.includes("EGL_MESA_device_software"),
    node: text("EGL_EXT_device_drm", EGL_DRM_DEVICE_FILE_EXT),
    renderNode: text("EGL_EXT_device_drm_render_node", EGL_DRM_RENDER_NODE_FILE_EXT),
    cuda: extensions.includes("EGL_NV_device_cuda") ? cudaOf(handle) : undefined,
    extensions: Object.freeze(extensions),
  });
  return { handle, device };
}

/** CUDA's ordinal of a device; undefined if CUDA_VISIBLE_DEVICES hides it, since EGL lists it anyway. */
function cudaOf(handle: Address): number | undefined {
  const fn = "eglQueryDeviceAttribEXT";
  const cuda = new BigInt64Array(1);
  if (eglExtensions()[fn]!(handle, EGL_CUDA_DEVICE_NV, cuda) === EGL_TRUE) return Number(cuda[0]);
  const code = egl().eglGetError();
  if (code === EGL_BAD_ATTRIBUTE) return undefined;
  throw nativeError(code, fn);
}

/** The chosen display, or one without a window system: a GPU's, else surfaceless. */
export function openDisplay(platform: EglPlatform | undefined, device: number | undefined): Display {
  if (platform === "default") return initialised(made(egl().eglGetDisplay(NULL), "eglGetDisplay"));
  const devices = platform === "surfaceless" ? [] : found();
  const gpu = devices.find(({ device }) => !device.software);
  const chosen = device === undefined ? gpu ?? devices[0] : devices[device];
  if (platform === "device" || device !== undefined) {
    if (chosen === undefined) throw noDevice(devices.length);
    return deviceDisplay(chosen);
  }
  if (platform === undefined && gpu !== undefined) return deviceDisplay(gpu);
  if (clientExtensions().includes("EGL_MESA_platform_surfaceless")) {
    return platformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL);
  }
  if (platform === undefined) return openDisplay("default", undefined);
  const what = "no driver of this machine has EGL_MESA_platform_surfaceless.";
  throw checks.wrong(
    "choice.platform",
    what,
    'Open { platform: "device" }, or install Mesa: apt install libegl-mesa0.',
  );
}

function noDevice(count: number): Error {
  const what = count === 0 ? "EGL lists no device." : `EGL lists ${count} device${count === 1 ? "" : "s"}, from 0 on.`;
  return checks.wrong("choice.device", what, "eglDevices() lists them.");
}

function deviceDisplay({ handle, device: { renderNode } }: Found): Display {
  return { ...platformDisplay(EGL_PLATFORM_DEVICE_EXT, handle), renderNode };
}

function platformDisplay(platform: number, native: Address): Display {
  return initialised(made(egl().eglGetPlatformDisplay(platform, native, null), "eglGetPlatformDisplay"));
}

function initialised(handle: Address): Display {
  check(egl().eglInitialize(handle, null, null), "eglInitialize");
  return displayOf(handle);
}

export function displayOf(handle: Address): Display {
  const text = (name: number) => textAt(made(egl().eglQueryString(handle, name), "eglQueryString"))!;
  const version = text(EGL_VERSION).split(" ")[0];
  const [major, minor] = version.split(".").map(Number);
  if (major < 1 || (major === 1 && minor < 5)) {
    throw new InteropError(`the display has EGL ${version}; 1.5 or later is needed.`, {
      api: "egl",
      fn: "eglQueryString",
      hint: "Update the driver.",
    });
  }
  const extensions = new Set([...words(text(EGL_EXTENSIONS)), ...clientExtensions()]);
  return { handle, version, vendor: text(EGL_VENDOR), extensions };
}
