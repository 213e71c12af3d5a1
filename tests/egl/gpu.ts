/**
 * Tests on a GPU that EGL and CUDA share.
 *
 * @module
 */
import { EglContext, eglDevices } from "@samepage/interop/egl";
import { CudaContext } from "@samepage/interop/cuda";
import { devices, gpuTest } from "../cuda/help.ts";

/** Why no device of EGL's is one of CUDA's. */
export const lacks: string | undefined = devices.length > 0 && !eglDevices().some(({ cuda }) => cuda === 0)
  ? "an EGL device of CUDA's"
  : undefined;

/** A test with both on CUDA's first GPU. */
export function eglCudaTest(
  name: string,
  run: (egl: EglContext, cuda: CudaContext) => unknown,
  lacking?: string,
): void {
  gpuTest(
    name,
    async () => {
      using cuda = CudaContext.open();
      using egl = EglContext.open({ device: eglDevices().find(({ cuda }) => cuda === 0)!.index });
      await run(egl, cuda);
    },
    1,
    lacks ?? lacking,
  );
}

/** Random bytes. They come in pieces: getRandomValues gives no more at once. */
export function noise(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i += 65_536) crypto.getRandomValues(bytes.subarray(i, i + 65_536));
  return bytes;
}
