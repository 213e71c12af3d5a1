import type { Names } from "../core/argument.ts";
import { fields, oneOf, whole, yesOrNo } from "./check.ts";
import type { Condition } from "./rows/unsupported.ts";

/** Which instructions a GPU has, and how old it is: `{ major: 8, minor: 7 }`. */
export interface ComputeCapability {
  /** 8 of 8.7. */
  readonly major: number;
  /** 7 of 8.7. */
  readonly minor: number;
}

/** What the advisor has to know of a GPU: attributes by CUDA's names, and what is around it. */
export interface CudaDeviceTraits {
  /** Does it share the CPU's DRAM? cudaDevAttrIntegrated. */
  readonly integrated: boolean;
  /** Its compute capability; from 7.2 on, a Tegra is I/O coherent. */
  readonly computeCapability: ComputeCapability;
  /** Is the machine a Tegra? A Jetson or a DRIVE is one, also where the GPU is a discrete one beside it. */
  readonly system: "tegra" | "other";
  /** May kernels use the host's memory in place? cudaDevAttrCanMapHostMemory. */
  readonly canMapHostMemory: boolean;
  /** Is there cudaHostRegister? cudaDevAttrHostRegisterSupported. */
  readonly hostRegisterSupported: boolean;
  /** Is there unified memory? cudaDevAttrManagedMemory. */
  readonly managedMemory: boolean;
  /** May CPU and GPU use unified memory at the same time? cudaDevAttrConcurrentManagedAccess. */
  readonly concurrentManagedAccess: boolean;
  /** May kernels use memory of malloc? cudaDevAttrPageableMemoryAccess. */
  readonly pageableMemoryAccess: boolean;
  /** Is there cudaHostRegisterReadOnly? cudaDevAttrHostRegisterReadOnlySupported; `false` by default. */
  readonly hostRegisterReadOnlySupported?: boolean;
  /**
   * Of the Tegra's own GPU, where this is a discrete one beside it: it tells whether the Tegra is I/O coherent. Without
   * it, the Tegra counts as one that is not.
   */
  readonly tegraComputeCapability?: ComputeCapability;
  /** `"linux"` by default. */
  readonly os?: "linux" | "qnx";
}

const TRAITS: Names<CudaDeviceTraits> = {
  integrated: true,
  computeCapability: true,
  system: true,
  canMapHostMemory: true,
  hostRegisterSupported: true,
  managedMemory: true,
  concurrentManagedAccess: true,
  pageableMemoryAccess: true,
  hostRegisterReadOnlySupported: true,
  tegraComputeCapability: true,
  os: true,
};
const CAPABILITY: Names<ComputeCapability> = { major: true, minor: true };

/** Where a GPU stands: it shares the CPU's DRAM, or it is a discrete one, beside a Tegra or beside another CPU. */
export type GpuPlace = "igpu" | "tegra-dgpu" | "dgpu";

/** The least compute capability of a Tegra with I/O coherency (CUDA for Tegra, §3.1). */
const COHERENT: ComputeCapability = { major: 7, minor: 2 };

/** Traits that were checked, and what follows from them. */
export interface Device extends CudaDeviceTraits {
  /** Where it stands. */
  readonly place: GpuPlace;
  /** Does the CPU cache pinned memory? */
  readonly coherent: boolean;
}

/** The traits that are a yes or a no. */
type FlagName = {
  [Name in keyof CudaDeviceTraits]-?: Required<CudaDeviceTraits>[Name] extends boolean ? Name : never;
}[keyof CudaDeviceTraits];

/** A copy of a device's traits, each read once. @throws {ArgumentError} where one is missing or wrong. */
export function deviceIn(given: CudaDeviceTraits, argument: string): Device {
  const traits = { ...fields(given, TRAITS, argument) };
  const flag = (name: FlagName) => yesOrNo(traits[name], `${argument}.${name}`);
  const capability = (name: "computeCapability" | "tegraComputeCapability") =>
    capabilityIn(traits[name], `${argument}.${name}`);
  const integrated = flag("integrated");
  const system = oneOf<"tegra" | "other">(traits.system, ["tegra", "other"], `${argument}.system`);
  const place = integrated ? "igpu" : system === "tegra" ? "tegra-dgpu" : "dgpu";
  const own = capability("computeCapability");
  const tegras = traits.tegraComputeCapability === undefined ? undefined : capability("tegraComputeCapability");
  return {
    integrated,
    system,
    computeCapability: own,
    canMapHostMemory: flag("canMapHostMemory"),
    hostRegisterSupported: flag("hostRegisterSupported"),
    managedMemory: flag("managedMemory"),
    concurrentManagedAccess: flag("concurrentManagedAccess"),
    pageableMemoryAccess: flag("pageableMemoryAccess"),
    hostRegisterReadOnlySupported: traits.hostRegisterReadOnlySupported !== undefined &&
      flag("hostRegisterReadOnlySupported"),
    os: oneOf<"linux" | "qnx">(traits.os ?? "linux", ["linux", "qnx"], `${argument}.os`),
    place,
    coherent: place === "dgpu" || isCoherent(place === "igpu" ? own : tegras),
  };
}

/** Is a Tegra with this GPU of its own I/O coherent? What is not known counts as not. */
function isCoherent(capability: ComputeCapability | undefined): boolean {
  if (capability === undefined) return false;
  const { major, minor } = capability;
  return major > COHERENT.major || (major === COHERENT.major && minor >= COHERENT.minor);
}

function capabilityIn(given: ComputeCapability | undefined, argument: string): ComputeCapability {
  const { major, minor } = fields(given as ComputeCapability, CAPABILITY, argument);
  return { major: whole(major, `${argument}.major`, 1), minor: whole(minor, `${argument}.minor`, 0) };
}

const HOLDS: Readonly<Record<Condition, (device: Device, safety: boolean) => boolean>> = {
  "tegra": ({ system }) => system === "tegra",
  "igpu": ({ place }) => place === "igpu",
  "dgpu": ({ place }) => place !== "igpu",
  "incoherent": ({ coherent }) => !coherent,
  "qnx": ({ os }) => os === "qnx",
  "no-concurrent-access": ({ concurrentManagedAccess }) => !concurrentManagedAccess,
  "safety": (_, safety) => safety,
};

/** Do all of these hold of a device? */
export function holds(conditions: readonly Condition[], device: Device, safety: boolean): boolean {
  return conditions.every((condition) => HOLDS[condition](device, safety));
}
