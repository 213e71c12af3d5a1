import {
  CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
  CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL,
  CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL,
  CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL,
  CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
  CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL,
  CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL,
  CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL,
  CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ATOMIC_ACCESS_INTEL,
} from "../../../ffi/opencl_usm/constants.ts";
import { CL_INVALID_VALUE } from "../../../ffi/opencl/errors.ts";
import { NativeCallError } from "../../core/errors.ts";
import type { OpenCLDevice } from "../device.ts";
import { type Ask, deviceQuery, from, type Queries, queryAll, word } from "../devices/queries.ts";

/** A device's abilities with one kind of unified shared memory. */
export interface UsmAbility {
  /** It can use it. */
  readonly access: boolean;
  /** It can use atomics on it. */
  readonly atomicAccess: boolean;
  /** It can use it at the same time as the host or another device. */
  readonly concurrentAccess: boolean;
  /** It can use atomics on it at the same time as others. */
  readonly concurrentAtomicAccess: boolean;
}

/** A device's unified shared memory (CL_DEVICE_…_MEM_CAPABILITIES_INTEL). */
export interface UsmCapabilities {
  /** Host memory that the device reaches in place. */
  readonly host: UsmAbility;
  /** Device memory, which the host cannot reach. */
  readonly device: UsmAbility;
  /** Memory that the driver moves to its current user. */
  readonly shared: UsmAbility;
  /** The same, where it was allocated for another device. */
  readonly crossDeviceShared: UsmAbility;
  /** Any memory of the host. */
  readonly system: UsmAbility;
}

const QUERIES: Queries<UsmCapabilities> = {
  host: ability(CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL),
  device: ability(CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL),
  shared: ability(CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL),
  crossDeviceShared: ability(CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL),
  system: ability(CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL),
};

/** The capabilities of a device that lists the extension. @throws {NativeCallError} if the driver fails. */
export function usmCapabilities({ handle, extensions }: OpenCLDevice): UsmCapabilities {
  return queryAll(QUERIES, { handle, query: deviceQuery(handle), extensions });
}

function ability(name: number): Ask<UsmAbility> {
  return from(known(word(name)), (bits) => ({
    access: (bits & CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL) !== 0n,
    atomicAccess: (bits & CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL) !== 0n,
    concurrentAccess: (bits & CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL) !== 0n,
    concurrentAtomicAccess: (bits & CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ATOMIC_ACCESS_INTEL) !== 0n,
  }));
}

/** A query that the driver does not know counts as 0; any other failure is thrown. */
function known(ask: Ask<bigint>): Ask<bigint> {
  return (device) => {
    try {
      return ask(device);
    } catch (error) {
      if (error instanceof NativeCallError && error.code === CL_INVALID_VALUE) return 0n;
      throw error;
    }
  };
}
