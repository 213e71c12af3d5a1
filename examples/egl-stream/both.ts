/**
 * What both processes agree on.
 *
 * @module
 */
import type { CudaContext } from "@samepage/interop/cuda";
import { EglContext, eglDevices } from "@samepage/interop/egl";

/** The frames. */
export const SIZE = { format: "RGBA", width: 256, height: 256 } as const;

/** How many frames wait in the stream. */
export const FIFO = 4;

/** A thread for each pixel. */
export const TILES = { groups: [SIZE.width / 32, SIZE.height / 32], groupSize: [32, 32] } as const;

/** EGL on a CUDA GPU; undefined where EGL does not list it. */
export function eglDeviceOf(cuda: CudaContext): number | undefined {
  return eglDevices().find((device) => device.cuda === cuda.device.ordinal)?.index;
}

/** EGL on a CUDA GPU. */
export function openEgl(cuda: CudaContext): EglContext {
  const device = eglDeviceOf(cuda);
  if (device === undefined) throw new Error("EGL does not list this GPU");
  return EglContext.open({ device });
}
