import { CL_MEM_READ_WRITE } from "../../../ffi/opencl/constants.ts";
import type { GlPort } from "../../gl/port.ts";
import type { Reason } from "../../core/errors.ts";
import type { Context } from "../../core/graph/context.ts";
import type { Layout } from "../../core/layout/layout.ts";
import type { BaseContext } from "../base_context.ts";
import type { BufferPart } from "../buffers/native.ts";
import { errcode, made } from "../errors.ts";
import { newer } from "../library.ts";
import { GL_EVENT, GL_SHARING, lacking } from "./handles.ts";
import { ExternalObject, type Handing } from "./memory.ts";

const ACQUIRE = "clEnqueueAcquireGLObjects";
const RELEASE = "clEnqueueReleaseGLObjects";

/** GL's context is current in each call, because drivers query it about the object. */
function handing({ within }: GlPort): Handing {
  return {
    functions: [ACQUIRE, RELEASE],
    of: () => [(...call) => within(() => newer(ACQUIRE)(...call)), (...call) => within(() => newer(RELEASE)(...call))],
    within,
  };
}

export class GlBuffer extends ExternalObject {
  /** @throws {NativeCallError} if the driver refuses it. */
  constructor(context: BaseContext, port: GlPort) {
    const fn = "clCreateFromGLBuffer";
    const create = () => newer(fn)(context.rawHandle, CL_MEM_READ_WRITE, Number(port.value), errcode);
    super(context, () => made(create(), fn), handing(port));
  }

  /** All of it, with the tensor's own offset: what is acquired is the object, and no part of it. */
  part(layout: Layout): BufferPart {
    return { handle: this.root.mem, origin: 0, layout };
  }
}

/** An image over an OpenGL texture or renderbuffer (clCreateFromGLTexture, clCreateFromGLRenderbuffer). */
export class GlImage extends ExternalObject {
  /** @throws {NativeCallError} if the driver refuses it: a format that it does not share. */
  constructor(context: BaseContext, port: GlPort) {
    const { value, target, isRenderbuffer } = port;
    const [name, handle, level] = [Number(value), context.rawHandle, 0];
    const fn = isRenderbuffer ? "clCreateFromGLRenderbuffer" : "clCreateFromGLTexture";
    const create = () =>
      isRenderbuffer
        ? newer("clCreateFromGLRenderbuffer")(handle, CL_MEM_READ_WRITE, name, errcode)
        : newer("clCreateFromGLTexture")(handle, CL_MEM_READ_WRITE, target, level, name, errcode);
    super(context, () => made(create(), fn), handing(port));
  }
}

/** True where acquiring waits on the device for what GL was given, as its context is the thread's current one. */
export function ordersGl({ device }: BaseContext): boolean {
  return device.extensions.includes(GL_EVENT);
}

/** Why a context takes no OpenGL object by its name. */
export function refuseGl(context: BaseContext): Reason | undefined {
  const reason = lacking(context, [GL_SHARING]);
  if (reason !== undefined) return { reason };
  if (context.gl !== undefined) return undefined;
  return {
    reason: `${context.name} was opened without OpenGL.`,
    remedy: "Open it for that context: OpenCLContext.open({ gl: egl }).",
  };
}

/** Why it takes nothing from one OpenGL context. */
export function refuseOtherGl({ gl, name }: BaseContext, of: Context): Reason | undefined {
  if (gl === undefined || of === gl) return undefined;
  return {
    reason: `it is of another OpenGL context than the one that ${name} was opened for.`,
    remedy: "Open OpenCL for that one: OpenCLContext.open({ gl: egl }).",
  };
}
