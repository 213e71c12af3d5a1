import type { Address } from "../../ffi/address.ts";
import { Tensor, type TensorInit } from "../core/tensor.ts";
import type { OpenCVContext } from "./context.ts";
import type { MatShape } from "./shape.ts";
import type { Slot } from "./slots.ts";
import { typeName } from "./type.ts";

/** What a Mat's or UMat's tensor is made of. */
export interface OpenCVTensorInit extends Omit<TensorInit<Address>, "handle"> {
  /** The header. */
  readonly slot: Slot;
  /** What it says of its elements. */
  readonly shape: MatShape;
}

/** What OpenCV's functions take and give: a Mat, or a UMat. Its handle is the address of the header. */
export abstract class OpenCVTensor extends Tensor<Address> {
  /** The header: for those who write operations. */
  readonly slot: Slot;
  /** Sizes, steps and type, as OpenCV counts them. */
  readonly shape: MatShape;

  /** Takes the resource over. */
  constructor(init: OpenCVTensorInit) {
    super({ ...init, handle: init.slot.header });
    this.slot = init.slot;
    this.shape = init.shape;
  }

  /** The context whose memory it is. */
  get context(): OpenCVContext {
    return this.target.context as OpenCVContext;
  }

  /** What OpenCV calls the type of its elements: `"CV_8UC3"`. */
  get type(): string {
    return typeName(this.shape.type);
  }
}
