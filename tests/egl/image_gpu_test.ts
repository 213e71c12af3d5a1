/** GL's pictures and buffers in CUDA, on NVIDIA's drivers. What the driver answers where its documents say little is printed. */
import { assertEquals } from "@std/assert";
import { type Address, NULL } from "../../ffi/address.ts";
import { EGL_GL_RENDERBUFFER, EGL_GL_TEXTURE_2D, EGL_IMAGE_PRESERVED, EGL_NONE } from "../../ffi/egl/constants.ts";
import * as gl from "../../ffi/gles/constants.ts";
import type { CudaGraphicsResource, CudaStream } from "../../ffi/cuda_egl/handles.ts";
import type { EglContext, GLES } from "@samepage/interop/egl";
import { CudaEglImage } from "@samepage/interop/cuda";
import { cudaEgl } from "../../src/cuda/egl/library.ts";
import { FrameStruct } from "../../src/cuda/egl/frame.ts";
import { cudart } from "../../src/cuda/library.ts";
import { nativeError } from "../../src/egl/errors.ts";
import { createSync, destroySync } from "../../src/egl/lane.ts";
import { egl as native, gles } from "../../src/egl/library.ts";
import { EGL_SYNC_FENCE } from "../../ffi/egl/constants.ts";
import { eglCudaTest } from "./gpu.ts";

/** What eglCreateImage answers. */
function asked({ display, handle }: EglContext, target: number, name: number, attributes: readonly number[]): string {
  const list = attributes.length === 0 ? null : BigInt64Array.from([...attributes, EGL_NONE], BigInt);
  const image = native().eglCreateImage(display, handle, target, BigInt(name) as Address, list);
  if (image === 0n) return String(nativeError(native().eglGetError(), "eglCreateImage").codeName);
  native().eglDestroyImage(display, image);
  return "an image";
}

eglCudaTest("EGLImage: of which textures, and how, the driver makes one", (egl) => {
  const { openContext } = egl;
  const names = new Uint32Array(1);
  const texture = (make: (gles: GLES) => void): number => {
    openContext.within(() => {
      gles().glGenTextures(1, names);
      gles().glBindTexture(gl.GL_TEXTURE_2D, names[0]);
      make(gles());
    });
    return names[0];
  };
  const parameter = (name: number, value: number) => gles().glTexParameteri(gl.GL_TEXTURE_2D, name, value);
  const sized = (internal: number, order: number) =>
    gles().glTexImage2D(gl.GL_TEXTURE_2D, 0, internal, 256, 256, 0, order, gl.GL_UNSIGNED_BYTE, NULL);
  const nearest = () => parameter(gl.GL_TEXTURE_MIN_FILTER, gl.GL_NEAREST);
  const variants: Record<string, () => void> = {
    "RGBA8, nearest": () => (nearest(), sized(gl.GL_RGBA8, gl.GL_RGBA)),
    "RGBA8, no filter set": () => sized(gl.GL_RGBA8, gl.GL_RGBA),
    "RGBA8, no filter set, max level 0": () => (parameter(gl.GL_TEXTURE_MAX_LEVEL, 0), sized(gl.GL_RGBA8, gl.GL_RGBA)),
    "RGBA8, immutable": () => gles().glTexStorage2D(gl.GL_TEXTURE_2D, 1, gl.GL_RGBA8, 256, 256),
    "RGBA, unsized": () => (nearest(), sized(gl.GL_RGBA, gl.GL_RGBA)),
    "BGRA": () => (nearest(), sized(gl.GL_BGRA_EXT, gl.GL_BGRA_EXT)),
    "RGB8": () => (nearest(), sized(gl.GL_RGB8, gl.GL_RGB)),
    "R8": () => (nearest(), sized(gl.GL_R8, gl.GL_RED)),
    "RG8": () => (nearest(), sized(gl.GL_RG8, gl.GL_RG)),
  };
  for (const [what, make] of Object.entries(variants)) {
    const ways: Record<string, (name: number) => string> = {
      "not current": (name) => asked(egl, EGL_GL_TEXTURE_2D, name, [EGL_IMAGE_PRESERVED, 1]),
      "current, preserved": (name) =>
        openContext.within(() => asked(egl, EGL_GL_TEXTURE_2D, name, [EGL_IMAGE_PRESERVED, 1])),
      "current, not preserved": (name) =>
        openContext.within(() => asked(egl, EGL_GL_TEXTURE_2D, name, [EGL_IMAGE_PRESERVED, 0])),
      "current, no attributes": (name) => openContext.within(() => asked(egl, EGL_GL_TEXTURE_2D, name, [])),
    };
    const answers = Object.entries(ways).map(([way, ask]) => {
      const name = texture(make);
      const answer = ask(name);
      openContext.within(() => gles().glDeleteTextures(1, names));
      return `${way}: ${answer}`;
    });
    console.log(`eglCreateImage: ${what}: ${answers.join("; ")}`);
  }
  for (const cleared of [false, true]) {
    for (const storage of ["texture", "renderbuffer"] as const) {
      using picture = egl.image.allocate({ format: "RGBA", width: 256, height: 256, storage });
      if (cleared) egl.queue.finish();
      const { name } = picture.planes[0].handle;
      const target = storage === "texture" ? EGL_GL_TEXTURE_2D : EGL_GL_RENDERBUFFER;
      const way = `${storage}, attached to a framebuffer${cleared ? ", finished" : ""}`;
      console.log(`eglCreateImage: ${way}: ${openContext.within(() => asked(egl, target, name, []))}`);
      const unbound = openContext.within(() => {
        gles().glBindFramebuffer(gl.GL_FRAMEBUFFER, 0);
        gles().glBindTexture(gl.GL_TEXTURE_2D, 0);
        return asked(egl, target, name, []);
      });
      console.log(`eglCreateImage: ${way}, unbound: ${unbound}`);
      const detached = openContext.within(() => {
        for (const target of [gl.GL_READ_FRAMEBUFFER, gl.GL_DRAW_FRAMEBUFFER]) {
          gles().glBindFramebuffer(target, openContext.framebuffers[target === gl.GL_READ_FRAMEBUFFER ? 0 : 1]);
          gles().glFramebufferTexture2D(target, gl.GL_COLOR_ATTACHMENT0, gl.GL_TEXTURE_2D, 0, 0);
        }
        return asked(egl, target, name, []);
      });
      console.log(`eglCreateImage: ${way}, detached: ${detached}`);
    }
  }
});

