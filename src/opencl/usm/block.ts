import type { Address } from "../../../ffi/address.ts";
import type { ClContext, ClDeviceId } from "../../../ffi/opencl/handles.ts";
import type { Usm } from "../../../ffi/opencl_usm/functions.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { throwAll } from "../../core/errors.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import type { OpenCLContext } from "../context.ts";
import { check, errcode, made } from "../errors.ts";
import { opencl } from "../library.ts";
import { type Placement, placement, type PointerBlock } from "../pointers/memory.ts";
import { usmOf } from "./library.ts";

/**
 * The place of a block: `"host"`, in host memory that the device reaches; `"device"`, in device memory that the host cannot
 * reach; `"shared"`, with its current user: the driver moves it.
 */
export type UsmKind = "host" | "device" | "shared";

/** A block of unified shared memory. */
export interface UsmBlock extends PointerBlock {
  /** Where it lies. */
  readonly usm: UsmKind;
  /** The `cl_context` that it belongs to. */
  readonly owner: bigint;
}

/** How each kind is allocated. */
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

/**
 * Allocates a block. It retains its `cl_context`, because the host may hold it for longer than the context is open.
 *
 * @param align a power of two, or 0 for the driver's choice
 * @throws {LayoutError} if it is more than the device takes in one piece.
 * @throws {NativeCallError} if there is too little memory.
 */
export function usmBlock(context: OpenCLContext, kind: UsmKind, byteLength: number, align: number): UsmBlock {
  const { fn, allocate } = ALLOCATORS[kind];
  const place = placement(context, fn, byteLength, align);
  const usm = usmOf(context.device);
  const owner = context.rawHandle;
  const undo: Undo = [];
  try {
    // The ledger counts the block, and this share of the context with it.
    check(opencl().clRetainContext(owner), "clRetainContext");
    undo.push(() => check(opencl().clReleaseContext(owner), "clReleaseContext"));
    const begin = made(allocate(usm, owner, context.device.handle, place), fn);
    undo.push(() => check(usm.clMemFreeINTEL(owner, begin), "clMemFreeINTEL"));
    return {
      kind: "opencl.usm",
      address: place.begin(begin),
      byteLength,
      usm: kind,
      owner,
      ...(kind === "device" ? { closed: closedTo(context) } : {}),
      // An escaped view may be used for ever: then the memory must not be freed.
      free: (fate) => fate === "unused" ? throwAll(unwind(undo), "freeing unified shared memory") : undefined,
    };
  } catch (error) {
    throwAll([error, ...unwind(undo)], "allocating unified shared memory");
    throw error;
  }
}

/** The block of an allocation; undefined for other memory, or another context's. */
export function usmBlockOf({ block }: Allocation, context: OpenCLContext): UsmBlock | undefined {
  return block.kind === "opencl.usm" && (block as UsmBlock).owner === context.rawHandle ? block as UsmBlock : undefined;
}

function closedTo(context: OpenCLContext) {
  return {
    reason: `it is memory of ${context.name}, which the CPU cannot reach.`,
    remedy: 'Copy it: graph.map(tensor, host, { copy: "allow" }).',
  };
}
