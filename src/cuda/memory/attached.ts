import type { Address } from "../../../ffi/address.ts";
import * as cu from "../../../ffi/cuda_driver/constants.ts";
import { sizeOf } from "../../core/layout/dtype.ts";
import { type Layout, layout, type LayoutInit } from "../../core/layout/layout.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import { findAllocation } from "../../core/memory/peers.ts";
import { attaching, type AttachOptions } from "../../core/tensors/adopt.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { checks } from "../check.ts";
import type { CudaTensor } from "../tensor.ts";
import { type CudaBlock, cudaBlockOf } from "./block.ts";
import { onDevice } from "./device.ts";
import { tensorOver } from "./memory.ts";
import { pointerAttribute } from "./pointer.ts";

interface Pointed {
  readonly ordinal: number;
  readonly start: Address;
  readonly byteLength: number;
  /** Its host address, if it is host memory. */
  readonly hostAddress: Address | undefined;
}

export function attachedTensor(
  context: CudaPrimaryContext,
  given: bigint,
  init: LayoutInit,
  options: AttachOptions,
): CudaTensor {
  return attaching(options, (access) => {
    const address = checks.handleIn<Address>(given, "address");
    const at = layout(init);
    context.resource.assertLive();
    const pointed = context.within(() => pointedAt(address));
    const known = knownAt(pointed);
    assertFits(context, address, at, pointed, known);
    const allocation = known ?? new Allocation(blockOf(context, pointed));
    const shift = Number(address - cudaBlockOf(allocation)!.deviceAddress);
    return tensorOver(context, allocation, at, { shift, access });
  });
}

/** Queries the driver. @throws {ArgumentError} for an address that is not CUDA's. */
function pointedAt(address: Address): Pointed {
  const type = numberOf(cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  if (type !== cu.CU_MEMORYTYPE_DEVICE && type !== cu.CU_MEMORYTYPE_HOST) {
    throw checks.wrong("address", `expected memory of CUDA, got memory of type ${type}.`, "An array has no address.");
  }
  const ordinal = numberOf(cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
  const start = asked(cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address);
  const byteLength = numberOf(cu.CU_POINTER_ATTRIBUTE_RANGE_SIZE, address);
  const isHost = type === cu.CU_MEMORYTYPE_HOST;
  const hostAddress = isHost ? asked(cu.CU_POINTER_ATTRIBUTE_HOST_POINTER, start) : undefined;
  return { ordinal, start, byteLength, hostAddress };
}

function numberOf(attribute: number, address: Address): number {
  return Number(asked(attribute, address));
}

function asked(attribute: number, address: Address): Address {
  const value = pointerAttribute(attribute, address);
  if (value !== undefined) return value;
  throw checks.wrong(
    "address",
    `CUDA does not know 0x${address.toString(16)}: it is memory of the host, or was freed.`,
    "For memory of the host, use host.wrap() and graph.map(tensor, cuda); for a tensor that was freed, keep it until `owner` is called.",
  );
}

function assertFits(
  context: CudaPrimaryContext,
  address: Address,
  at: Layout,
  pointed: Pointed,
  known: Allocation | undefined,
): void {
  const { ordinal } = context.device;
  if (pointed.hostAddress === undefined && pointed.ordinal !== ordinal) {
    throw checks.wrong(
      "address",
      `it is memory of device ${pointed.ordinal}, and ${context.name} is device ${ordinal}.`,
      `Attach it to CudaContext.open({ ordinal: ${pointed.ordinal} }).`,
    );
  }
  const size = sizeOf(at.dtype);
  if (address % BigInt(size) !== 0n) {
    throw checks.wrong(
      "address",
      `0x${address.toString(16)} is not a multiple of ${size}, the size of ${at.dtype}.`,
      "Kernels fault on that. Attach it as u8.",
    );
  }
  const room = (known?.block ?? pointed).byteLength - Number(address - pointed.start);
  checks.assertWithin(at, room, "init", "cuPointerGetAttribute");
}

/**
 * The allocation of the driver's range, if samepage knows it. The program may have allocated fewer bytes than the
 * driver's range has.
 */
function knownAt({ start, byteLength, hostAddress = start }: Pointed): Allocation | undefined {
  const known = findAllocation(hostAddress, byteLength);
  if (known === undefined) return undefined;
  const block = cudaBlockOf(known);
  if (block === undefined) {
    throw checks.wrong("address", "it is memory of a tensor of the host.", "Map that tensor: graph.map(tensor, cuda).");
  }
  if (block.deviceAddress === start && block.byteLength <= byteLength) return known;
  throw checks.wrong("address", "a tensor is there, of memory that others have freed.", "Dispose that tensor first.");
}

/** A block over the driver's whole range. Its owner frees the memory. */
function blockOf(context: CudaPrimaryContext, { start, byteLength, hostAddress }: Pointed): CudaBlock {
  const { closed, ...place } = onDevice(context, start, byteLength, []);
  const block: CudaBlock = { ...place, kind: "cuda.attached", free() {} };
  if (hostAddress === undefined) return { ...block, closed: closed! };
  return { ...block, memory: "pinned", address: hostAddress, hostAddress };
}
