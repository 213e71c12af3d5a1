import { LARGEST_TYPE } from "../arguments/types.ts";
import { assertInOnePiece } from "../check.ts";
import type { Address } from "../../../ffi/address.ts";
import { Allocation, type Block } from "../../core/memory/allocation.ts";
import type { Target } from "../../core/graph/context.ts";
import { Frame, type PlacedPlane } from "../../core/tensors/frame.ts";
import type { FrameInfo } from "../../core/layout/frame_info.ts";
import { own } from "../../core/memory/own.ts";
import { describeLayout, type Layout } from "../../core/layout/layout.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";
import type { Metadata } from "../../core/tensors/metadata.ts";
import type { Resource } from "../../core/life/resource.ts";
import type { TensorInit } from "../../core/tensors/tensor.ts";
import type { OpenCLContext } from "../context.ts";
import type { OpenCLPointerTensor } from "./tensor.ts";

/** A block that has an address. */
export interface PointerBlock extends Block {
  /** The address of its first byte. */
  readonly address: Address;
}

/** A kind of memory in one context that kernels reach by address. */
export abstract class OpenCLPointerMemory<T extends OpenCLPointerTensor> implements Target<T> {
  /** The kind of memory. */
  abstract readonly kind: string;
  /** Its context. */
  readonly context: OpenCLContext;

  /** Made by the context. */
  constructor(context: OpenCLContext) {
    this.context = context;
  }

  /** True for tensors of this memory. */
  abstract is(value: Mapped): value is T;

  /** A tensor of this memory. */
  protected abstract make(init: TensorInit<Address>): T;

  /** The tensor that owns a new block. */
  protected own(block: PointerBlock, at: Layout): T {
    const allocation = new Allocation(block);
    const [start, end] = [at.byteOffset, at.byteOffset + at.byteLength];
    const name = `${this.kind} tensor ${describeLayout(at)}`;
    const resource = own({ name, allocation, start, end, owners: [this.context.resource] });
    return this.make({ target: this, handle: block.address, layout: at, resource });
  }

  /** A tensor over memory of another owner. For those who write mappers. */
  tensor(resource: Resource, handle: Address, at: Layout, parent: Mapped): T {
    return this.make({ target: this, handle, layout: at, resource, parent });
  }

  /** A frame of planes; one resource holds their bytes. For those who write mappers. */
  frame(
    resource: Resource,
    info: FrameInfo,
    planes: readonly PlacedPlane[],
    about: { readonly metadata?: Metadata; readonly parent?: Mapped },
  ): Frame<T> {
    const init = { target: this, resource, info, ...about };
    return Frame.within<T>(init, planes, (part, { handle, layout: at }, frame) => this.tensor(part, handle, at, frame));
  }
}

/** The plan for a block of a function that may align to less than the block needs. */
export interface Placement {
  /** The bytes to allocate. */
  readonly size: bigint;
  /** The alignment to allocate with. */
  readonly align: number;
  /** The address of the block in the allocated bytes. */
  begin(allocated: Address): Address;
}

/**
 * Plans a block aligned to `align`, a power of two, or 0 for the driver's choice. For an alignment beyond the driver's, it
 * allocates a longer block.
 *
 * @throws {LayoutError} if that is more than the device takes in one piece.
 */
export function placement(context: OpenCLContext, fn: string, byteLength: number, align: number): Placement {
  // OpenCL's allocating functions align to no more than the largest type.
  const slack = align > LARGEST_TYPE ? align : 0;
  assertInOnePiece(context, fn, byteLength, slack);
  return {
    size: BigInt(byteLength + slack),
    align: slack > 0 ? LARGEST_TYPE : align,
    begin: (allocated) => slack === 0 ? allocated : (allocated + (-allocated & BigInt(align - 1))) as Address,
  };
}
