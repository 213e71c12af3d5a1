import { CL_MEM_USE_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import type { Address } from "../../../ffi/address.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import { addressOf } from "../../core/native/pin.ts";
import type { Undo } from "../../core/life/undo.ts";
import { bound, bytesAt, hostBytes, MemoryKind, type Scratch } from "../alias/memory.ts";
import type { OpenCLContext } from "../context.ts";
import { svmBlock, type SvmGrain } from "./block.ts";
import { setSvmPointer } from "./tensor.ts";
import { createBuffer } from "../tensor.ts";

/** A block of shared virtual memory that the CPU reads; a coarse-grained one stays mapped while the device writes. */
interface SvmScratch extends Scratch {
  readonly address: Address;
}

/** A kind of shared virtual memory, for proofs by its pointer and by a buffer over it. */
interface SvmKinds {
  /** Kernels get the pointer. */
  readonly byPointer: MemoryKind;
  /** Kernels get a `cl_mem` over it (CL_MEM_USE_HOST_PTR). */
  readonly byBuffer: MemoryKind;
}

/** Memory of clSVMAlloc, by its grain. */
export const SVM_MEMORY: { readonly [G in SvmGrain]: SvmKinds } = {
  coarse: kinds("coarse-grained shared virtual memory", (...given) => svmScratch("coarse", ...given)),
  fine: kinds("fine-grained shared virtual memory", (...given) => svmScratch("fine", ...given)),
};

/** Any host memory, for a device that shares all of it. */
export const SYSTEM_MEMORY: MemoryKind = new MemoryKind(
  "memory of the host, shared by its address",
  (_, byteLength, undo) => {
    const bytes = hostBytes(64, byteLength, undo);
    const address = addressOf(bytes, "opencl");
    return { bytes, bind: (kernel, index) => setSvmPointer(kernel, index, address) };
  },
);

function kinds(
  name: string,
  scratch: (context: OpenCLContext, byteLength: number, undo: Undo) => SvmScratch,
): SvmKinds {
  return {
    byPointer: new MemoryKind(name, scratch),
    byBuffer: new MemoryKind(`a buffer over ${name}`, (context, byteLength, undo) => {
      const { bytes, address } = scratch(context, byteLength, undo);
      return { bytes, bind: bound(createBuffer(context, CL_MEM_USE_HOST_PTR, byteLength, address, undo)) };
    }),
  };
}

function svmScratch(grain: SvmGrain, context: OpenCLContext, byteLength: number, undo: Undo): SvmScratch {
  const block = svmBlock(context, { byteLength, grain, atomics: false, align: 0 });
  const { address } = block;
  const allocation = new Allocation(block);
  allocation.join();
  undo.push(() => allocation.leave());
  if (grain === "coarse") {
    const range = context.svm.maps.map(allocation, address, byteLength, "read-write");
    undo.push(() => range.end());
  }
  return {
    address,
    bytes: bytesAt(address, byteLength),
    bind: (kernel, index) => setSvmPointer(kernel, index, address),
  };
}
