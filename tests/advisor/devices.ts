import type { CudaDeviceTraits } from "../../src/advisor/mod.ts";

const ALL = {
  canMapHostMemory: true,
  hostRegisterSupported: true,
  managedMemory: true,
  concurrentManagedAccess: false,
  pageableMemoryAccess: false,
};

/** A Jetson AGX Orin: I/O coherent. */
export const ORIN: CudaDeviceTraits = {
  ...ALL,
  integrated: true,
  system: "tegra",
  computeCapability: { major: 8, minor: 7 },
};

/** A Jetson Xavier: the first with I/O coherency. */
export const XAVIER: CudaDeviceTraits = { ...ORIN, computeCapability: { major: 7, minor: 2 } };

/** A Jetson TX2: without I/O coherency. */
export const TX2: CudaDeviceTraits = {
  ...ORIN,
  computeCapability: { major: 6, minor: 2 },
  hostRegisterSupported: false,
};

/** The discrete GPU of a DRIVE PX 2, whose Tegra is not I/O coherent. */
export const PX2_DGPU: CudaDeviceTraits = {
  ...ALL,
  integrated: false,
  system: "tegra",
  computeCapability: { major: 6, minor: 1 },
  tegraComputeCapability: { major: 6, minor: 2 },
};

/** The discrete GPU of a DRIVE AGX Pegasus, whose Tegra is I/O coherent. */
export const PEGASUS_DGPU: CudaDeviceTraits = {
  ...PX2_DGPU,
  computeCapability: { major: 7, minor: 5 },
  tegraComputeCapability: { major: 7, minor: 2 },
};

/** An H200 in an x86 server, as one answered (pageableMemoryAccess 0). */
export const H200: CudaDeviceTraits = {
  ...ALL,
  integrated: false,
  system: "other",
  computeCapability: { major: 9, minor: 0 },
  concurrentManagedAccess: true,
  hostRegisterReadOnlySupported: true,
};

/** An integrated GPU outside of Tegra. */
export const INTEGRATED: CudaDeviceTraits = { ...ORIN, system: "other", computeCapability: { major: 12, minor: 1 } };

/** One of each place that the documents tell apart, and each of them with something missing. */
export const DEVICES: Readonly<Record<string, CudaDeviceTraits>> = {
  ORIN,
  XAVIER,
  TX2,
  PX2_DGPU,
  PEGASUS_DGPU,
  H200,
  INTEGRATED,
  "Orin with QNX": { ...ORIN, os: "qnx" },
  "TX2 with QNX": { ...TX2, os: "qnx" },
  "Orin without unified memory": { ...ORIN, managedMemory: false },
  "TX2 without unified memory": { ...TX2, managedMemory: false },
  "Orin that cannot map": { ...ORIN, canMapHostMemory: false },
  "Orin with neither": { ...ORIN, canMapHostMemory: false, managedMemory: false },
  "a discrete GPU beside an unknown Tegra": {
    ...ALL,
    integrated: false,
    system: "tegra",
    computeCapability: { major: 7, minor: 5 },
  },
  "H200 that cannot map": { ...H200, canMapHostMemory: false },
  "H200 without cudaHostRegister": { ...H200, hostRegisterSupported: false },
  "H200 without read-only registering": { ...H200, hostRegisterReadOnlySupported: false },
  "H200 that reaches pageable memory": { ...H200, pageableMemoryAccess: true },
  "H200 without concurrent access": { ...H200, concurrentManagedAccess: false },
  "Orin with concurrent access": { ...ORIN, concurrentManagedAccess: true },
};