eglCudaTest("GL: what CUDA registers, by GL's name and by the EGLImage", (egl, cuda) => {
  const stream = cuda.stream.handle as unknown as CudaStream;
  const out = new BigUint64Array(1);
  const coded = (answers: Record<string, () => number>): string => {
    const said: string[] = [];
    for (const [fn, call] of Object.entries(answers)) {
      const code = call();
      if (code !== 0) cudart().cudaGetLastError();
      said.push(`${fn} ${code}`);
      if (code !== 0) break;
    }
    return said.join(", ");
  };
  for (const format of ["RGBA", "BGRA", "RGB", "GRAY8", "NV12", "P010"] as const) {
    for (const storage of ["texture", "renderbuffer"] as const) {
      if (format === "BGRA" && storage === "renderbuffer") continue;
      let picture;
      try {
        picture = egl.image.allocate({ format, width: 256, height: 256, storage });
      } catch (error) {
        console.log(`${format} ${storage}: ${error}`);
        continue;
      }
      using one = picture;
      for (const [i, { handle }] of one.planes.entries()) {
        const target = storage === "texture" ? gl.GL_TEXTURE_2D : gl.GL_RENDERBUFFER;
        for (const flags of [0, 4]) { // none, surface load and store
          for (const isCurrent of [true, false]) {
            const run = () => {
              out[0] = 0n;
              const array = new BigUint64Array(1);
              const resource = () => out[0] as CudaGraphicsResource;
              const said = coded({
                register: () => cudaEgl().cudaGraphicsGLRegisterImage(out, handle.name, target, flags),
                map: () => cudaEgl().cudaGraphicsMapResources(1, BigUint64Array.of(resource()), stream),
                array: () => cudaEgl().cudaGraphicsSubResourceGetMappedArray(array, resource(), 0, 0),
                unmap: () => cudaEgl().cudaGraphicsUnmapResources(1, BigUint64Array.of(resource()), stream),
              });
              const info = out[0] === 0n ? "" : coded({
                unregister: () => cudaEgl().cudaGraphicsUnregisterResource(resource()),
              });
              console.log(
                `GL ${format}[${i}] ${storage}, flags ${flags}, ${isCurrent ? "" : "not "}current: ${said}; ${info}`,
              );
            };
            if (isCurrent) egl.openContext.within(run);
            else run();
          }
        }
        const said: string[] = [];
        try {
          const { image } = handle;
          for (const flags of [0, 4]) {
            out[0] = 0n;
            const struct = new FrameStruct();
            said.push(coded({
              register: () => cudaEgl().cudaGraphicsEGLRegisterImage(out, image, flags),
              frame: () =>
                cudaEgl().cudaGraphicsResourceGetMappedEglFrame(struct.bytes, out[0] as CudaGraphicsResource, 0, 0),
            }));
            const words = new Uint32Array(struct.bytes.buffer);
            said.push(
              `${struct.isArrays ? "arrays" : "pointers"}, ${struct.planeCount} planes, format ${words.at(-1)}`,
            );
            if (out[0] !== 0n) {
              said.push(coded({
                map: () => cudaEgl().cudaGraphicsMapResources(1, out, stream),
                unregister: () => cudaEgl().cudaGraphicsUnregisterResource(out[0] as CudaGraphicsResource),
              }));
            }
          }
        } catch (error) {
          said.push(String(error));
        }
        console.log(`EGLImage ${format}[${i}] ${storage}: ${said.join("; ")}`);
      }
    }
  }
});

