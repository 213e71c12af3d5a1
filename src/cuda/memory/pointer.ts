import type { Address } from "../../../ffi/address.ts";
import * as cu from "../../../ffi/cuda_driver/constants.ts";
import { CUDA_ERROR_INVALID_VALUE } from "../../../ffi/cuda_driver/errors.ts";
import { checkDriver } from "../errors.ts";
import { cudaDriver } from "../library.ts";

const out = new BigUint64Array(1);

/** The driver's `CU_POINTER_ATTRIBUTE_…` of an address; undefined if the driver does not know the address. */
export function pointerAttribute(attribute: number, address: Address): Address | undefined {
  out[0] = 0n; // most attributes have 32 bits
  const code = cudaDriver().cuPointerGetAttribute(out, attribute, address);
  if (code === CUDA_ERROR_INVALID_VALUE) return undefined;
  checkDriver(code, "cuPointerGetAttribute");
  return out[0] as Address;
}

/** The address by which kernels reach page-locked host memory; undefined if a part of it is not locked. */
export function lockedAlias(address: Address, byteLength: number): Address | undefined {
  if (Number(pointerAttribute(cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)) !== cu.CU_MEMORYTYPE_HOST) {
    return undefined;
  }
  const alias = pointerAttribute(cu.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address);
  const start = pointerAttribute(cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address);
  const size = pointerAttribute(cu.CU_POINTER_ATTRIBUTE_RANGE_SIZE, address);
  if (alias === undefined || start === undefined || size === undefined) return undefined;
  return alias + BigInt(byteLength) <= start + size ? alias : undefined;
}
