import type { Address } from "../../../ffi/address.ts";
import * as cu from "../../../ffi/cuda_driver/constants.ts";
import { CUDA_ERROR_INVALID_VALUE } from "../../../ffi/cuda_driver/errors.ts";
import { sizeOf } from "../../core/layout/dtype.ts";
import { type Layout, layout, type LayoutInit } from "../../core/layout/layout.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import { findAllocation } from "../../core/memory/peers.ts";
import { attaching, type AttachOptions } from "../../core/tensors/adopt.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { checks } from "../check.ts";
import { checkDriver } from "../errors.ts";
import { cudaDriver } from "../library.ts";
import type { CudaTensor } from "../tensor.ts";
import { type CudaBlock, cudaBlockOf } from "./block.ts";
import { onDevice } from "./device.ts";
import { tensorOver } from "./memory.ts";

interface Pointed {
  readonly isHost: boolean;
  readonly ordinal: number;
  /** Where its allocation begins, for kernels. */
  readonly start: Address;
  readonly byteLength: number;
}

const out = new BigUint64Array(1);

/** A tensor over CUDA memory that other code made. */
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
    assertFits(context, address, at, pointed);
    const allocation = allocationOf(context, pointed);
    const shift = Number(address - cudaBlockOf(allocation)!.deviceAddress);
    return tensorOver(context, allocation, at, { shift, access });
  });
}

/** Asks the driver. @throws {ArgumentError} for an address that is not CUDA's. */
function pointedAt(address: Address): Pointed {
  const type = numberOf(cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  if (type !== cu.CU_MEMORYTYPE_DEVICE && type !== cu.CU_MEMORYTYPE_HOST) {
    throw checks.wrong("address", `expected memory of CUDA, got memory of type ${type}.`, "An array has no address.");
  }
  return {
    isHost: type === cu.CU_MEMORYTYPE_HOST,
    ordinal: numberOf(cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address),
    start: (asked(cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address), out[0] as Address),
    byteLength: numberOf(cu.CU_POINTER_ATTRIBUTE_RANGE_SIZE, address),
  };
}

function numberOf(attribute: number, address: Address): number {
  asked(attribute, address);
  return Number(out[0]);
}

function asked(attribute: number, address: Address): void {
  out[0] = 0n; // most attributes have 32 bits
  const code = cudaDriver().cuPointerGetAttribute(out, attribute, address);
  if (code !== CUDA_ERROR_INVALID_VALUE) return checkDriver(code, "cuPointerGetAttribute");
  throw checks.wrong(
    "address",
    `CUDA does not know 0x${address.toString(16)}: it is memory of the host, or was freed.`,
    "For memory of the host, use host.wrap() and graph.map(tensor, cuda); for a tensor that was freed, keep it until `owner` is called.",
  );
}

function assertFits(context: CudaPrimaryContext, address: Address, at: Layout, pointed: Pointed): void {
  const { ordinal } = context.device;
  if (!pointed.isHost && pointed.ordinal !== ordinal) {
    throw checks.wrong(
      "address",
      `it is memory of device ${pointed.ordinal}, and ${context.name} is device ${ordinal}.`,
      `Attach it to CudaContext.open({ ordinal: ${pointed.ordinal} }).`,
    );
  }
  const size = sizeOf(at.dtype);
  if ((address + BigInt(at.byteOffset)) % BigInt(size) !== 0n) {
    throw checks.wrong(
      "address",
      `its elements of ${at.dtype} would begin at 0x${
        (address + BigInt(at.byteOffset)).toString(16)
      }, which is not a multiple of ${size}.`,
      "Kernels fault on that. Attach it as u8.",
    );
  }
  checks.assertWithin(at, pointed.byteLength - Number(address - pointed.start), "init", "cuPointerGetAttribute");
}

/** The allocation of all of the driver's range: known, or new. Its owner frees the memory. */
function allocationOf(context: CudaPrimaryContext, { isHost, start, byteLength }: Pointed): Allocation {
  const known = findAllocation(start, byteLength);
  if (known === undefined) return new Allocation(blockOf(context, isHost, start, byteLength));
  const block = cudaBlockOf(known);
  if (block === undefined) {
    throw checks.wrong("address", "it is memory of a tensor of the host.", "Map that tensor: graph.map(tensor, cuda).");
  }
  if (block.deviceAddress === start && block.byteLength <= byteLength) return known;
  throw checks.wrong("address", "a tensor is there, of memory that others have freed.", "Dispose that tensor first.");
}

function blockOf(context: CudaPrimaryContext, isHost: boolean, start: Address, byteLength: number): CudaBlock {
  const { closed, ...place } = onDevice(context, start, byteLength, []);
  const block: CudaBlock = { ...place, kind: "cuda.attached", free() {} };
  if (!isHost) return { ...block, closed: closed! };
  asked(cu.CU_POINTER_ATTRIBUTE_HOST_POINTER, start);
  const hostAddress = out[0] as Address;
  return { ...block, memory: "pinned", address: hostAddress, hostAddress };
}