eglCudaTest("GL: a buffer, registered with CUDA", (egl, cuda) => {
  const stream = cuda.stream.handle as unknown as CudaStream;
  const names = new Uint32Array(1);
  egl.openContext.within(() => {
    gles().glGenBuffers(1, names);
    gles().glBindBuffer(gl.GL_ARRAY_BUFFER, names[0]);
    gles().glBufferData(gl.GL_ARRAY_BUFFER, 4096n, NULL, gl.GL_DYNAMIC_COPY);
    const [resource, address, size] = [new BigUint64Array(1), new BigUint64Array(1), new BigUint64Array(1)];
    const codes = [cudaEgl().cudaGraphicsGLRegisterBuffer(resource, names[0], 0)];
    if (codes[0] === 0) {
      codes.push(cudaEgl().cudaGraphicsMapResources(1, resource, stream));
      codes.push(cudaEgl().cudaGraphicsResourceGetMappedPointer(address, size, resource[0] as CudaGraphicsResource));
      codes.push(cudaEgl().cudaGraphicsUnmapResources(1, resource, stream));
      codes.push(cudaEgl().cudaGraphicsUnregisterResource(resource[0] as CudaGraphicsResource));
    }
    cudart().cudaGetLastError();
    console.log(`GL buffer: ${codes}; address 0x${address[0].toString(16)}, ${size[0]} bytes`);
    gles().glDeleteBuffers(1, names);
  });
});

eglCudaTest("EGLSync: what CUDA makes of one, and EGL of an event", (egl, cuda) => {
  const { display } = egl;
  const sync = egl.openContext.within(() => {
    const made = createSync(display, EGL_SYNC_FENCE);
    gles().glFlush();
    return made;
  });
  const out = new BigUint64Array(1);
  for (const isCurrent of [true, false]) {
    const ask = () => cudaEgl().cudaEventCreateFromEGLSync(out, sync, 0);
    const code = isCurrent ? egl.openContext.within(ask) : ask();
    cudart().cudaGetLastError();
    console.log(`cudaEventCreateFromEGLSync: ${code}, ${isCurrent ? "" : "not "}current; event ${out[0]}`);
  }
  destroySync(display, sync);
  console.log(`EGL_NV_cuda_event: ${egl.extensions.filter((name) => /cuda/i.test(name))}`);
  console.log(`EGL extensions: ${egl.extensions.filter((name) => /sync|image|stream|dma/i.test(name)).join(" ")}`);
  assertEquals(cuda.resource.isLive, true);
});

eglCudaTest("EGLImage: a texture of GL's is an array of CUDA's", (egl, cuda) => {
  using picture = egl.image.allocate({ format: "RGBA", width: 256, height: 256 });
  egl.queue.finish();
  using image = CudaEglImage.register(cuda, picture.planes[0].handle.image);
  assertEquals([image.arrays.length, image.addresses.length], [1, 0]);
});
