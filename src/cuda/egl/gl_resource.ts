import type { Address } from "../../../ffi/address.ts";
import {
  cudaGraphicsRegisterFlagsNone,
  cudaGraphicsRegisterFlagsSurfaceLoadStore,
} from "../../../ffi/cuda_egl/constants.ts";
import type { CudaGraphicsResource } from "../../../ffi/cuda_egl/handles.ts";
import type { CudaArray, CudaStream } from "../../../ffi/cuda_runtime/handles.ts";
import type { Call } from "../../core/contract.ts";
import { SharedImport } from "../../core/device/shared_import.ts";
import type { GlPort } from "../../gl/port.ts";
import type { ErrorFields } from "../../core/errors.ts";
import { allOrNothing, type Undo, undoAll } from "../../core/life/undo.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { importFor } from "../../core/memory/imports.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { MARKER } from "../driver.ts";
import { check, checkRelease } from "../errors.ts";
import { owned } from "../primary_context.ts";
import { onStream, type StreamLane } from "../stream_lane.ts";
import { cudaEgl } from "./library.ts";

/**
 * An OpenGL texture, renderbuffer or buffer, registered with CUDA. While it is mapped it is CUDA's: GL must not use it.
 * cudaGraphicsMapResources and cudaGraphicsUnmapResources order the work of both drivers.
 */
export class GlResource extends SharedImport<StreamLane> {
  protected override readonly again = MARKER;
  protected override readonly mark = MARKER;
  readonly #context: CudaPrimaryContext;
  readonly #within: GlPort["within"];
  readonly #handle: CudaGraphicsResource;
  readonly #undo: Undo = [];

  constructor(context: CudaPrimaryContext, { kind, value, target, within }: GlPort) {
    super();
    this.#context = context;
    this.#within = within;
    const out = new BigUint64Array(1);
    const name = Number(value);
    const fn = kind === "gl-buffer" ? "cudaGraphicsGLRegisterBuffer" : "cudaGraphicsGLRegisterImage";
    const register = () =>
      kind === "gl-buffer"
        ? cudaEgl().cudaGraphicsGLRegisterBuffer(out, name, cudaGraphicsRegisterFlagsNone)
        : cudaEgl().cudaGraphicsGLRegisterImage(out, name, target, cudaGraphicsRegisterFlagsSurfaceLoadStore);
    const release = "cudaGraphicsUnregisterResource";
    const unregister = () => within(() => checkRelease(cudaEgl()[release](out[0] as CudaGraphicsResource), release));
    // Inside `within`: restoring the thread's context may fail after the driver has registered the object.
    const take = () => {
      check(register(), fn, ABOUT);
      owned(context, "cuda.glResource", this.#undo, unregister);
    };
    this.#handle = allOrNothing("registering an OpenGL resource", () => {
      context.within(() => within(take));
      return out[0] as CudaGraphicsResource;
    }, this.#undo);
  }

  /** Only while it is mapped. */
  get array(): CudaArray {
    const out = new BigUint64Array(1);
    const fn = "cudaGraphicsSubResourceGetMappedArray";
    this.#call(() => check(cudaEgl()[fn](out, this.#handle, 0, 0), fn));
    return out[0] as CudaArray;
  }

  /** Only while it is mapped. */
  get address(): Address {
    const [out, size] = [new BigUint64Array(1), new BigUint64Array(1)];
    const fn = "cudaGraphicsResourceGetMappedPointer";
    this.#call(() => check(cudaEgl()[fn](out, size, this.#handle), fn));
    return out[0] as Address;
  }

  /**
   * Unregisters it, when no map uses it. A map that failed at its end, or at its beginning after CUDA had mapped it, has left
   * it mapped: it is unmapped first, because the driver never frees the array of a resource that is unregistered while mapped.
   */
  release(): void {
    if (this.isAcquired) this.#undo.push(() => this.#unmap());
    undoAll(this.#undo, "unregistering an OpenGL resource");
  }

  #unmap(): void {
    const fn = "cudaGraphicsUnmapResources";
    this.#call(() => checkRelease(cudaEgl()[fn](1, BigUint64Array.of(this.#handle), DEFAULT_STREAM), fn));
  }

  protected override hand(acquires: boolean): Call<StreamLane> {
    const fn = acquires ? "cudaGraphicsMapResources" : "cudaGraphicsUnmapResources";
    const resources = BigUint64Array.of(this.#handle);
    return onStream(fn, (stream) => {
      // Inside `within`: restoring the thread's context may fail after the driver's call.
      return this.#within(() => {
        const code = cudaEgl()[fn](1, resources, stream);
        if (code === 0) this.isAcquired = acquires;
        return code;
      });
    });
  }

  #call(use: () => void): void {
    this.#context.within(() => this.#within(use));
  }
}

/** For calls when samepage's work is over, which need no order. */
const DEFAULT_STREAM = 0n as CudaStream;

const ABOUT: ErrorFields = {
  hint: "CUDA registers textures of 1, 2 or 4 channels (cudaGraphicsGLRegisterImage): use RGBA, and a GPU of both.",
};

/** An OpenGL block, registered once, until it is freed or the context ends. */
export function glResourceOf(context: CudaPrimaryContext, block: Allocation, port: GlPort): GlResource {
  return importFor(context.resource, block, () => new GlResource(context, port));
}
