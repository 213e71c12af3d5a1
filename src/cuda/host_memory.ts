import type { Address } from "../../ffi/address.ts";
import type { Access } from "../core/memory/access.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import type { Refusal } from "../core/errors.ts";
import type { Verdict } from "../core/graph/plan.ts";
import type { Undo } from "../core/life/undo.ts";
import { CudaAliasing } from "./alias.ts";
import type { CudaContext } from "./context.ts";
import { cudaBlockOf, type CudaMemoryKind } from "./memory/block.ts";
import { deviceAddressOf, refuseRegister, refuseRegistered, register } from "./memory/registered.ts";
import { refusalOf, warnWriteCombined } from "./memory/rules.ts";
import { refuseReach } from "./reach.ts";

/** Memory of the host as the kernels of a context reach it: whose it is decides how. For those who write mappers. */
export class CudaHostMemory {
  /** What was found out about each kind. */
  readonly aliasing: CudaAliasing;
  readonly #context: CudaContext;

  /** Made by the context. */
  constructor(context: CudaContext) {
    this.#context = context;
    this.aliasing = new CudaAliasing(context);
  }

  /** What kind of memory kernels will find there: CUDA's own, or the host's, registered where that is needed. */
  kindOf(allocation: Allocation): CudaMemoryKind {
    const block = cudaBlockOf(allocation);
    // What a route will find behind memory that the host cannot reach is a copy, in pinned memory.
    if (block !== undefined) return block.hostAddress === undefined ? "pinned" : block.memory;
    return this.#context.device.attributes.pageableMemoryAccess === 1 ? "pageable" : "registered";
  }

  /** Why kernels may not use an allocation so, as it is registered now. */
  refuse(allocation: Allocation, access: Access): Omit<Refusal, "edge"> | undefined {
    return refuseRegistered(this.#context, allocation, access);
  }

  /** Why kernels cannot reach an allocation where it lies, whatever is done about it: they can have a copy. */
  refuseInPlace(allocation: Allocation): Omit<Refusal, "edge"> | undefined {
    const { device } = this.#context;
    const kind = this.kindOf(allocation);
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
      reason: "it is pinned memory that was not mapped for kernels (cudaHostAllocMapped).",
      remedy: "Allocate it by cuda.pinned.allocate({ mapped: true, … }).",
    };
  }

  /** CUDA's own memory that was made for another device, and which this one does not reach. */
  #refuseElsewhere(allocation: Allocation): Omit<Refusal, "edge"> | undefined {
    const { device } = this.#context;
    const block = cudaBlockOf(allocation);
    if (block?.hostAddress === undefined || block.ordinal === device.ordinal) return undefined;
    return refuseReach(block.memory, allocation, device);
  }

  /** Runs the experiment for its kind, unless it was run before; what it cannot run stays unproven. */
  tryToProve(allocation: Allocation): void {
    this.aliasing.tryToProve(this.kindOf(allocation));
  }

  /** What is known of its kind: unproven is never alias. No native call. */
  judge(allocation: Allocation): Verdict {
    return this.aliasing.judge(this.kindOf(allocation));
  }

  /** Sees to it that kernels reach an allocation; what that took goes on the undo list. */
  open(allocation: Allocation, undo: Undo): void {
    if (this.kindOf(allocation) === "registered") register(this.#context, allocation, undo);
  }

  /** The host is about to read memory: says so, once a block, where that is slow because it is write-combined. */
  warnOfReading(allocation: Allocation): void {
    const block = cudaBlockOf(allocation);
    if (block !== undefined) warnWriteCombined(block);
  }

  /** What kernels call an address of the host's, once it is open to them. */
  addressOf(allocation: Allocation, host: Address): Address {
    if (this.kindOf(allocation) === "pageable") return host;
    return deviceAddressOf(this.#context, allocation, host);
  }
}
