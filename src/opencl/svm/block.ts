import { type Address, NULL } from "../../../ffi/address.ts";
import { CL_MEM_READ_WRITE, CL_MEM_SVM_ATOMICS, CL_MEM_SVM_FINE_GRAIN_BUFFER } from "../../../ffi/opencl/constants.ts";
import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { NativeCallError, type Reason } from "../../core/errors.ts";
import type { BaseContext } from "../base_context.ts";
import { newer } from "../library.ts";
import { check } from "../errors.ts";
import { type Allocating, blockIn, type ContextBlock, contextBlock } from "../pointers/memory.ts";

/** How host and device share a block: `"coarse"`, by ranges that are mapped; `"fine"`, by bytes, in place. */
export type SvmGrain = "coarse" | "fine";

const SVM = "opencl.svm";

/** A block of shared virtual memory. */
export interface SvmBlock extends ContextBlock {
  /** The grain of sharing. */
  readonly grain: SvmGrain;
}

export interface SvmBlockInit {
  readonly byteLength: number;
  readonly grain: SvmGrain;
  readonly atomics: boolean;
  /** The alignment of the address, a power of two; 0 is the driver's choice. */
  readonly align: number;
}

/**
 * @throws {LayoutError} if the device takes less in one piece. @throws {NativeCallError} if the driver returns NULL.
 */
export function svmBlock(context: BaseContext, init: SvmBlockInit): SvmBlock {
  const { byteLength, grain, atomics, align } = init;
  const flags = CL_MEM_READ_WRITE | (grain === "fine" ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0n) |
    (atomics ? CL_MEM_SVM_ATOMICS : 0n);
  const allocating: Allocating = {
    fn: "clSVMAlloc",
    byteLength,
    align,
    allocate(owner, place) {
      const begin = newer("clSVMAlloc")(owner, flags, place.size, place.align);
      if (begin === NULL) throw noMemory(context, init);
      return begin;
    },
    free: (owner, begin) => newer("clSVMFree")(owner, begin),
  };
  return contextBlock(context, allocating, {
    kind: SVM,
    grain,
    ...(grain === "fine" ? {} : { closed: closedTo(context) }),
  });
}

export function svmBlockOf(allocation: Allocation, context: BaseContext): SvmBlock | undefined {
  return blockIn(allocation, SVM, context);
}

function closedTo(context: BaseContext) {
  return {
    reason:
      `it is coarse-grained shared virtual memory of ${context.name}, which the CPU sees only while it is mapped.`,
    remedy: "Map its tensor to the host: graph.map(tensor, host).",
  };
}

/** Why coarse-grained memory that is mapped for the host is closed: only the host may use it meanwhile. */
export function mappedCoarse({ name }: Pick<BaseContext, "name">): Reason {
  return {
    reason: `it is coarse-grained memory that is mapped for the host: no kernel of ${name} may use it meanwhile.`,
    remedy: "Dispose that map, and use or map the tensor that it was made of.",
  };
}

function noMemory({ name }: BaseContext, { byteLength, grain, atomics }: SvmBlockInit): NativeCallError {
  const what = `${byteLength} bytes of ${grain}-grained memory${atomics ? " with atomics" : ""}`;
  return new NativeCallError(`clSVMAlloc returned NULL: ${name} did not allocate ${what}.`, {
    api: "opencl",
    fn: "clSVMAlloc",
    hint: "It does not say why; the device may have not that much memory left.",
  });
}

/** @throws {NativeCallError} if the driver refuses. */
export function setSvmPointer(kernel: ClKernel, index: number, address: Address): void {
  check(newer("clSetKernelArgSVMPointer")(kernel, index, address), "clSetKernelArgSVMPointer");
}
