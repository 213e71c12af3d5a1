import type { Address } from "../../../ffi/address.ts";
import {
  CL_MEM_ALLOC_BASE_PTR_INTEL,
  CL_MEM_ALLOC_SIZE_INTEL,
  CL_MEM_ALLOC_TYPE_INTEL,
  CL_MEM_TYPE_DEVICE_INTEL,
  CL_MEM_TYPE_HOST_INTEL,
  CL_MEM_TYPE_SHARED_INTEL,
} from "../../../ffi/opencl_usm/constants.ts";
import type { ClContext, ClDeviceId, ClKernel } from "../../../ffi/opencl/handles.ts";
import type { Usm } from "../../../ffi/opencl_usm/functions.ts";
import { SYMBOLS } from "../../../ffi/opencl_usm/symbols.ts";
import type { MemoryClass } from "../../core/device/proofs.ts";
import { bytesAt } from "../../core/native/pin.ts";
import { blockClass } from "../alias/memory.ts";
import type { OpenCLDevice } from "../device.ts";
import { extensionFunctions } from "../extension.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import { closedTo, type PointerFacts, type UnifiedBlock, type UsmKind } from "../../core/tensors/unified.ts";
import type { BaseContext } from "../base_context.ts";
import { check, errcode, made } from "../errors.ts";
import { infoU32, infoU64, type Query } from "../info.ts";
import { type Allocating, contextBlock, type Placement } from "../pointers/memory.ts";

export const USM = "cl_intel_unified_shared_memory";

/** Looked up once. @throws {InteropError} if the driver lacks one of the functions. */
export const usmOf: (device: OpenCLDevice) => Usm = extensionFunctions<Usm>("opencl_usm", USM, SYMBOLS);

const UNIFIED = "opencl.usm";

/** A block of unified shared memory. */
export interface UsmBlock extends UnifiedBlock {
  /** The `cl_context` that it belongs to. */
  readonly owner: bigint;
}

interface Allocator {
  readonly fn: string;
  allocate(usm: Usm, context: ClContext, device: ClDeviceId, place: Placement): Address;
}

const ALLOCATORS: { readonly [K in UsmKind]: Allocator } = {
  host: {
    fn: "clHostMemAllocINTEL",
    allocate: (usm, context, _, { size, align }) => usm.clHostMemAllocINTEL(context, null, size, align, errcode),
  },
  device: {
    fn: "clDeviceMemAllocINTEL",
    allocate: (usm, context, device, { size, align }) =>
      usm.clDeviceMemAllocINTEL(context, device, null, size, align, errcode),
  },
  shared: {
    fn: "clSharedMemAllocINTEL",
    allocate: (usm, context, device, { size, align }) =>
      usm.clSharedMemAllocINTEL(context, device, null, size, align, errcode),
  },
};

/** @throws {LayoutError} if the device does not take it in one piece. @throws {NativeCallError} if memory is short. */
export function usmBlock(context: BaseContext, kind: UsmKind, byteLength: number, align: number): UsmBlock {
  const { fn, allocate } = ALLOCATORS[kind];
  const usm = usmOf(context.device);
  const allocating: Allocating = {
    fn,
    byteLength,
    align,
    allocate: (owner, place) => made(allocate(usm, owner, context.device.handle, place), fn),
    free: (owner, begin) => check(usm.clMemFreeINTEL(owner, begin), "clMemFreeINTEL"),
  };
  return contextBlock(context, allocating, { kind: UNIFIED, usm: kind, ...closedTo(kind, context) });
}

const KINDS: ReadonlyMap<number, UsmKind> = new Map([
  [CL_MEM_TYPE_HOST_INTEL, "host"],
  [CL_MEM_TYPE_DEVICE_INTEL, "device"],
  [CL_MEM_TYPE_SHARED_INTEL, "shared"],
]);

/** What the driver reports of an address; undefined if it is not unified memory of the context. */
export function pointerFacts({ device, rawHandle }: BaseContext, pointer: Address): PointerFacts | undefined {
  const fn = "clGetMemAllocInfoINTEL";
  const query: Query = (...args) => usmOf(device)[fn](rawHandle, pointer, ...args);
  const usm = KINDS.get(infoU32(fn, query, CL_MEM_ALLOC_TYPE_INTEL));
  if (usm === undefined) return undefined;
  const base = infoU64(fn, query, CL_MEM_ALLOC_BASE_PTR_INTEL) as Address;
  return { base, byteLength: Number(infoU64(fn, query, CL_MEM_ALLOC_SIZE_INTEL)), usm };
}

/** @throws {NativeCallError} if the driver refuses. */
export function setUsmPointer({ device }: BaseContext, kernel: ClKernel, index: number, address: Address): void {
  check(usmOf(device).clSetKernelArgMemPointerINTEL(kernel, index, address), "clSetKernelArgMemPointerINTEL");
}

export const USM_MEMORY: { readonly [K in Exclude<UsmKind, "device">]: MemoryClass<BaseContext> } = {
  host: classOf("host"),
  shared: classOf("shared"),
};

function classOf(usm: Exclude<UsmKind, "device">): MemoryClass<BaseContext> {
  return blockClass(`${usm} memory, unified`, (context, byteLength, undo) => {
    const block = usmBlock(context, usm, byteLength, 0);
    new Allocation(block).joinUntil(undo);
    const { address } = block;
    return {
      bytes: bytesAt(address, byteLength, "opencl", undo),
      bind: (kernel, index) => setUsmPointer(context, kernel, index, address),
    };
  });
}
