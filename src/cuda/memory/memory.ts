import type { Address } from "../../../ffi/address.ts";
import type { Memory } from "../../core/contract.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import { PrintedTarget, type Target } from "../../core/graph/context.ts";
import { Frame } from "../../core/tensors/frame.ts";
import type { AddressedPlane } from "../../core/tensors/tensor.ts";
import type { FrameInfo } from "../../core/layout/frame_info.ts";
import { describeLayout, type Layout } from "../../core/layout/layout.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";
import type { Metadata } from "../../core/tensors/metadata.ts";
import { own, type Owning } from "../../core/memory/own.ts";
import type { Resource } from "../../core/life/resource.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { CudaTensor } from "../tensor.ts";
import type { CudaBlock, CudaMemoryKind } from "./block.ts";

/** The place of a tensor's elements, for kernels and for the host. */
export interface CudaPlace extends AddressedPlane {
  /** The device address that the layout counts from. */
  readonly handle: Address;
  /** Its host address, if the host reaches it. */
  readonly hostHandle: Address | undefined;
  /** The kind of memory. */
  readonly memory: CudaMemoryKind;
}

/** One kind of memory of a context, as a target. */
export abstract class CudaMemory extends PrintedTarget<CudaPrimaryContext> implements Target<CudaTensor> {
  /** Its ports to the host. For mappers. */
  readonly ports: Memory<CudaTensor>;

  /** Made by the context. */
  constructor(context: CudaPrimaryContext) {
    super(context);
    this.ports = context.hostPorts;
  }

  /** True for tensors of this memory. */
  is(value: Mapped): value is CudaTensor {
    return value instanceof CudaTensor && value.target === this;
  }

  /** The tensor that owns a new block. For mappers. */
  own(block: CudaBlock, at: Layout): CudaTensor {
    return ownedTensor(this, block, at);
  }
}

/** The owners of a new block besides its context, and how it is freed in the order of a stream. */
export type BlockOwners = Pick<Owning, "owners" | "giveBack"> & {
  readonly access?: Owning["access"] | undefined;
  /** The offset of its handle in the block, in bytes; 0 by default. */
  readonly shift?: number;
};

export function ownedTensor(
  target: Target & { readonly context: CudaPrimaryContext },
  block: CudaBlock,
  at: Layout,
  about: BlockOwners = {},
): CudaTensor {
  return tensorOver(target, new Allocation(block), at, about);
}

export function tensorOver(
  target: Target & { readonly context: CudaPrimaryContext },
  allocation: Allocation,
  at: Layout,
  { owners = [], giveBack, access = "read-write", shift = 0 }: BlockOwners = {},
): CudaTensor {
  const { memory, deviceAddress, hostAddress } = allocation.block as CudaBlock;
  const handle = (deviceAddress + BigInt(shift)) as Address;
  const hostHandle = hostAddress === undefined ? undefined : (hostAddress + BigInt(shift)) as Address;
  const start = shift + at.byteOffset;
  const { byteLength } = at;
  const resource = own({
    name: `${target.kind} tensor ${describeLayout(at)}`,
    allocation,
    start,
    end: start + byteLength,
    owners: [target.context.resource, ...owners],
    giveBack,
    access,
  });
  return new CudaTensor({ target, memory, handle, hostHandle, layout: at, resource });
}

export function framed(
  target: Target,
  resource: Resource,
  info: FrameInfo,
  planes: readonly CudaPlace[],
  about: { readonly metadata?: Metadata; readonly parent?: Mapped },
): Frame<CudaTensor> {
  return Frame.within<CudaTensor, CudaPlace>(
    { target, resource, info, ...about },
    planes,
    (part, place, parent) => new CudaTensor({ target, resource: part, parent, ...place }),
  );
}
