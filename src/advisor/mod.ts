/**
 * The advisor: which CUDA memory to use and why, how to wait for a GPU, and which GPU to use. It never calls CUDA. Its
 * rules are data, from NVIDIA's documents; a device is described by its traits.
 *
 * @module
 */
export { adviseAttach, type AttachAdvice, type AttachHint, type AttachRequest } from "./attach.ts";
export { type PrefetchEffect, prefetchOf } from "./attach.ts";
export { type Claim, type ClaimCase, type ClaimMeasurement, CLAIMS, type ClaimVerdict } from "./claims.ts";
export { judgeClaim, MEASURED_CLAIMS, type MeasuredClaim } from "./claims.ts";
export { adviseDevice, type DeviceAdvice, type DeviceRequest, type TegraGpu, type TimesOfGpus } from "./device.ts";
export { ADVISED_KINDS, type AdvisedFunctions, type AdvisedKind, memoryFunctions } from "./kind.ts";
export type { AllocationFlag } from "./kind.ts";
export { advise, type ExcludedKind, type MemoryAdvice, type OtherKind, type Staging } from "./memory.ts";
export { type AdviseRequest, SMALL_BYTES } from "./request.ts";
export { CPU_PATTERNS, type CpuPattern, GPU_PATTERNS, type GpuPattern } from "./request.ts";
export { ADVISOR_ROWS, type AdvisorRow, advisorRow, type AdvisorRowId, type Caution } from "./rows/mod.ts";
export type { AttachFlag, Reach, Table1Id } from "./rows/tables.ts";
export { adviseSync, type SyncAdvice, type SyncFlag, type SyncGoal, type SyncRequest } from "./sync.ts";
export type { OtherSyncFlag } from "./sync.ts";
export { CUDA_FEATURES, type CudaFeature, type FeatureSupport, tegraFeature } from "./tegra.ts";
export { type MemoryReach, tegraReach } from "./tegra.ts";
export { type ComputeCapability, type CudaDeviceTraits, cudaTraitsOf } from "./traits.ts";
