import type { Address } from "../../ffi/address.ts";
import type { Memory, Offer } from "../core/contract.ts";
import { SAME_ADDRESS } from "../core/graph/mapper.ts";
import { Port } from "../core/device/port.ts";
import type { MemoryClass, Proofs } from "../core/device/proofs.ts";
import { type Access, reads } from "../core/memory/access.ts";
import { type Allocation, closedToHost } from "../core/memory/allocation.ts";
import type { Reason } from "../core/errors.ts";
import type { Undo } from "../core/life/undo.ts";
import { cudaMemoryClass } from "./alias/classes.ts";
import type { SampleContext } from "./alias/samples.ts";
import type { CudaPrimaryContext } from "./base.ts";
import { cudaBlockOf, type CudaMemoryKind } from "./memory/block.ts";
import { dmaBufFd, dmaBufOffer } from "./dmabuf.ts";
import { deviceAddressOf, lockedByOthers, refuseRegister, refuseRegistered, register } from "./memory/registered.ts";
import { refusalOf, warnWriteCombined } from "./memory/rules.ts";
import { refuseReach } from "./reach.ts";
import type { CudaTensor } from "./tensor.ts";

/** How kernels reach host memory. */
export interface Reach {
  /** Its kind for kernels. */
  readonly kind: CudaMemoryKind;
  /** The address of its first byte for kernels, if other code has locked it. */
  readonly locked?: Address;
}

/** The access of a context's kernels to host memory, which depends on its owner. For mappers. */
export class CudaHostMemory {
  readonly #context: CudaPrimaryContext;

  /** Made by the context. */
  constructor(context: CudaPrimaryContext) {
    this.#context = context;
  }

  /**
   * How kernels reach it: as CUDA's own memory, as memory that other code has locked, or as host memory, registered if
   * necessary. It may query the driver up to four times, so a step calls it once and keeps the result.
   */
  reachOf(allocation: Allocation): Reach {
    const block = cudaBlockOf(allocation);
    // A route from memory that the host cannot reach leads through a pinned copy.
    if (block !== undefined) return { kind: block.hostAddress === undefined ? "pinned" : block.memory };
    const locked = lockedByOthers(this.#context, allocation);
    if (locked !== undefined) return { kind: "pinned", locked };
    return { kind: this.#context.device.attributes.pageableMemoryAccess === 1 ? "pageable" : "registered" };
  }

  /** Why the current registration forbids an access by kernels. */
  refuse(allocation: Allocation, access: Access): Reason | undefined {
    return refuseRegistered(this.#context, allocation, access);
  }

  /** Why kernels can never reach an allocation in place, only a copy. */
  refuseInPlace(allocation: Allocation, { kind }: Reach): Reason | undefined {
    const { device } = this.#context;
    const elsewhere = this.#refuseElsewhere(allocation);
    if (elsewhere !== undefined) return elsewhere;
    const unmapped = kind === "registered" || kind === "pinned"
      ? refusalOf("pinned", "kernel-read", device)
      : undefined;
    if (unmapped !== undefined) return unmapped;
    if (kind === "registered") return refuseRegister(this.#context, allocation);
    if (kind === "pageable" || device.attributes.unifiedAddressing === 1) return undefined;
    if (cudaBlockOf(allocation)!.flags.includes("cudaHostAllocMapped") || kind === "managed") return undefined;
    return {
      reason: "it is pinned memory without a mapping for kernels (cudaHostAllocMapped).",
      remedy: "Allocate it by cuda.pinned.allocate({ mapped: true, … }).",
    };
  }

  /** Why this device does not reach CUDA memory of another device. */
  #refuseElsewhere(allocation: Allocation): Reason | undefined {
    const { device } = this.#context;
    const block = cudaBlockOf(allocation);
    if (block?.hostAddress === undefined || block.ordinal === device.ordinal) return undefined;
    return refuseReach(block.memory, allocation, device);
  }

  /** The class of such memory, for `cuda.proofs`. */
  classOf({ kind }: Reach): MemoryClass<SampleContext> {
    return cudaMemoryClass(kind, this.#context.device);
  }

  /** Makes an allocation reachable for kernels until `undo` runs. */
  open(allocation: Allocation, { kind }: Reach, undo: Undo): void {
    if (kind === "registered") register(this.#context, allocation, undo);
  }

  /** Warns, once for each block, that the host reads write-combined memory, which is slow. */
  warnOfReading(allocation: Allocation): void {
    const block = cudaBlockOf(allocation);
    if (block !== undefined) warnWriteCombined(block);
  }

  /** The kernels' address for a host address that {@link open} made reachable. */
  addressOf(allocation: Allocation, { kind, locked }: Reach, host: Address): Address {
    if (kind === "pageable") return host;
    if (locked !== undefined) return locked + (host - allocation.block.address!) as Address;
    return deviceAddressOf(this.#context, allocation, host);
  }
}

/**
 * The ports of memory that the host reaches. To the host, its host address, without a native call: an alias if that was proven
 * on this device; else the driver moves the pages to their current user (managed memory). To libraries that work with CUDA,
 * the kernels' address.
 */
export function hostPorts<C extends SampleContext>(
  context: CudaPrimaryContext & { readonly proofs: Proofs<C>; readonly hostMemory: CudaHostMemory },
): Memory<CudaTensor> {
  const classOf = (allocation: Allocation) => context.hostMemory.classOf(context.hostMemory.reachOf(allocation));
  const byAddress: Offer = {
    kind: "host-pointer",
    refuse: ({ address, allocation: { block } }) => {
      if (address === undefined) return block.closed ?? closedToHost(context.name);
    },
    prepare: ({ allocation }) => context.proofs.tryToProve(classOf(allocation)),
    judge: ({ allocation }) => context.proofs.judge(classOf(allocation)),
  };
  return {
    denseCopy: "cuda.stream.copy(tensor, cuda.allocate({ shape, dtype }))",
    exports: [byAddress, dmaBufOffer(context), { kind: "cuda-pointer", device: context.id, verdict: SAME_ADDRESS }],
    imports: [],
    export(tensor, kind, byteLength, access) {
      if (kind === "cuda-pointer") return { port: new Port(kind, { value: tensor.address, byteLength }) };
      if (kind === "dma-buf") {
        return { port: new Port(kind, { fd: dmaBufFd(context, tensor, byteLength), byteLength }) };
      }
      const { hostHandle, layout, grant } = tensor;
      if (reads(access)) context.hostMemory.warnOfReading(grant.allocation);
      return { port: new Port(kind, { value: hostHandle! + BigInt(layout.byteOffset), byteLength }) };
    },
  };
}
