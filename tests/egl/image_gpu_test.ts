/** EGLImages and EGLSyncs in CUDA, on NVIDIA's drivers: what they take, and what they refuse. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { NativeCallError } from "@samepage/interop";
import { type CudaContext, CudaEglImage } from "@samepage/interop/cuda";
import type { EglContext } from "@samepage/interop/egl";
import type { Address } from "../../ffi/address.ts";
import { EGL_GL_TEXTURE_2D, EGL_SYNC_FENCE } from "../../ffi/egl/constants.ts";
import { cudaErrorNotSupported } from "../../ffi/cuda_runtime/errors.ts";
import { cudaEgl } from "../../src/cuda/egl/library.ts";
import { cudart } from "../../src/cuda/library.ts";
import { nativeError } from "../../src/egl/errors.ts";
import { createSync, destroySync } from "../../src/egl/lane.ts";
import { egl as native, gles } from "../../src/egl/library.ts";
import { unless } from "../cuda/help.ts";
import { eglCudaTest, noise } from "./gpu.ts";

eglCudaTest("EGLImage: the driver makes one while the texture's context is current, and no other time", (egl) => {
  const { display, handle, openContext } = egl;
  using picture = egl.image.allocate({ format: "RGBA", width: 64, height: 64 });
  const name = BigInt(picture.planes[0].handle.name) as Address;
  const ask = () => native().eglCreateImage(display, handle, EGL_GL_TEXTURE_2D, name, null);
  assertEquals(ask(), 0n);
  assertEquals(nativeError(native().eglGetError(), "eglCreateImage").codeName, "EGL_BAD_ACCESS");
  const image = openContext.within(ask);
  assert(image > 0n);
  native().eglDestroyImage(display, image);
});

/** A picture of random bytes, GL's work on it done. */
function filled(egl: EglContext, format: "RGBA" | "BGRA" | "GRAY8") {
  const picture = egl.image.allocate({ format, width: 256, height: 256 });
  const bytes = noise(256 * 256 * (format === "GRAY8" ? 1 : 4));
  egl.queue.write(picture, bytes);
  egl.queue.finish();
  return { picture, bytes };
}

/** What CUDA sees in the array. */
function seenIn(cuda: CudaContext, image: CudaEglImage): Uint8Array {
  const [array] = image.arrays;
  using pixels = cuda.allocate({ shape: array.shape, dtype: "u8" });
  const seen = new Uint8Array(pixels.layout.byteLength);
  cuda.stream.copy(array, pixels);
  cuda.stream.read(pixels, seen);
  return seen;
}

for (const format of ["RGBA", "BGRA", "GRAY8"] as const) {
  eglCudaTest(`EGLImage: a texture of ${format} is an array of CUDA's, in place`, (egl, cuda) => {
    const { picture, bytes } = filled(egl, format);
    using _ = picture;
    using image = CudaEglImage.register(cuda, picture.planes[0].handle.image);
    assertEquals([image.arrays.length, image.tensors.length, image.arrays[0].dtype], [1, 0, "u8"]);
    assertEquals(seenIn(cuda, image), bytes);
    using pixels = cuda.allocate({ shape: image.arrays[0].shape, dtype: "u8" });
    const answer = noise(bytes.length);
    cuda.stream.write(pixels, answer);
    cuda.stream.copy(pixels, image.arrays[0]);
    cuda.stream.finish();
    const seen = new Uint8Array(bytes.length);
    egl.queue.read(picture, seen);
    assertEquals(seen, answer);
    console.log(`EGLImage ${format}: surfaces ${image.arrays[0].writable ? "may" : "may not"} write its array`);
  });
}

eglCudaTest("EGLImage: what CUDA does not take is its own error, and nothing stays", (egl, cuda) => {
  for (const format of ["RGB", "P010"] as const) {
    using picture = egl.image.allocate({ format, width: 64, height: 64 });
    const error = assertThrows(
      () => CudaEglImage.register(cuda, picture.planes[0].handle.image),
      NativeCallError,
      "cudaGraphicsEGLRegisterImage failed",
    );
    console.log(`EGLImage ${format}: ${error.codeName}`);
  }
});

eglCudaTest("EGLSync: CUDA makes no event of one but on a Tegra", (egl, cuda) => {
  const { display } = egl;
  const sync = egl.openContext.within(() => {
    const made = createSync(display, EGL_SYNC_FENCE);
    gles().glFlush();
    return made;
  });
  const code = cuda.within(() => cudaEgl().cudaEventCreateFromEGLSync(new BigUint64Array(1), sync, 0));
  cudart().cudaGetLastError();
  destroySync(display, sync);
  assertEquals(code, cudaErrorNotSupported);
  assertEquals(egl.extensions.includes("EGL_NV_cuda_event"), false);
}, unless("integrated", 0));
