import { messageOf } from "../../core/errors.ts";
import type { EglContext } from "../../egl/context.ts";
import { type OpenCLDevice, openclDevices } from "../../opencl/device.ts";
import { currentDevice } from "../../opencl/devices/gl.ts";
import { GL_SHARING } from "../../opencl/external/handles.ts";
import type { Trait } from "../report.ts";

/** OpenCL drivers that list any extension for OpenGL report these: NVIDIA's lists cl_khr_gl_event alone. */
export function openclTraits(gl: EglContext): Trait[] {
  const devices = knownDevices().filter(({ extensions }) => extensions.some((name) => name.startsWith("cl_khr_gl_")));
  return [...Map.groupBy(devices, ({ platformHandle }) => platformHandle).values()].map((of) => (
    { label: "OpenCL", text: `${of[0].platform}: ${answerOf(gl, of)}` }
  ));
}

function knownDevices(): readonly OpenCLDevice[] {
  try {
    return openclDevices();
  } catch {
    return []; // OpenCL's own part of the report has the reason
  }
}

function answerOf(gl: EglContext, devices: readonly OpenCLDevice[]): string {
  try {
    const handle = currentDevice(gl, devices[0]);
    const device = devices.find((each) => each.handle === handle);
    if (device === undefined) return "the context draws on none of its devices";
    const { extensions, name } = device;
    if (extensions.includes(GL_SHARING)) return `pictures and buffers by their names, on ${name} (${GL_SHARING})`;
    return `it draws on ${name}, which has no ${GL_SHARING}`;
  } catch (error) {
    return messageOf(error).replace(/\.$/, "");
  }
}
