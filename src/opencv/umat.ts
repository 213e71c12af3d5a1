import type { Address } from "../../ffi/address.ts";
import { Described } from "../core/tensors/described.ts";
import { type Layout, type LayoutInit, moved } from "../core/layout/layout.ts";
import { Resource } from "../core/life/resource.ts";
import type { Part, SliceOptions } from "../core/tensors/tensor.ts";
import type { Undo } from "../core/life/undo.ts";
import type { Execution } from "./execution.ts";
import { umatDataIn } from "./header.ts";
import { OpenCVTensor, type OpenCVTensorInit } from "./tensor.ts";
import { sharedUMat } from "./umats/over.ts";
import type { UMatTarget } from "./umats/target.ts";

/** The place of a UMat. */
export interface UMatPlace {
  /** Its buffer. */
  readonly buffer: UMatBuffer;
  /** The host address of its first element, if it is known. */
  readonly address?: bigint | undefined;
}

/** The parts of a UMat's tensor. */
export interface OpenCVUMatInit extends OpenCVTensorInit, UMatPlace {
  /** Its UMatData: OpenCV's own record of the buffer. */
  readonly u: Address;
}

/** The memory of a UMat, and OpenCV's state for its context. */
export interface UMatBuffer {
  /** The `cl_mem`. */
  readonly mem: bigint;
  /** The offset of the UMat in it, in bytes (`UMat::offset`). */
  readonly offset: number;
  /** The `cl_context` that it belongs to. */
  readonly clContext: bigint;
  /** OpenCV's state for that context; undefined if it is the one that OpenCV itself uses in this thread. */
  readonly execution: Execution | undefined;
}

/** A `cv::UMat` over an OpenCL buffer. Its handle is the `cv::UMat*`. */
export class OpenCVUMat extends OpenCVTensor {
  /** Its memory, for mappers. */
  readonly buffer: UMatBuffer;
  readonly #address: bigint | undefined;
  readonly #u: Address;

  /** Takes over the resource. */
  constructor(init: OpenCVUMatInit) {
    super(init);
    this.buffer = init.buffer;
    this.#address = init.address;
    this.#u = init.u;
  }

  /** Lends a part as a child: a UMat over the same buffer. @see {@link Tensor.slice} */
  override slice(init: Layout | LayoutInit, options: SliceOptions = {}): OpenCVUMat {
    return super.slice(init, options) as OpenCVUMat;
  }

  /** True if the header points to another buffer. */
  protected override get reallocated(): boolean {
    return umatDataIn(this.slot) !== this.#u;
  }

  /** The host address of its first element, if it is known. */
  protected override get hostAddress(): bigint | undefined {
    return this.#address;
  }

  /** For routes, including the `cl_context` that it belongs to. */
  protected override describe(): Described {
    const { target, access, planes } = super.describe();
    return new Described(target, access, planes, undefined, this.buffer.clContext);
  }

  /** Makes the UMat of a part that was lent. */
  protected override derive({ layout: at, grant, name }: Part): OpenCVUMat {
    this.assertInPlace(); // a part copies the header, which must still describe the buffer
    const target = this.target as UMatTarget;
    const buffer = { ...this.buffer, offset: this.buffer.offset + at.byteOffset };
    const address = this.#address === undefined ? undefined : this.#address + BigInt(at.byteOffset);
    const layout = moved(at, 0);
    const undo: Undo = [];
    const over = sharedUMat(target, this.slot, { at: layout, buffer, name }, undo);
    const resource = new Resource({ name, grants: [grant], owners: [this.resource], undo });
    return new OpenCVUMat({ target, resource, layout, buffer, address, parent: this, ...over });
  }
}
