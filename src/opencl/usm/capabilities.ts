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
import { answers, type Ask, deviceQuery, from, type Questions, word } from "../devices/queries.ts";

/** What a device may do with one kind of unified shared memory. */
export interface UsmAbility {
  /** Use it at all. */
  readonly access: boolean;
  /** Use atomics on it. */
  readonly atomicAccess: boolean;
  /** Use it while the host, or another device, uses it too. */
  readonly concurrentAccess: boolean;
  /** Use atomics on it while others do. */
  readonly concurrentAtomicAccess: boolean;
}

/** What a device has of cl_intel_unified_shared_memory (CL_DEVICE_…_MEM_CAPABILITIES_INTEL). */
export interface UsmCapabilities {
  /** Memory of the host's, which the device reaches where it is. */
  readonly host: UsmAbility;
  /** Memory of the device's, which the host cannot reach. */
  readonly device: UsmAbility;
  /** Memory that the driver moves to whoever uses it. */
  readonly shared: UsmAbility;
  /** The same, where it was allocated for another device. */
  readonly crossDeviceShared: UsmAbility;
  /** Any memory of the host. */
  readonly system: UsmAbility;
}

const QUESTIONS: Questions<UsmCapabilities> = {
  host: ability(CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL),
  device: ability(CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL),
  shared: ability(CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL),
  crossDeviceShared: ability(CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL),
  system: ability(CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL),
};

/** Asks a device that lists the extension. @throws {NativeCallError} if it does not answer. */
export function usmCapabilities({ handle, extensions }: OpenCLDevice): UsmCapabilities {
  return answers(QUESTIONS, { handle, query: deviceQuery(handle), extensions });
}

function ability(name: number): Ask<UsmAbility> {
  return from(known(word(name)), (bits) => ({
    access: (bits & CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL) !== 0n,
    atomicAccess: (bits & CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL) !== 0n,
    concurrentAccess: (bits & CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL) !== 0n,
    concurrentAtomicAccess: (bits & CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ATOMIC_ACCESS_INTEL) !== 0n,
  }));
}

/** What a driver does not know it does not have; any other failure says nothing, and is to be told. */
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
