import type { OpenCLDevice } from "../device.ts";

/** What a binary is made for: the same on two devices of one model under one driver. */
export const IDENTITY = ["platform", "platformVersion", "vendor", "name", "version", "driver"] as const;

/** Those fields of a device. */
export type DeviceIdentity = Pick<OpenCLDevice, typeof IDENTITY[number]>;

/** What a device is, as binaries know it. */
export function identityOf(device: OpenCLDevice): DeviceIdentity {
  return Object.fromEntries(IDENTITY.map((field) => [field, device[field]])) as DeviceIdentity;
}

/** True if one runs what was made for the other. */
export function isSame(a: DeviceIdentity, b: DeviceIdentity): boolean {
  return IDENTITY.every((field) => a[field] === b[field]);
}

/** In words, for messages. */
export function describeIdentity({ platform, platformVersion, name, version, driver }: DeviceIdentity): string {
  return `${name} (${version}, driver ${driver}, ${platform} ${platformVersion})`;
}

/** Is it a device of PoCL, in any version? Some of PoCL's behaviour needs workarounds. */
export function isPoCL({ platform }: OpenCLDevice): boolean {
  return platform === "Portable Computing Language";
}
