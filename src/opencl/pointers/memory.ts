import { LARGEST_TYPE } from "../../core/device/opencl_c.ts";
import { assertInOnePiece, checks } from "../check.ts";
import type { Address } from "../../../ffi/address.ts";
import type { Allocation, Block } from "../../core/memory/allocation.ts";
import type { PointerBlock } from "../../core/tensors/pointer.ts";
import { allOrNothing, undoAll } from "../../core/life/undo.ts";
import { check } from "../errors.ts";
import { opencl } from "../library.ts";
import type { ClContext } from "../../../ffi/opencl/handles.ts";
import type { BaseContext } from "../base_context.ts";

/** A block that keeps its `cl_context`: the host may hold it for longer than the context is open. */
export interface ContextBlock extends PointerBlock {
  /** The `cl_context` that it belongs to. */
  readonly owner: bigint;
}

export interface Allocating {
  readonly fn: string;
  readonly byteLength: number;
  /** The alignment of its address, a power of two; 0 is the driver's choice. */
  readonly align: number;
  allocate(owner: ClContext, place: Placement): Address;
  free(owner: ClContext, begin: Address): void;
}

/** @throws {LayoutError} if the device does not take it in one piece. @throws {NativeCallError} if memory is short. */
export function contextBlock<A extends Pick<Block, "kind" | "closed">>(
  context: BaseContext,
  { fn, byteLength, align, allocate, free }: Allocating,
  about: A,
): A & ContextBlock {
  const owner = context.rawHandle;
  const place = placement(context, fn, byteLength, align);
  return allOrNothing(`allocating ${about.kind} memory`, (undo) => {
    // The ledger counts the block, and this share of the context with it.
    undo.push(holdContext(owner));
    const begin = allocate(owner, place);
    undo.push(() => free(owner, begin));
    return {
      ...about,
      address: place.begin(begin),
      byteLength,
      owner,
      // An escaped view may be used for ever: then the memory must not be freed.
      free: (fate) => fate === "unused" ? undoAll(undo, `freeing ${about.kind} memory`) : undefined,
    };
  });
}

/** OpenCL fills from multiples of the pattern's size on. @throws {LayoutError} for another address. */
export function assertAligned(at: Address, { length }: Uint8Array): void {
  const beyond = Number(at % BigInt(length));
  if (beyond === 0) return;
  throw checks.unfit("to", `a row begins ${beyond} bytes after a multiple of the pattern's ${length}.`);
}

/** Keeps a `cl_context` until the result is called. */
export function holdContext(context: ClContext): () => void {
  check(opencl().clRetainContext(context), "clRetainContext");
  return () => check(opencl().clReleaseContext(context), "clReleaseContext");
}

export function blockIn<B extends ContextBlock>(
  { block }: Allocation,
  kind: string,
  { rawHandle }: BaseContext,
): B | undefined {
  return block.kind === kind && (block as B).owner === rawHandle ? block as B : undefined;
}

export interface Placement {
  readonly size: bigint;
  readonly align: number;
  begin(allocated: Address): Address;
}

/**
 * Plans a block aligned to `align`, a power of two, or 0 for the driver's choice. For an alignment beyond the driver's, it
 * allocates a longer block.
 * @throws {LayoutError} if that is more than the device takes in one piece.
 */
function placement(context: BaseContext, fn: string, byteLength: number, align: number): Placement {
  // OpenCL's allocating functions align to no more than the largest type.
  const slack = align > LARGEST_TYPE ? align : 0;
  assertInOnePiece(context, fn, byteLength, slack);
  return {
    size: BigInt(byteLength + slack),
    align: slack > 0 ? LARGEST_TYPE : align,
    begin: (allocated) => slack === 0 ? allocated : (allocated + (-allocated & BigInt(align - 1))) as Address,
  };
}
