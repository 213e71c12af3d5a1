import type { Address } from "../../ffi/address.ts";
import { AccessError, InteropError } from "../core/errors.ts";
import { Tensor, type TensorInit } from "../core/tensors/tensor.ts";
import type { OpenCVBase } from "./base.ts";
import type { MatShape } from "./shape.ts";
import type { Slot } from "./slots.ts";
import { channelsIn, typeName } from "./type.ts";

/** The parts of a Mat's or UMat's tensor. */
export interface OpenCVTensorInit extends Omit<TensorInit<Address>, "handle"> {
  /** The header. */
  readonly slot: Slot;
  /** Its description of the elements. */
  readonly shape: MatShape;
  /** Set if its header owns memory that OpenCV made. */
  readonly ownsMemory?: true;
}

/** A Mat or a UMat: what OpenCV's functions take and return. Its handle is the address of the header. */
export abstract class OpenCVTensor extends Tensor<Address> {
  /** The header, for operations. */
  readonly slot: Slot;
  /** OpenCV's sizes, steps and type. */
  readonly matShape: MatShape;
  /** True if the header owns memory that OpenCV made, which a reallocation may free. */
  readonly ownsMemory: boolean;

  /** Takes over the resource. */
  constructor(init: OpenCVTensorInit) {
    const { target, resource, layout, parent, slot } = init;
    super({ target, resource, layout, parent, handle: slot.header });
    this.slot = init.slot;
    this.matShape = init.shape;
    this.ownsMemory = init.ownsMemory ?? false;
  }

  /** True if OpenCV has reallocated it. Its end then throws an error that has the result. */
  protected abstract get reallocated(): boolean;

  /**
   * Throws unless its header still describes its bytes. For operations.
   *
   * @throws {AccessError} if OpenCV has reallocated it.
   */
  assertInPlace(): void {
    if (!this.reallocated) return;
    throw new AccessError(`${this.name} is no longer over its bytes: OpenCV has reallocated it for a result.`, {
      api: "opencv",
      hint: "Dispose it: where there is a result, the ReallocatedError has it.",
    });
  }

  /** The context whose memory it is. */
  get context(): OpenCVBase {
    return this.target.context as OpenCVBase;
  }

  /** The number of rows (`Mat::rows`); -1 for more than two dimensions, which are in `shape`. */
  get rows(): number {
    return this.#extent(0);
  }

  /** The number of columns (`Mat::cols`); -1 for more than two dimensions. */
  get cols(): number {
    return this.#extent(1);
  }

  /** The number of channels of an element (`Mat::channels()`). */
  get channels(): number {
    return channelsIn(this.matShape.type);
  }

  #extent(dimension: number): number {
    const { sizes } = this.matShape;
    return sizes.length > 2 ? -1 : sizes[dimension];
  }

  /** OpenCV's name for the type of its elements: `"CV_8UC3"`. */
  get type(): string {
    return typeName(this.matShape.type);
  }
}

/** OpenCV reallocated an output that did not fit. `result` is a tensor over its memory; you dispose it. */
export class ReallocatedError extends InteropError {
  /** A tensor over the result; undefined if the context was disposed too, and OpenCV's memory with it. */
  declare readonly result: OpenCVTensor | undefined;

  /** Made at the end of a map. @param name the name of the mapped tensor */
  constructor(name: string, result: OpenCVTensor | undefined) {
    const where = result === undefined ? "OpenCV's own, and is gone with its context" : `${result.name} (error.result)`;
    super(`OpenCV reallocated ${name}: the result is in ${where}, and not in the bytes that were mapped.`, {
      api: "opencv",
      hint: "Map an output that has the size and type of the result.",
    });
    if (result !== undefined) this.result = result;
  }
}
