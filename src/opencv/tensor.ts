import type { Names } from "../core/argument.ts";
import type { Address } from "../../ffi/address.ts";
import type { Access } from "../core/memory/access.ts";
import { AccessError, InteropError } from "../core/errors.ts";
import { Tensor, type TensorInit } from "../core/tensors/tensor.ts";
import type { OpenCVContext } from "./context.ts";
import type { MatShape } from "./shape.ts";
import type { Slot } from "./slots.ts";
import { channelsIn, typeName } from "./type.ts";

/** Options of `cv.mat.attach` and `cv.umat.attach`. */
export interface AttachOptions {
  /** What the tensor may be used for; read-write by default. */
  readonly access?: Access;
}

/** The names of the options of `attach`. */
export const ATTACH_OPTIONS: Names<AttachOptions> = { access: true };

/** What a Mat's or UMat's tensor is made of. */
export interface OpenCVTensorInit extends Omit<TensorInit<Address>, "handle"> {
  /** The header. */
  readonly slot: Slot;
  /** What it says of its elements. */
  readonly shape: MatShape;
  /** Set where its header is an owner of memory that OpenCV has made. */
  readonly ownsMemory?: true;
}

/** What OpenCV's functions take and give: a Mat, or a UMat. Its handle is the address of the header. */
export abstract class OpenCVTensor extends Tensor<Address> {
  /** The header: for those who write operations. */
  readonly slot: Slot;
  /** Sizes, steps and type, as OpenCV counts them. */
  readonly shape: MatShape;
  /** Is the header an owner of memory that OpenCV has made? What reallocates it may free that: for those who write operations. */
  readonly ownsMemory: boolean;

  /** Takes the resource over. */
  constructor(init: OpenCVTensorInit) {
    const { target, resource, layout, parent, slot } = init;
    super({ target, resource, layout, parent, handle: slot.header });
    this.slot = init.slot;
    this.shape = init.shape;
    this.ownsMemory = init.ownsMemory ?? false;
  }

  /** Has OpenCV given its header other memory? Then the end of it says where that is. */
  protected abstract get reallocated(): boolean;

  /**
   * Is what it says of itself still true? For those who write operations.
   *
   * @throws {AccessError} where OpenCV has given it other memory.
   */
  assertInPlace(): void {
    if (!this.reallocated) return;
    throw new AccessError(`${this.name} is not over its bytes any more: OpenCV was to put a result elsewhere.`, {
      api: "opencv",
      hint: "Dispose it: where there is a result, the ReallocatedError has it.",
    });
  }

  /** The context whose memory it is. */
  get context(): OpenCVContext {
    return this.target.context as OpenCVContext;
  }

  /** How many rows (`Mat::rows`); -1 where it has more than two dimensions: `shape.sizes` has all of them. */
  get rows(): number {
    return this.#extent(0);
  }

  /** How many columns (`Mat::cols`); -1 where it has more than two dimensions. */
  get cols(): number {
    return this.#extent(1);
  }

  /** How many channels an element has (`Mat::channels()`). */
  get channels(): number {
    return channelsIn(this.shape.type);
  }

  #extent(dimension: number): number {
    const { sizes } = this.shape;
    return sizes.length > 2 ? -1 : sizes[dimension];
  }

  /** What OpenCV calls the type of its elements: `"CV_8UC3"`. */
  get type(): string {
    return typeName(this.shape.type);
  }
}

/**
 * OpenCV gave an output memory of its own, because its size or type did not fit: what was written is there, and not in the
 * bytes that were mapped. `result` is a tensor over it; it is yours to dispose.
 */
export class ReallocatedError extends InteropError {
  /** Where the result is; undefined where the context had been disposed too, and OpenCV's memory with it. */
  readonly result: OpenCVTensor | undefined;

  /** `name` is what had been mapped. */
  constructor(name: string, result: OpenCVTensor | undefined) {
    const where = result === undefined ? "OpenCV's own, and is gone with its context" : `${result.name} (error.result)`;
    super(`OpenCV gave ${name} other memory: what it wrote is in ${where}, and not in the bytes that were mapped.`, {
      api: "opencv",
      hint: "Map an output that has the size and type of the result.",
    });
    this.result = result;
  }
}
