import { NULL } from "../../../ffi/address.ts";
import { CL_INVALID_OPERATION } from "../../../ffi/opencl/errors.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { NativeCallError } from "../../core/errors.ts";
import type { Layout } from "../../core/layout/layout.ts";
import type { Undo } from "../../core/life/undo.ts";
import { isPoCL } from "../devices/identity.ts";
import type { OpenCLDevice } from "../device.ts";
import { BufferImageSpecimen } from "./buffer_specimen.ts";
import type { PixelFormat } from "./format.ts";
import { createImage } from "./native.ts";
import { addressProblem, type ImageProblem, type ImageShape, isProblem } from "./shape.ts";
import type { ImageTarget } from "./target.ts";
import type { ImageType } from "./type.ts";
import { type Outcome, Proofs, type Verdict } from "../alias/proofs.ts";

/** Older versions of PoCL crash when a kernel's only memory is an image over a buffer. */
const FIRST_SOUND_POCL = 7;

/** The subject of an experiment. */
export interface BufferImageClass {
  /** The kind of image. */
  readonly type: ImageType;
  /** Its format. */
  readonly format: PixelFormat;
  /** True if the buffer lies in host memory. */
  readonly host: boolean;
}

/**
 * Images over buffers: 1D ones (OpenCL 1.2), and 2D ones with cl_khr_image2d_from_buffer or OpenCL 2.0's form of it.
 *
 * OpenCL requires that both are the same memory. It is proven all the same, once for each kind and format: one run of a
 * kernel writes random bytes to a buffer, reads them as pixels of the image over it, writes them as pixels of another
 * image, and reads them as bytes of the buffer under that. No driver can copy in between. For authors of mappers.
 */
export class BufferImages extends Proofs<BufferImageClass> {
  /** The image over a buffer's bytes, or why there is none. No native call. */
  fit(target: ImageTarget, at: Layout, address: bigint | undefined): ImageShape | ImageProblem {
    const { device, images } = this.context;
    const image = target.fit(at);
    if (isProblem(image)) return image;
    if (isUnsound(device)) {
      const problem = `an image over a buffer can end the process in ${device.platform} ${device.driver}.`;
      return { argument: "target", problem, remedy: `PoCL ${FIRST_SOUND_POCL} has that mended.` };
    }
    const { bytesPerPixel } = target.format;
    if (image.type === "1D buffer") return addressProblem(address, bytesPerPixel) ?? image;
    if (image.type !== "2D") {
      const problem = `there is no ${image.type} image over a buffer in OpenCL.`;
      return { argument: "type", problem, remedy: 'A row of pixels is cl.image(format, { type: "1D buffer" }).' };
    }
    const { bufferPitch, bufferBase } = images.abilities.limits;
    if (bufferPitch === 0) {
      return {
        argument: "target",
        problem: `${device.name} has no 2D images over buffers (cl_khr_image2d_from_buffer).`,
      };
    }
    const pitch = bufferPitch * bytesPerPixel;
    if (image.pitch.row % pitch !== 0) {
      const problem = `its rows lie ${image.pitch.row} bytes apart, no multiple of the ${pitch} that the device wants.`;
      return { argument: "strides", problem, remedy: `Allocate it with rowAlign: ${pitch}.` };
    }
    return addressProblem(address, Math.max(bufferBase, 1) * bytesPerPixel) ?? image;
  }

  /** Makes the image over a buffer; its release goes on the undo list. */
  create(target: ImageTarget, image: ImageShape, buffer: ClMem, undo: Undo): ClMem {
    return createImage(this.context, target.format, image, { flags: 0n, address: NULL, buffer }, undo);
  }

  /** Runs the proof, once; a failure leaves the class unproven. */
  tryToProve(which: BufferImageClass): void {
    this.tryToProveClass(which);
  }

  /** The result of the proof; an unproven class is never an alias. No native call. */
  judge(which: BufferImageClass): Verdict {
    return this.judgeClass(which);
  }

  /** The key of a class: its kind, format and place. */
  protected keyOf(which: BufferImageClass): string {
    return this.describe(which);
  }

  /** The same in words. */
  protected describe({ type, format, host }: BufferImageClass): string {
    return `${type} ${format.name} over a buffer ${host ? "over host memory" : "of the driver's own"}`;
  }

  /** Makes two specimens of the class, and has the device read and write them. */
  protected experiment(which: BufferImageClass, undo: Undo): Outcome {
    let specimen: BufferImageSpecimen;
    try {
      specimen = new BufferImageSpecimen(this.context, which, undo);
    } catch (error) {
      // rusticl 22.3 has no images over buffers over host memory.
      if (!(error instanceof NativeCallError && error.code === CL_INVALID_OPERATION)) throw error;
      return { impossible: `the driver makes no ${this.describe(which)} (${error.codeName}).` };
    }
    // Twice: a cache of the first run would be stale in the second.
    if (specimen.passes() && specimen.passes()) return undefined;
    return "in one run of a kernel the image and the buffer were not seen to be the same memory";
  }
}

function isUnsound(device: OpenCLDevice): boolean {
  return isPoCL(device) && Number.parseInt(device.driver) < FIRST_SOUND_POCL;
}
