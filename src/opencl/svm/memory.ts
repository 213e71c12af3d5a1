import { CL_MEM_USE_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import type { Address } from "../../../ffi/address.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import type { MemoryClass } from "../../core/device/proofs.ts";
import { addressOf, bytesAt } from "../../core/native/pin.ts";
import type { Undo } from "../../core/life/undo.ts";
import { bound } from "../alias/kernels.ts";
import { type Block, blockClass, hostBytes } from "../alias/memory.ts";
import type { BaseContext } from "../base_context.ts";
import { setSvmPointer, svmBlock, type SvmGrain } from "./block.ts";
import { createBuffer } from "../buffers/native.ts";

/** A block of shared virtual memory that the CPU reads; a coarse-grained one stays mapped while the device writes. */
interface SvmSample extends Block {
  readonly address: Address;
}

/** The classes of a kind of shared virtual memory: used by its pointer, and by a buffer over it. */
interface SvmClasses {
  /** Kernels get the pointer. */
  readonly byPointer: MemoryClass<BaseContext>;
  /** Kernels get a `cl_mem` over it (CL_MEM_USE_HOST_PTR). */
  readonly byBuffer: MemoryClass<BaseContext>;
}

export const SVM_MEMORY: { readonly [G in SvmGrain]: SvmClasses } = {
  coarse: classes("coarse-grained shared virtual memory", (...given) => svmBlockFor("coarse", ...given)),
  fine: classes("fine-grained shared virtual memory", (...given) => svmBlockFor("fine", ...given)),
};

/** Any host memory, for a device that shares all of it. */
export const SYSTEM_MEMORY: MemoryClass<BaseContext> = blockClass(
  "memory of the host, shared by its address",
  (_, byteLength, undo) => {
    const bytes = hostBytes(64, byteLength, undo);
    const address = addressOf(bytes, "opencl");
    return { bytes, bind: (kernel, index) => setSvmPointer(kernel, index, address) };
  },
);

function classes(
  name: string,
  make: (context: BaseContext, byteLength: number, undo: Undo) => SvmSample,
): SvmClasses {
  return {
    byPointer: blockClass(name, make),
    byBuffer: blockClass(`a buffer over ${name}`, (context, byteLength, undo) => {
      const { bytes, address } = make(context, byteLength, undo);
      return { bytes, bind: bound(createBuffer(context, CL_MEM_USE_HOST_PTR, byteLength, address, undo)) };
    }),
  };
}

function svmBlockFor(grain: SvmGrain, context: BaseContext, byteLength: number, undo: Undo): SvmSample {
  const block = svmBlock(context, { byteLength, grain, atomics: false, align: 0 });
  const { address } = block;
  const allocation = new Allocation(block).joinUntil(undo);
  if (grain === "coarse") {
    const range = context.svm.maps.map(allocation, address, byteLength, "read-write");
    undo.push(() => range.end());
  }
  return {
    address,
    bytes: bytesAt(address, byteLength, "opencl", undo),
    bind: (kernel, index) => setSvmPointer(kernel, index, address),
  };
}
