import { openclDevices } from "@samepage/interop/opencl";

const platforms = devicePlatforms();

/** True where a platform whose name has this in it offers a device; any platform by default. */
export function hasDevice(platform: string = ""): boolean {
  return platforms.some((name) => name.includes(platform));
}

function devicePlatforms(): string[] {
  try {
    return openclDevices().map((device) => device.platform);
  } catch {
    return []; // no loader
  }
}
