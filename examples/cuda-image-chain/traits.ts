import type { CudaAttribute, CudaDevice, CudaDeviceTraits } from "@samepage/interop/cuda";

/** What the advisor has to know of a GPU, as CUDA and the machine tell it. */
export function traitsOf({ attributes, computeCapability }: CudaDevice): CudaDeviceTraits {
  const has = (name: CudaAttribute) => attributes[name] === 1;
  return {
    integrated: has("integrated"),
    computeCapability,
    system: isTegra() ? "tegra" : "other",
    canMapHostMemory: has("canMapHostMemory"),
    hostRegisterSupported: has("hostRegisterSupported"),
    managedMemory: has("managedMemory"),
    concurrentManagedAccess: has("concurrentManagedAccess"),
    pageableMemoryAccess: has("pageableMemoryAccess"),
    hostRegisterReadOnlySupported: has("hostRegisterReadOnlySupported"),
  };
}

/** NVIDIA's Linux for Tegra says so in a file. */
function isTegra(): boolean {
  try {
    return Deno.statSync("/etc/nv_tegra_release").isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
