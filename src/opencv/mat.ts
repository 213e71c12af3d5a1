import type { Address } from "../../ffi/address.ts";
import { Resource } from "../core/life/resource.ts";
import type { Part, SliceOptions } from "../core/tensors/tensor.ts";
import { type Layout, type LayoutInit, moved } from "../core/layout/layout.ts";
import type { Undo } from "../core/life/undo.ts";
import { dataIn } from "./header.ts";
import { matOver } from "./mats/over.ts";
import type { MatTarget } from "./mats/target.ts";
import { OpenCVTensor, type OpenCVTensorInit } from "./tensor.ts";

/** The parts of a Mat's tensor. */
export interface OpenCVMatInit extends OpenCVTensorInit {
  /** The address of its first element. */
  readonly address: Address;
}

/** A `cv::Mat` over the CPU's memory. Its handle is the `cv::Mat*`. */
export class OpenCVMat extends OpenCVTensor {
  /** The address of its first element (`Mat::data`). */
  readonly address: Address;

  /** Takes over the resource. */
  constructor(init: OpenCVMatInit) {
    super(init);
    this.address = init.address;
  }

  /**
   * The address of the first element in its header now (`Mat::data`): its {@link address}, unless OpenCV has reallocated it.
   *
   * @throws {DisposedError} if it was disposed.
   */
  get data(): bigint {
    this.resource.assertLive();
    return dataIn(this.slot);
  }

  /** Lends a part as a child: a Mat over the same bytes. @see {@link Tensor.slice} */
  override slice(init: Layout | LayoutInit, options: SliceOptions = {}): OpenCVMat {
    return super.slice(init, options) as OpenCVMat;
  }

  /** True if the header points to other memory. */
  protected override get reallocated(): boolean {
    return dataIn(this.slot) !== this.address;
  }

  /** The host address of its first element. */
  protected override get hostAddress(): bigint {
    return this.address;
  }

  /** Makes the Mat of a part that was lent. */
  protected override derive({ layout: at, grant, name }: Part): OpenCVMat {
    const target = this.target as MatTarget;
    const address = this.address + BigInt(at.byteOffset) as Address;
    const undo: Undo = [];
    const layout = moved(at, 0);
    const { slot, shape } = matOver(target, layout, address, name, undo);
    const resource = new Resource({ name, grants: [grant], owners: [this.resource], undo });
    return new OpenCVMat({ target, resource, layout, slot, shape, address, parent: this });
  }
}
