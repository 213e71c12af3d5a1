import { NULL } from "../../../ffi/address.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import type { MemoryClass } from "../../core/device/proofs.ts";
import type { Layout } from "../../core/layout/layout.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { BaseContext } from "../base_context.ts";
import { isPoCL } from "../devices/identity.ts";
import type { OpenCLDevice } from "../device.ts";
import { bufferImageClass } from "./buffer_classes.ts";
import type { PixelFormat } from "./format.ts";
import { createImage } from "./native.ts";
import { addressProblem, type ImageProblem, type ImageShape, isProblem } from "./shape.ts";
import type { BaseImageTarget } from "./tensor.ts";
import type { ImageType } from "./type.ts";

/** Older versions of PoCL crash when a kernel's only memory is an image over a buffer. */
const FIRST_SOUND_POCL = 7;

/** Images over buffers: 1D (OpenCL 1.2), and 2D (cl_khr_image2d_from_buffer, or OpenCL 2.0). For mappers. */
export class BufferImages {
  readonly #context: BaseContext;

  /** Made by the context. */
  constructor(context: BaseContext) {
    this.#context = context;
  }

  /** The image over a buffer's bytes, or why it cannot exist. No native call. */
  fit(target: BaseImageTarget, at: Layout, address: bigint | undefined): ImageShape | ImageProblem {
    const { device, images } = this.#context;
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
  create({ format }: BaseImageTarget, image: ImageShape, buffer: ClMem, undo: Undo): ClMem {
    return createImage(this.#context, format, image, { flags: 0n, address: NULL, buffer }, undo);
  }

  /** The class of images over a buffer; `host` is true for a buffer in host memory. */
  classOf(type: ImageType, format: PixelFormat, host: boolean): MemoryClass<BaseContext> {
    return bufferImageClass(type, format, host);
  }
}

function isUnsound(device: OpenCLDevice): boolean {
  return isPoCL(device) && Number.parseInt(device.driver) < FIRST_SOUND_POCL;
}
