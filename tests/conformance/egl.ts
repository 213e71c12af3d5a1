import { MapperGraph } from "../../mod.ts";
import { InteropError } from "../../src/core/errors.ts";
import type { Context } from "../../src/core/graph/context.ts";
import type { ImageInfo } from "../../src/core/layout/frame_info.ts";
import { layout, type LayoutInit } from "../../src/core/layout/layout.ts";
import type { Frame } from "../../src/core/tensors/frame.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import { glFormats } from "../../src/egl/formats.ts";
import { EglContext, eglDevices, type EglImages, type EglTensor } from "../../src/egl/mod.ts";
import { readPixels, writePixels } from "../../src/egl/pixels.ts";
import { host } from "../../src/host/mod.ts";
import { CudaContext, cudaDevices } from "../../src/cuda/mod.ts";
import { OpenCLContext, openclDevices } from "../../src/opencl/mod.ts";
import { CudaImageEnd } from "./cuda_image.ts";
import { hostEnd } from "./host_end.ts";
import { ImageEnd } from "./opencl_image.ts";
import type { Candidate, End, Foreign, Subject, Variant } from "./subject.ts";

/** The edges of EGL's images that are not DMA-BUF's: to the host by a copy, and on a GPU to CUDA and OpenCL. */
export function egls(): Candidate[] {
  return [toHost(), toCuda(), toOpenCL()];
}

function toHost(): Candidate {
  const edge = "egl.image→host";
  try {
    using egl = EglContext.open();
    return { edge, device: egl.name, open: opened };
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    return { edge, open: error.message };
  }
}

/** On the first GPU of CUDA's that EGL knows. */
function toCuda(): Candidate {
  const device = here(() => cudaDevices().length > 0 ? eglDevices().find(({ cuda }) => cuda === 0) : undefined);
  const open = device === undefined ? "no GPU is EGL's and CUDA's" : () => {
    const [egl, cuda] = [EglContext.open({ device: device.index }), CudaContext.open()];
    return across(egl, cuda, new CudaImageEnd(cuda));
  };
  return { edge: "egl.image→cuda.image", open, covered: true };
}

/** On the first driver that takes EGL's images. */
function toOpenCL(): Candidate {
  const device = here(() => openclDevices().find(({ extensions }) => extensions.includes("cl_khr_egl_image")));
  const open = device === undefined ? "no OpenCL driver has cl_khr_egl_image" : () => {
    const [egl, cl] = [EglContext.open(), OpenCLContext.create([device])];
    return across(egl, cl, new ImageEnd(cl, "2D"));
  };
  return { edge: "egl.image→opencl.image", open, covered: true };
}

/** What a question returns; undefined where its library is not here. */
function here<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch (error) {
    if (error instanceof InteropError) return undefined;
    throw error;
  }
}

function across(
  egl: EglContext,
  other: Context & Disposable,
  target: End & Partial<Disposable> & { quiet?(): void },
): Subject {
  const graph = new MapperGraph([egl, other]);
  const variants = { contiguous: [variant("one pixel", [1, 1]), variant("odd", [31, 61])], padded: [], parts: [] };
  return {
    ...{ graph, source: new EglEnd(egl), target, expected: "alias", sourceRests: true, silent: SILENT, variants },
    quiet: () => target.quiet?.(),
    openContext: () => EglContext.open(),
    silentAtOpening: NAMELESS,
    [Symbol.dispose]() {
      using ended = new DisposableStack();
      for (const one of [egl, other]) ended.use(one);
      if (target[Symbol.dispose]) ended.use(target as Disposable);
      ended.use(graph);
    },
  };
}

/**
 * GL's error is reported by the name of the command that has left it. A question about a mark makes a fence in the
 * context, and where that fails it is asked again.
 */
const SILENT = ["gles.glGetError", "egl.eglMakeCurrent", "egl.eglCreateSync"];

/** A device may have no name. */
const NAMELESS = ["egl_extensions.eglQueryDeviceStringEXT"];

const variant = (name: string, shape: readonly number[]): Variant => ({ name, whole: { shape, dtype: "u8" } });

function opened(): Subject {
  using made = new DisposableStack();
  const egl = made.use(EglContext.open());
  const graph = made.use(new MapperGraph([host, egl]));
  const kept = made.move();
  return {
    graph,
    source: new EglEnd(egl),
    target: { ...hostEnd, shapeOf },
    expected: "copy",
    silent: SILENT,
    openContext: () => EglContext.open(),
    silentAtOpening: NAMELESS,
    variants: {
      contiguous: [variant("one pixel", [1, 1]), variant("odd", [31, 61]), variant("four channels", [13, 7, 4])],
      padded: [],
      parts: [],
    },
    [Symbol.dispose]: () => kept.dispose(),
  };
}

function shapeOf(byteLength: number): readonly number[] {
  return [byteLength / 64, 64];
}

/** EGL's end: pixels of one byte, of two or of four. */
class EglEnd implements End {
  readonly target: EglImages;
  readonly wholeOnly = true;
  readonly shapeOf = shapeOf;
  readonly #egl: EglContext;

  constructor(egl: EglContext) {
    this.#egl = egl;
    this.target = egl.image;
  }

  allocate({ shape }: LayoutInit): Tensor {
    const format = { 2: glFormats("NV12")![1], 4: glFormats("RGBA")![0] }[shape[2]] ?? glFormats("GRAY8")![0];
    const at = layout({ shape, dtype: "u8" });
    return this.target.plane(format, [shape[1], shape[0]], at, { from: "new", storage: "texture" });
  }

  allocateFrame({ format, width, height }: ImageInfo): Frame {
    return this.target.allocate({ format, width, height });
  }

  foreign(): Foreign {
    const size = { width: 64, height: 48 };
    const made = this.target.allocate({ format: "GRAY8", ...size });
    const names = made.planes.map(({ handle: { name } }) => name);
    return {
      attach: (options) => this.target.attach(names, { format: "GRAY8", ...size }, options),
      misfit: (options) => this.target.attach(names, { format: "GRAY8", ...size, width: 65 }, options),
      [Symbol.dispose]: () => made[Symbol.dispose](),
    };
  }

  // deno-lint-ignore require-await -- what it throws is a rejection, as at every end
  async write(tensor: Tensor, bytes: Uint8Array): Promise<void> {
    this.#egl.queue.write(tensor as EglTensor, bytes);
  }

  // deno-lint-ignore require-await
  async read(tensor: Tensor): Promise<Uint8Array> {
    const bytes = new Uint8Array(tensor.layout.byteLength);
    this.#egl.queue.read(tensor as EglTensor, bytes);
    return bytes;
  }

  readonly raw = {
    write: (tensor: Tensor, bytes: Uint8Array) => {
      const { openContext } = this.#egl;
      openContext.command("glTexSubImage2D", () => writePixels((tensor as EglTensor).rawHandle, bytes.slice()));
      return () => Promise.resolve();
    },
    read: (tensor: Tensor) => {
      const bytes = new Uint8Array(tensor.layout.byteLength);
      this.#egl.openContext.command("glReadPixels", () => readPixels((tensor as EglTensor).rawHandle, bytes));
      return Promise.resolve(bytes);
    },
  };
}
