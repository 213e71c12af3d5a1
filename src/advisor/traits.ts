import { object } from "../core/argument.ts";
import type { CudaAttribute } from "../cuda/attributes.ts";
import type { CudaDevice } from "../cuda/device.ts";
import { objectOf, oneOf, optional, type Reader, whole, yesOrNo } from "./check.ts";
import { type Facts, factsIn } from "./facts.ts";

/** The version of a GPU's instruction set: `{ major: 8, minor: 7 }`. */
export interface ComputeCapability {
  /** 8 of 8.7. */
  readonly major: number;
  /** 7 of 8.7. */
  readonly minor: number;
}

/** What the advisor needs to know about a GPU: attributes by CUDA's names, and the machine around it. */
export interface CudaDeviceTraits {
  /** True if it shares the CPU's DRAM: cudaDevAttrIntegrated. */
  readonly integrated: boolean;
  /** Its compute capability. A Tegra is I/O coherent from 7.2 on. */
  readonly computeCapability: ComputeCapability;
  /** Whether the machine is a Tegra: a Jetson or a DRIVE, also one with a discrete GPU beside the Tegra's own. */
  readonly system: "tegra" | "other";
  /** True if kernels can use host memory in place: cudaDevAttrCanMapHostMemory. */
  readonly canMapHostMemory: boolean;
  /** True if cudaHostRegister is supported: cudaDevAttrHostRegisterSupported. */
  readonly hostRegisterSupported: boolean;
  /** True if unified memory is supported: cudaDevAttrManagedMemory. */
  readonly managedMemory: boolean;
  /** True if CPU and GPU can use unified memory at the same time: cudaDevAttrConcurrentManagedAccess. */
  readonly concurrentManagedAccess: boolean;
  /** True if kernels can use memory from malloc: cudaDevAttrPageableMemoryAccess. */
  readonly pageableMemoryAccess: boolean;
  /** True if cudaHostRegisterReadOnly is supported: cudaDevAttrHostRegisterReadOnlySupported; `false` by default. */
  readonly hostRegisterReadOnlySupported?: boolean;
  /**
   * The compute capability of the Tegra's own GPU, where this is a discrete GPU beside it: it decides whether the Tegra is
   * I/O coherent. Without it, the Tegra counts as not coherent.
   */
  readonly tegraComputeCapability?: ComputeCapability;
  /** `"linux"` by default. */
  readonly os?: "linux" | "qnx";
}

const CAPABILITY = objectOf({ major: whole(1), minor: whole(0) });
const TRAITS = objectOf(
  {
    integrated: yesOrNo,
    computeCapability: CAPABILITY,
    system: oneOf(["tegra", "other"]),
    canMapHostMemory: yesOrNo,
    hostRegisterSupported: yesOrNo,
    managedMemory: yesOrNo,
    concurrentManagedAccess: yesOrNo,
    pageableMemoryAccess: yesOrNo,
    hostRegisterReadOnlySupported: optional(yesOrNo, false),
    tegraComputeCapability: optional(CAPABILITY, undefined),
    os: optional(oneOf(["linux", "qnx"]), "linux"),
  } satisfies { readonly [Trait in keyof Required<CudaDeviceTraits>]: Reader<unknown> },
);

export const deviceIn: Reader<Facts> = (given, argument) => {
  const it = TRAITS(given, argument);
  const tegra = it.system === "tegra";
  return new Set(factsIn({
    "tegra": tegra,
    "igpu": it.integrated,
    "coherent": !it.integrated && !tegra ||
      isCoherent(it.integrated ? it.computeCapability : it.tegraComputeCapability),
    "qnx": it.os === "qnx",
    "maps host memory": it.canMapHostMemory,
    "registers": it.hostRegisterSupported,
    "registers read-only": it.hostRegisterReadOnlySupported,
    "has managed memory": it.managedMemory,
    "concurrent access": it.concurrentManagedAccess,
    "reaches pageable memory": it.pageableMemoryAccess,
  }));
};

/**
 * True if a Tegra whose own GPU has this capability is I/O coherent (CUDA for Tegra, §3.1). An unknown one counts as
 * not.
 */
function isCoherent({ major, minor }: ComputeCapability = { major: 0, minor: 0 }): boolean {
  return major > 7 || (major === 7 && minor >= 2);
}

/** NVIDIA's Linux for Tegra has this file. */
const TEGRA_RELEASE = "/etc/nv_tegra_release";

/**
 * The traits of a GPU in this machine. An integrated GPU in a machine with an aarch64 CPU counts as a Tegra's. A discrete
 * GPU in an aarch64 machine counts as one beside a Tegra only where `/etc/nv_tegra_release` exists and may be read.
 *
 * @throws {ArgumentError} where the argument is not a device.
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
  const { attributes: reported, computeCapability } = object(device, "device");
  const attributes = object(reported, "device.attributes");
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
