import type { OpenCLDevice } from "../device.ts";

/** Equal for two devices of one model under one driver. */
export const IDENTITY = ["platform", "platformVersion", "vendor", "name", "version", "driver"] as const;

export type DeviceIdentity = Pick<OpenCLDevice, typeof IDENTITY[number]>;

export function identityOf(device: OpenCLDevice): DeviceIdentity {
  return Object.fromEntries(IDENTITY.map((field) => [field, device[field]])) as DeviceIdentity;
}

/** True if one runs binaries of the other. */
export function isSame(a: DeviceIdentity, b: DeviceIdentity): boolean {
  return IDENTITY.every((field) => a[field] === b[field]);
}

export function describeIdentity({ platform, platformVersion, name, version, driver }: DeviceIdentity): string {
  return `${name} (${version}, driver ${driver}, ${platform} ${platformVersion})`;
}

/**
 * True if a command that fails on the device takes all later ones in its context with it. NVIDIA's driver loses the
 * context (580.159); others go on with the next command.
 */
export function failsAsOne({ platform }: OpenCLDevice): boolean {
  return platform === "NVIDIA CUDA";
}

/** Any version of PoCL needs workarounds. */
export function isPoCL({ platform }: OpenCLDevice): boolean {
  return platform === "Portable Computing Language";
}
