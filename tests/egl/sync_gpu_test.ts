/** GL and CUDA in turns on one EGLImage, by fences: on the device where the drivers can, and else by the host. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { CudaEglImage } from "@samepage/interop/cuda";
import { EGL_CUDA_EVENT_HANDLE_NV, EGL_NONE, EGL_SYNC_CUDA_EVENT_NV, EGL_SYNC_FENCE } from "../../ffi/egl/constants.ts";
import { nativeError } from "../../src/egl/errors.ts";
import { createSync, destroySync } from "../../src/egl/lane.ts";
import { egl as native, gles } from "../../src/egl/library.ts";
import { bytesOf } from "./help.ts";
import { eglCudaTest, noise } from "./gpu.ts";

const SIZE = { format: "RGBA", width: 256, height: 256 } as const;
const ROUNDS = 100;

eglCudaTest(`EGLSync: ${ROUNDS} turns of GL and CUDA on an EGLImage, each behind the other's fence`, (egl, cuda) => {
  using picture = egl.image.allocate(SIZE);
  egl.queue.finish();
  using image = CudaEglImage.register(cuda, picture.planes[0].handle.image);
  using pixels = cuda.allocate({ shape: [256, 256, 4], dtype: "u8" });
  const [array] = image.arrays;
  console.log(`EGLSync: CUDA waits for GL on the ${cuda.line.whyHostWaits([egl.queue.fence()]) ?? "device"}`);
  console.log(`EGLSync: GL waits for CUDA on the ${egl.line.whyHostWaits([cuda.stream.fence()]) ?? "device"}`);
  for (let n = 0; n < ROUNDS; n++) {
    const [byGl, byCuda] = [noise(256 * 256 * 4), noise(256 * 256 * 4)];
    egl.queue.write(picture, byGl, { after: cuda.stream.fence() });
    cuda.stream.copy(array, pixels, { after: egl.queue.fence() });
    const seen = new Uint8Array(byGl.length);
    cuda.stream.read(pixels, seen);
    assertEquals(seen, byGl, `CUDA, turn ${n}`);
    cuda.stream.write(pixels, byCuda);
    cuda.stream.copy(pixels, array);
    egl.queue.waitFor(cuda.stream.fence());
    assertEquals(bytesOf(egl, picture), byCuda, `GL, turn ${n}`);
  }
});

eglCudaTest(
  "EGLSync: a program's own sync is waited for by GL on the device, and by CUDA where it can",
  async (egl, cuda) => {
    const sync = egl.openContext.within(() => {
      const made = createSync(egl.display, EGL_SYNC_FENCE);
      gles().glFlush();
      return made;
    });
    const fence = egl.attachFence(sync);
    assertEquals(egl.line.whyHostWaits([fence]), undefined);
    const why = cuda.line.whyHostWaits([fence]);
    if (cuda.device.attributes.integrated !== 1) assertStringIncludes(why!, "on a Tegra alone");
    egl.queue.waitFor(fence);
    cuda.stream.waitFor(fence);
    await Promise.all([egl.queue.fence().wait(), cuda.stream.fence().wait()]);
    fence.waitSync();
    destroySync(egl.display, sync);
  },
);

eglCudaTest(
  "EGLSync: a driver without EGL_NV_cuda_event makes no sync of a CUDA event, and samepage asks for none",
  (egl, cuda) => {
    const why = egl.line.whyHostWaits([cuda.stream.fence()]);
    if (egl.extensions.includes("EGL_NV_cuda_event")) return assertEquals(why, undefined);
    assertStringIncludes(why!, "has no EGL_NV_cuda_event");
    const mark = cuda.stream.line.submitRaw({ fn: "a mark", call: () => 0 });
    const event = cuda.stream.line.lane.eventAt(mark.mark)!;
    const sync = egl.openContext.within(() => {
      const attributes = BigInt64Array.of(BigInt(EGL_CUDA_EVENT_HANDLE_NV), event, BigInt(EGL_NONE));
      return native().eglCreateSync(egl.display, EGL_SYNC_CUDA_EVENT_NV, attributes);
    });
    assertEquals(sync, 0n, "the driver has made one, though it does not list the extension");
    console.log(`EGLSync of a CUDA event: ${nativeError(native().eglGetError(), "eglCreateSync").codeName}`);
  },
);
