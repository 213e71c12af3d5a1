import { cudaDriver } from "./library.ts";

const value = new Int32Array(1);

/**
 * An attribute of a device that only the driver's list has (cuDeviceGetAttribute, CU_DEVICE_ATTRIBUTE_…); undefined where
 * the driver is too old to know it.
 */
export function driverAttribute(ordinal: number, attribute: number): number | undefined {
  return cudaDriver().cuDeviceGetAttribute(value, attribute, ordinal) === 0 ? value[0] : undefined;
}
