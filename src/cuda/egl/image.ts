import { cudaGraphicsRegisterFlagsNone } from "../../../ffi/cuda_egl/constants.ts";
import type { CudaGraphicsResource } from "../../../ffi/cuda_egl/handles.ts";
import type { Address } from "../../../ffi/address.ts";
import type { Fence } from "../../core/device/fence.ts";
import { finalizers } from "../../core/life/finalizers.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { allOrNothing, type Undo, undone } from "../../core/life/undo.ts";
import { isMade } from "../../core/argument.ts";
import { CudaPrimaryContext } from "../base.ts";
import { CudaArray } from "../arrays/array.ts";
import { checks } from "../check.ts";
import { check, checkRelease } from "../errors.ts";
import { owned } from "../primary_context.ts";
import type { CudaTensor } from "../tensor.ts";
import { FrameStruct } from "./frame.ts";
import { planeTensors } from "./image_planes.ts";
import { cudaEgl } from "./library.ts";

/**
 * An `EGLImage` in CUDA (cudaGraphicsEGLRegisterImage): its planes as arrays, which textures and surfaces read and write
 * and streams copy, or as tensors. samepage does not order other users' work on the image: wait for it first, and let them
 * wait for a fence of the stream.
 *
 * CUDA's guide says that only a Tegra supports it; an H200 takes images of GL textures.
 *
 * @example
 * ```ts ignore
 * import { CudaContext, CudaEglImage } from "@samepage/interop/cuda";
 * import { EglContext, eglDevices } from "@samepage/interop/egl";
 *
 * using cuda = CudaContext.open();
 * using egl = EglContext.open({ device: eglDevices().find((device) => device.cuda === 0)!.index });
 * using picture = egl.image.allocate({ format: "RGBA", width: 256, height: 256 });
 * egl.queue.finish(); // an EGLImage orders nothing
 * using image = CudaEglImage.register(cuda, picture.planes[0].handle.image);
 * using pixels = cuda.allocate({ shape: [256, 256, 4], dtype: "u8" });
 * cuda.stream.copy(image.arrays[0], pixels);
 * ```
 */
export class CudaEglImage extends NativeObject {
  /** Its end of life, which unregisters the image. */
  readonly resource: Resource;
  /** The planes; empty if they have addresses. */
  readonly arrays: readonly CudaArray[];
  /** The planes as memory at addresses, which a Tegra may have; empty if they are arrays. */
  readonly tensors: readonly CudaTensor[];

  private constructor(context: CudaPrimaryContext, image: bigint) {
    super();
    const undo: Undo = [];
    const struct = registered(context, image, undo);
    this.resource = new Resource({ name: `cuda EGLImage (${context.name})`, owners: [context.resource], undo });
    try {
      const arrayOf = (i: number) => CudaArray.over(context, struct.arrayOf(i), this);
      this.arrays = struct.isArrays ? Array.from({ length: struct.planeCount }, (_, i) => arrayOf(i)) : [];
      this.tensors = struct.isArrays ? [] : planeTensors(context, struct, this.resource);
    } catch (error) {
      throw undone(error, [() => this.resource.dispose()], "registering an EGLImage");
    }
    finalizers.register(this, this.resource, this);
  }

  /**
   * Registers an image.
   *
   * @param image a live `EGLImage` on the same device; a wrong one may crash the process
   * @throws {ArgumentError} for anything but a CUDA context and a handle.
   * @throws {NativeCallError} if the driver refuses.
   */
  static register(context: CudaPrimaryContext, image: bigint): CudaEglImage {
    if (!isMade(context, CudaPrimaryContext)) throw checks.wrongKind("context", "a CudaContext", context);
    context.resource.assertLive();
    return new CudaEglImage(context, checks.handleIn(image, "image"));
  }

  /** Declares work on it that samepage did not submit: its end waits for the fence. */
  usedBy(fence: Fence): void {
    this.resource.usedBy(fence);
  }
}

/**
 * Registers an image, which `undo` unregisters. CUDA can use it at once, without a map. Its arrays are for surfaces too,
 * although the driver refuses the flag for that (on an H200).
 */
export function registered(context: CudaPrimaryContext, image: bigint, undo: Undo): FrameStruct {
  const struct = new FrameStruct();
  return allOrNothing("registering an EGLImage", () => {
    const out = new BigUint64Array(1);
    const register = "cudaGraphicsEGLRegisterImage";
    const flags = cudaGraphicsRegisterFlagsNone;
    context.within(() => check(cudaEgl()[register](out, image as Address, flags), register, ABOUT));
    const handle = out[0] as CudaGraphicsResource;
    const release = "cudaGraphicsUnregisterResource";
    owned(context, "cuda.eglImage", undo, () => checkRelease(cudaEgl()[release](handle), release));
    const fn = "cudaGraphicsResourceGetMappedEglFrame";
    context.within(() => check(cudaEgl()[fn](struct.bytes, handle, 0, 0), fn));
    return struct;
  }, undo);
}

const ABOUT = {
  hint: "Is it an image on the GPU of this context, in a format of CUDA: RGBA, BGRA, or one channel of 8 bits?",
};
