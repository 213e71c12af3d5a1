import { object } from "../core/argument.ts";
import type { CudaAttribute } from "../cuda/attributes.ts";
import type { CudaDevice } from "../cuda/device.ts";
import type { CudaDeviceTraits } from "./traits.ts";

/** NVIDIA's Linux for Tegra has this file. */
const TEGRA_RELEASE = "/etc/nv_tegra_release";

/**
 * What the advisor has to know of a GPU that is here. A GPU that shares the memory of an aarch64 CPU is a Tegra's; of a
 * discrete one beside a Tegra that is known only where reading `/etc/nv_tegra_release` is permitted.
 *
 * @throws {ArgumentError} for what is no device.
 *
 * @example
 * ```ts ignore
 * import { advise, cudaTraitsOf } from "@samepage/interop/advisor";
 * import { cudaDevices } from "@samepage/interop/cuda";
 *
 * const device = cudaTraitsOf(cudaDevices()[0]);
 * const { kind, why } = advise({ size: 1 << 20, cpu: "write-once", gpu: "coalesced", device });
 * console.log(kind, why);
 * ```
 */
export function cudaTraitsOf(device: CudaDevice): CudaDeviceTraits {
  const { attributes: told, computeCapability } = object(device, "device");
  const attributes = object(told, "device.attributes");
  const has = (name: CudaAttribute) => attributes[name] === 1;
  const integrated = has("integrated");
  return {
    integrated,
    computeCapability,
    system: Deno.build.arch === "aarch64" && (integrated || isTegra()) ? "tegra" : "other",
    canMapHostMemory: has("canMapHostMemory"),
    hostRegisterSupported: has("hostRegisterSupported"),
    managedMemory: has("managedMemory"),
    concurrentManagedAccess: has("concurrentManagedAccess"),
    pageableMemoryAccess: has("pageableMemoryAccess"),
    hostRegisterReadOnlySupported: has("hostRegisterReadOnlySupported"),
  };
}

function isTegra(): boolean {
  if (Deno.permissions.querySync({ name: "read", path: TEGRA_RELEASE }).state !== "granted") return false;
  try {
    return Deno.statSync(TEGRA_RELEASE).isFile;
  } catch {
    return false; // another Linux
  }
}
