import type { Address } from "../../../../ffi/address.ts";
import {
  CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
  CU_MEM_LOCATION_TYPE_DEVICE,
} from "../../../../ffi/cuda_driver/constants.ts";
import { CUmemAccessDesc, type CUmemLocation, writeCUmemAccessDesc } from "../../../../ffi/cuda_driver/structs.ts";
import type { ErrorFields } from "../../../core/errors.ts";
import type { Undo } from "../../../core/life/undo.ts";
import type { CudaPrimaryContext } from "../../base.ts";
import { checkDriver, checkDriverRelease } from "../../errors.ts";
import { cudaDriver } from "../../library.ts";
import { owned } from "../../primary_context.ts";
import type { PhysicalMemory } from "./physical.ts";

const out = new BigUint64Array(1);

/**
 * Maps memory to an address (cuMemAddressReserve, cuMemMap) for reads and writes by devices, and by the host if it is host
 * memory (cuMemSetAccess). `undo` unmaps it.
 * @param about the fields of the error if the driver does not map it
 */
export function mapPhysical(
  context: CudaPrimaryContext,
  { handle, location, byteLength }: PhysicalMemory,
  ordinals: readonly number[],
  undo: Undo,
  about?: ErrorFields,
): Address {
  const size = BigInt(byteLength);
  const address = reserve(context, size, undo);
  const driver = cudaDriver();
  const { within } = context;
  within(() => checkDriver(driver.cuMemMap(address, size, 0n, handle, 0n), "cuMemMap", about));
  owned(context, "cuda.mapping", undo, () => checkDriverRelease(driver.cuMemUnmap(address, size), "cuMemUnmap"));
  const devices = ordinals.map((id) => ({ type: CU_MEM_LOCATION_TYPE_DEVICE, id }));
  const all = location.type === CU_MEM_LOCATION_TYPE_DEVICE ? devices : [...devices, location];
  within(() => checkDriver(driver.cuMemSetAccess(address, size, accessOf(all), BigInt(all.length)), "cuMemSetAccess"));
  return address;
}

function reserve(context: CudaPrimaryContext, size: bigint, undo: Undo): Address {
  const driver = cudaDriver();
  context.within(() => checkDriver(driver.cuMemAddressReserve(out, size, 0n, 0n, 0n), "cuMemAddressReserve"));
  const address = out[0] as Address;
  const free = () => checkDriverRelease(driver.cuMemAddressFree(address, size), "cuMemAddressFree");
  owned(context, "cuda.address_range", undo, free);
  return address;
}

function accessOf(locations: readonly CUmemLocation[]): DataView<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(CUmemAccessDesc.size * locations.length));
  locations.forEach(({ type, id }, i) =>
    writeCUmemAccessDesc(view, i * CUmemAccessDesc.size, {
      location_type: type,
      location_id: id,
      flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    })
  );
  return view;
}
