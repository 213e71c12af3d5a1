import type { Address } from "../../../ffi/address.ts";
import type { ClContext, ClDeviceId, ClKernel } from "../../../ffi/opencl/handles.ts";
import type { Usm } from "../../../ffi/opencl_usm/functions.ts";
import { SYMBOLS } from "../../../ffi/opencl_usm/symbols.ts";
import type { MemoryClass } from "../../core/device/proofs.ts";
import { bytesAt } from "../../core/native/pin.ts";
import { blockClass } from "../alias/memory.ts";
import type { OpenCLDevice } from "../device.ts";
import { extensionFunctions } from "../extension.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import type { BaseContext } from "../base_context.ts";
import { check, errcode, made } from "../errors.ts";
import { type Allocating, blockIn, type ContextBlock, contextBlock, type Placement } from "../pointers/memory.ts";

export const USM = "cl_intel_unified_shared_memory";

/** Looked up once. @throws {InteropError} if the driver lacks one of the functions. */
export const usmOf: (device: OpenCLDevice) => Usm = extensionFunctions<Usm>("opencl_usm", USM, SYMBOLS);

/** `"host"`: the device reaches host memory. `"device"`: the host cannot reach it. `"shared"`: the driver moves it. */
export type UsmKind = "host" | "device" | "shared";

const UNIFIED = "opencl.usm";

/** A block of unified shared memory. */
export interface UsmBlock extends ContextBlock {
  /** Where it lies. */
  readonly usm: UsmKind;
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
  return contextBlock(context, allocating, {
    kind: UNIFIED,
    usm: kind,
    ...(kind === "device" ? { closed: closedTo(context) } : {}),
  });
}

export function usmBlockOf(allocation: Allocation, context: BaseContext): UsmBlock | undefined {
  return blockIn(allocation, UNIFIED, context);
}

function closedTo(context: BaseContext) {
  return {
    reason: `it is memory of ${context.name}, which the CPU cannot reach.`,
    remedy: 'Copy it: graph.map(tensor, host, { copy: "allow" }).',
  };
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
