import { CU_MEM_LOCATION_TYPE_DEVICE } from "../../../../ffi/cuda_driver/constants.ts";
import { type Allocation, closedToHost } from "../../../core/memory/allocation.ts";
import type { ErrorFields } from "../../../core/errors.ts";
import { allOrNothing, type Undo, undoAll } from "../../../core/life/undo.ts";
import type { CudaPrimaryContext } from "../../base.ts";
import type { CudaBlock } from "../block.ts";
import { mapPhysical } from "./mapping.ts";
import type { PhysicalMemory } from "./physical.ts";

/** A block of virtual memory. */
export interface VirtualBlock extends CudaBlock {
  /** The ordinals of its devices. */
  readonly ordinals: readonly number[];
  /** Makes a new fd of the whole block, which the caller owns; undefined if it was made without an fd. */
  readonly duplicateFd: (() => number) | undefined;
}

export function virtualBlockOf({ block }: Allocation): VirtualBlock | undefined {
  return block.kind === "cuda.virtual" ? block as VirtualBlock : undefined;
}

/**
 * A block of the memory that `make` returns, mapped for a context and for others. It retains their devices' primary contexts
 * until it is freed.
 * @param about the fields of the error if the driver does not map it
 */
export function virtualBlock(
  context: CudaPrimaryContext,
  others: readonly CudaPrimaryContext[],
  make: (undo: Undo) => PhysicalMemory,
  about?: ErrorFields,
): VirtualBlock {
  const contexts = [...new Map([context, ...others].map((each) => [each.device.ordinal, each])).values()];
  const ordinals = contexts.map(({ device }) => device.ordinal);
  return allOrNothing("allocating virtual memory", (undo) => {
    for (const each of contexts) undo.push(each.keepPrimary());
    const memory = make(undo);
    const deviceAddress = mapPhysical(context, memory, ordinals, undo, about);
    const { location, byteLength, duplicateFd } = memory;
    const inDevice = location.type === CU_MEM_LOCATION_TYPE_DEVICE;
    return {
      kind: "cuda.virtual",
      memory: "virtual",
      address: deviceAddress,
      deviceAddress,
      hostAddress: inDevice ? undefined : deviceAddress,
      byteLength,
      ordinal: inDevice ? location.id : context.device.ordinal,
      ordinals,
      flags: [inDevice ? "CU_MEM_LOCATION_TYPE_DEVICE" : "CU_MEM_LOCATION_TYPE_HOST_NUMA"],
      duplicateFd,
      ...(inDevice ? { closed: CLOSED } : {}),
      // An escaped view may be used for ever, so the memory is not freed then.
      free: (fate) => fate === "unused" ? undoAll(undo, "freeing virtual memory") : undefined,
    };
  });
}

const CLOSED = closedToHost("a GPU", ' Or allocate it with { location: "host" }.');
