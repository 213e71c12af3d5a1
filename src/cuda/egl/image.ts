import { cudaGraphicsRegisterFlagsNone } from "../../../ffi/cuda_egl/constants.ts";
import type { CudaGraphicsResource } from "../../../ffi/cuda_egl/handles.ts";
import { throwAll } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { checks } from "../check.ts";
import { check, checkRelease } from "../errors.ts";
import { owned } from "../primary_context.ts";
import { FrameStruct } from "./frame.ts";
import { cudaEgl } from "./library.ts";

/**
 * An `EGLImage` in CUDA (cudaGraphicsEGLRegisterImage): its planes as arrays, which textures and surfaces read and write, or
 * as addresses. Declare what kernels do with them by `usedBy`.
 */
export class CudaEglImage extends NativeObject {
  /** Its end of life: the image is CUDA's until then. */
  readonly resource: Resource;
  /** The `cudaArray_t` of each plane; none where the planes have addresses. */
  readonly arrays: readonly bigint[];
  /** The address of each plane; none where the planes are arrays. */
  readonly addresses: readonly bigint[];

  private constructor(context: CudaPrimaryContext, image: bigint) {
    super();
    const undo: Undo = [];
    try {
      const out = new BigUint64Array(1);
      const register = "cudaGraphicsEGLRegisterImage";
      context.within(() =>
        check(cudaEgl()[register](out, image as never, cudaGraphicsRegisterFlagsNone), register, ABOUT)
      );
      const handle = out[0] as CudaGraphicsResource;
      const release = "cudaGraphicsUnregisterResource";
      owned(context, "cuda.eglImage", undo, () => checkRelease(cudaEgl()[release](handle), release));
      const struct = new FrameStruct();
      const fn = "cudaGraphicsResourceGetMappedEglFrame";
      context.within(() => check(cudaEgl()[fn](struct.bytes, handle, 0, 0), fn));
      const planes = Array.from({ length: struct.planeCount }, (_, i) => i);
      this.arrays = struct.isArrays ? planes.map((i) => struct.arrayOf(i)) : [];
      this.addresses = struct.isArrays ? [] : planes.map((i) => struct.addressOf(i));
    } catch (error) {
      throwAll([error, ...unwind(undo)], "registering an EGLImage");
      throw error;
    }
    this.resource = new Resource({ name: `cuda EGLImage (${context.name})`, owners: [context.resource], undo });
  }

  /**
   * Registers an image.
   *
   * @param image a live `EGLImage` on the same device; a wrong one may crash the process
   * @throws {NativeCallError} if the driver refuses.
   */
  static register(context: CudaPrimaryContext, image: bigint): CudaEglImage {
    context.resource.assertLive();
    return new CudaEglImage(context, checks.handleIn(image, "image"));
  }

  /** Declares work on it that samepage did not submit: its end waits for the fence. */
  usedBy(fence: Fence): void {
    this.resource.usedBy(fence);
  }
}

const ABOUT = { hint: "Is it an image of a texture that is complete, on the GPU of this context?" };
