import type { Address } from "../../../ffi/address.ts";
import type { Memory } from "../../core/device/memory.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import type { Target } from "../../core/graph/context.ts";
import { Frame, type PlacedPlane } from "../../core/tensors/frame.ts";
import type { FrameInfo } from "../../core/layout/frame_info.ts";
import { Grant } from "../../core/memory/grant.ts";
import { describeLayout, type Layout } from "../../core/layout/layout.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";
import type { Metadata } from "../../core/tensors/metadata.ts";
import { join, leave } from "../../core/memory/peers.ts";
import { type GiveBack, Resource } from "../../core/life/resource.ts";
import type { CudaContext } from "../context.ts";
import { CudaTensor } from "../tensor.ts";
import { hostPorts } from "./host_ports.ts";
import type { CudaBlock, CudaMemoryKind } from "./block.ts";

/** The place of a tensor's elements, for kernels and for the host. */
export interface CudaPlace extends PlacedPlane {
  /** The device address that the layout counts from. */
  readonly handle: Address;
  /** Its host address, if the host reaches it. */
  readonly hostHandle: Address | undefined;
  /** The kind of memory. */
  readonly memory: CudaMemoryKind;
}

/** One kind of memory of a context, as a target. */
export abstract class CudaMemory implements Target<CudaTensor> {
  /** The kind of memory. */
  abstract readonly kind: string;
  /** Its context. */
  readonly context: CudaContext;
  /** Its ports to and from the host. */
  readonly ports: Memory<CudaTensor>;

  /** Made by the context. */
  constructor(context: CudaContext) {
    this.context = context;
    this.ports = hostPorts(context);
  }

  /** True for tensors of this memory. */
  is(value: Mapped): value is CudaTensor {
    return value instanceof CudaTensor && value.target === this;
  }

  /** The tensor that owns a new block. For those who write mappers. */
  own(block: CudaBlock, at: Layout): CudaTensor {
    return ownedTensor(this, block, at);
  }
}

/** The owners of a new block besides its context. */
export interface BlockOwners {
  /** The resources that outlive it. */
  readonly owners?: readonly Resource[];
  /** How it is freed in the order of a stream: `leave` frees the block. */
  readonly giveBack?: (leave: () => void) => GiveBack;
}

/** The tensor that owns a new block. */
export function ownedTensor(
  target: Target & { readonly context: CudaContext },
  block: CudaBlock,
  at: Layout,
  about: BlockOwners = {},
): CudaTensor {
  return tensorOver(target, new Allocation(block), at, about);
}

/** A tensor that owns the block of a CUDA allocation, together with its peers. */
export function tensorOver(
  target: Target & { readonly context: CudaContext },
  allocation: Allocation,
  at: Layout,
  { owners = [], giveBack }: BlockOwners = {},
): CudaTensor {
  const { memory, deviceAddress: handle, hostAddress: hostHandle } = allocation.block as CudaBlock;
  join(allocation);
  const name = `${target.kind} tensor ${describeLayout(at)}`;
  const grant = Grant.root(allocation, at.byteOffset, at.byteOffset + at.byteLength, "read-write", name);
  let left = false;
  const leaveOnce = () => {
    if (left) return;
    left = true;
    leave(allocation);
  };
  const resource = new Resource({
    name,
    grants: [grant],
    owners: [target.context.resource, ...owners],
    undo: [leaveOnce],
    giveBack: giveBack?.(leaveOnce),
  });
  return new CudaTensor({ target, memory, handle, hostHandle, layout: at, resource });
}

/** A frame of planes; one resource holds their bytes. */
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
