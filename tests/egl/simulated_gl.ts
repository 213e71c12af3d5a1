/**
 * cl_khr_gl_sharing over PoCL: a buffer or an image of its own stands for GL's. What is acquired gets the bytes that GL's
 * buffer has at that moment, and what is released gives them back: a missing wait is seen in the bytes.
 *
 * @module
 */
import * as names from "../../ffi/opencl/constants.ts";
import { CL_INVALID_GL_OBJECT, CL_INVALID_OPERATION, CL_OUT_OF_RESOURCES } from "../../ffi/opencl/errors.ts";
import type { OpenCL } from "../../ffi/opencl/functions.ts";
import * as gl from "../../ffi/gles/constants.ts";
import { egl, gles } from "../../src/egl/library.ts";
import { addressOf, bytesAt } from "../../src/core/native/pin.ts";
import type { Undo } from "../../src/core/life/undo.ts";
import { NULL } from "../../ffi/address.ts";
import { driver, type Fakes } from "./simulated_opencl.ts";

/** The names of buffers, by the objects over them. */
const buffers = new Map<bigint, number>();

/** What the extension adds. */
export const GL_EXTENSION: Fakes = {
  clGetGLContextInfoKHR(properties: BigUint64Array, name: number, size: bigint, out: BigUint64Array, written: never) {
    driver.told.push(["info", name, properties.length, size]);
    if (driver.fails === "info") return CL_INVALID_OPERATION;
    out[0] = driver.drawsElsewhere ? 0n : driver.device;
    (written as BigUint64Array)[0] = 8n;
    return 0;
  },
};

/** The fakes, over the loader's own functions. */
export function glFakes(real: () => OpenCL): Fakes {
  const created = (told: unknown[], errcode: Int32Array, make: () => bigint) => {
    driver.told.push([...told, egl().eglGetCurrentContext() > 0n]);
    if (driver.fails !== "create") return make();
    errcode[0] = CL_INVALID_GL_OBJECT;
    return 0n;
  };
  const image = (context: never, flags: bigint, errcode: Int32Array<ArrayBuffer>) => {
    const format = new Uint8Array(Uint32Array.of(names.CL_RGBA, names.CL_UNORM_INT8).buffer);
    const about = new BigUint64Array(9);
    about[0] = BigInt(names.CL_MEM_OBJECT_IMAGE2D);
    [about[1], about[2]] = [8n, 4n];
    const mem = real().clCreateImage!(context, flags, format, new Uint8Array(about.buffer), NULL, errcode);
    buffers.delete(mem); // a buffer's that has ended
    return mem;
  };
  const handing = (name: "acquire" | "release") =>
  (
    queue: never,
    count: number,
    [mem]: BigUint64Array,
    waitCount: never,
    waits: never,
    slot: never,
  ) => {
    driver.told.push([name, count, egl().eglGetCurrentContext() > 0n]);
    if (driver.fails === name) return CL_OUT_OF_RESOURCES;
    const buffer = buffers.get(mem);
    if (buffer !== undefined) move(real(), name, queue, mem, buffer);
    return real().clEnqueueMarkerWithWaitList(queue, waitCount, waits, slot);
  };
  return {
    clCreateContext(properties: BigUint64Array, ...rest: never[]) {
      const isShared = properties[0] === names.CL_GL_CONTEXT_KHR && properties[2] === names.CL_EGL_DISPLAY_KHR;
      if (isShared) driver.told.push(["context", properties[1] > 0n, properties[3] > 0n]);
      return (real().clCreateContext as (...args: unknown[]) => bigint)(
        isShared ? properties.slice(4) : properties,
        ...rest,
      );
    },
    clCreateFromGLBuffer: (context: never, flags: bigint, name: number, errcode: Int32Array<ArrayBuffer>) =>
      created(["buffer", flags], errcode, () => {
        const mem = real().clCreateBuffer(context, flags, BigInt(lengthOf(name)), NULL, errcode);
        buffers.set(mem, name);
        return mem;
      }),
    clCreateFromGLTexture: (context: never, flags: bigint, target: number, level: number, _name: never, code: never) =>
      created(["texture", target, level], code, () => image(context, flags, code)),
    clCreateFromGLRenderbuffer: (context: never, flags: bigint, _name: never, code: never) =>
      created(["renderbuffer"], code, () => image(context, flags, code)),
    clEnqueueAcquireGLObjects: handing("acquire"),
    clEnqueueReleaseGLObjects: handing("release"),
  };
}

function lengthOf(name: number): number {
  const out = new Int32Array(1);
  gles().glBindBuffer(gl.GL_ARRAY_BUFFER, name);
  gles().glGetBufferParameteriv(gl.GL_ARRAY_BUFFER, gl.GL_BUFFER_SIZE, out);
  return out[0];
}

/** GL's bytes to OpenCL's, or back. */
function move(real: OpenCL, name: "acquire" | "release", queue: never, mem: bigint, buffer: number): void {
  const length = lengthOf(buffer);
  const access = name === "acquire" ? gl.GL_MAP_READ_BIT : gl.GL_MAP_WRITE_BIT;
  const address = gles().glMapBufferRange(gl.GL_ARRAY_BUFFER, 0n, BigInt(length), access);
  const undo: Undo = [];
  const bytes = bytesAt(address, length, "test", undo);
  const at = addressOf(bytes, "test");
  const copy = name === "acquire" ? real.clEnqueueWriteBuffer : real.clEnqueueReadBuffer;
  const code = copy(queue, mem as never, names.CL_TRUE, 0n, BigInt(length), at, 0, NULL, NULL);
  for (const step of undo) step();
  gles().glUnmapBuffer(gl.GL_ARRAY_BUFFER);
  if (code !== 0) throw new Error(`moving bytes: ${code}`);
}
