import { MapperGraph } from "../../mod.ts";
import { InteropError } from "../../src/core/errors.ts";
import type { ImageInfo } from "../../src/core/layout/frame_info.ts";
import { layout, type LayoutInit } from "../../src/core/layout/layout.ts";
import type { Frame } from "../../src/core/tensors/frame.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import { glFormats } from "../../src/egl/formats.ts";
import { EglContext, type EglImages, type EglTensor } from "../../src/egl/mod.ts";
import { readPixels, writePixels } from "../../src/egl/pixels.ts";
import { host } from "../../src/host/mod.ts";
import { hostEnd } from "./host_end.ts";
import type { Candidate, End, Subject, Variant } from "./subject.ts";

/** The edge of EGL's images that is no image port's: to the host, by a copy. */
export function egls(): Candidate[] {
  const edge = "egl.image→host";
  try {
    using egl = EglContext.open();
    return [{ edge, device: egl.name, open: opened }];
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    return [{ edge, open: error.message }];
  }
}

/**
 * GL's error is told by the name of the command that has left it. A question about a mark makes a fence in the context, and
 * where that fails it is asked again.
 */
const SILENT = ["gles.glGetError", "egl.eglMakeCurrent", "egl.eglCreateSync"];

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
