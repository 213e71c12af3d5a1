import type { OpenCLDevice } from "../device.ts";

/** Is it a device of PoCL's, whatever version that is? Some of what it does has to be gone round. */
export function isPoCL({ platform }: OpenCLDevice): boolean {
  return platform === "Portable Computing Language";
}
