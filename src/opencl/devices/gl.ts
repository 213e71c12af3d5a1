import {
  CL_CONTEXT_PLATFORM,
  CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR,
  CL_EGL_DISPLAY_KHR,
  CL_GL_CONTEXT_KHR,
} from "../../../ffi/opencl/constants.ts";
import type { ClGl } from "../../../ffi/opencl_gl/functions.ts";
import { SYMBOLS } from "../../../ffi/opencl_gl/symbols.ts";
import { object } from "../../core/argument.ts";
import type { GlContext } from "../../gl/port.ts";
import { Resource } from "../../core/life/resource.ts";
import { checks } from "../check.ts";
import type { OpenCLDevice } from "../device.ts";
import { GL_SHARING } from "../external/handles.ts";
import { openclError } from "../errors.ts";
import { extensionFunctions } from "../extension.ts";

const FN = "clGetGLContextInfoKHR";

const glOf: (device: OpenCLDevice) => ClGl = extensionFunctions<ClGl>("opencl_gl", GL_SHARING, SYMBOLS);

export function glProperties({ handle, display }: GlContext): bigint[] {
  return [CL_GL_CONTEXT_KHR, handle, CL_EGL_DISPLAY_KHR, display];
}

/** Checks the OpenGL context that a program gave. @throws {ArgumentError} @throws {DisposedError} */
export function glIn(given: GlContext): GlContext {
  const { resource } = object(given, "choice.gl");
  if (!(resource instanceof Resource)) throw checks.wrongKind("choice.gl", "an EglContext", given);
  resource.assertLive(); // its handles throw once it has ended
  if (typeof given.handle === "bigint" && typeof given.display === "bigint") return given;
  throw checks.wrongKind("choice.gl", "an EglContext", given);
}

/**
 * The device of a GL context, of those that fit a choice.
 * @throws {ArgumentError} if none of them has cl_khr_gl_sharing, or the context is of another one.
 * @throws {NativeCallError} if a driver refuses.
 */
export function deviceOfGl(gl: GlContext, fitting: readonly OpenCLDevice[]): OpenCLDevice {
  const sharing = fitting.filter(({ extensions }) => extensions.includes(GL_SHARING));
  if (sharing.length === 0) {
    const { platform, name } = fitting[0];
    const others = fitting.length === 1 ? "" : `, nor has any of the other ${fitting.length - 1}`;
    const what = `${platform} has no ${GL_SHARING} on ${name}${others}.`;
    throw checks.wrong("choice.gl", what, "Open it without: what is OpenGL's reaches it by copies through the host.");
  }
  for (const anyOfIts of new Map(sharing.map((device) => [device.platformHandle, device])).values()) {
    const handle = currentDevice(gl, anyOfIts);
    const device = sharing.find((each) => each.handle === handle);
    if (device !== undefined) return device;
  }
  const names = sharing.map(({ name }) => name).join(", ");
  throw checks.wrong(
    "choice.gl",
    `${gl.name} draws on none of these: ${names}.`,
    "Open EGL on one of them: eglDevices().",
  );
}

/** The device that a GL context draws on, as another device's platform knows it; 0 if the platform lacks it. */
export function currentDevice(gl: GlContext, anyOfIts: OpenCLDevice): bigint {
  const [device, size] = [new BigUint64Array(1), new BigUint64Array(1)];
  const properties = BigUint64Array.of(...glProperties(gl), CL_CONTEXT_PLATFORM, anyOfIts.platformHandle, 0n);
  const code = glOf(anyOfIts)[FN](properties, CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR, 8n, device, size);
  if (code !== 0) {
    throw openclError(code, FN, { argument: "choice.gl", hint: "The driver shares with no context like this one." });
  }
  return size[0] === 0n ? 0n : device[0];
}
