/**
 * The advisor: which CUDA memory to use and why, how to wait, and on which GPU. It calls nothing of CUDA's: rules are
 * data, and a device is described by its traits.
 *
 * @module
 */
export { adviseAttach, type AttachAdvice, type AttachHint, type AttachRequest } from "./attach.ts";
export { type PrefetchEffect, prefetchOf } from "./attach.ts";
export type { Caution } from "./caution.ts";
export { type Claim, type ClaimCase, type ClaimMeasurement, CLAIMS, type ClaimVerdict } from "./claims.ts";
export { judgeClaim, type MeasuredClaim } from "./claims.ts";
export type { OtherKind } from "./costs.ts";
export { adviseDevice, type DeviceAdvice, type DeviceRequest, type TegraGpu, type TimesOfGpus } from "./device.ts";
export type { ExcludedKind } from "./exclusions.ts";
export { CUDA_FEATURES, type FeatureSupport, tegraFeature } from "./features.ts";
export type { AllocationFlag } from "./flags.ts";
export { ADVISED_KINDS, type AdvisedFunctions, type AdvisedKind, memoryFunctions } from "./kind.ts";
export { advise, type MemoryAdvice } from "./memory.ts";
export { cudaTraitsOf } from "./of_device.ts";
export { CPU_PATTERNS, type CpuPattern, GPU_PATTERNS, type GpuPattern } from "./pattern.ts";
export { type AdviseRequest, SMALL_BYTES } from "./request.ts";
export { ADVISOR_ROWS, type AdvisorRow, advisorRow, type AdvisorRowId } from "./rows/mod.ts";
export type { GpuRowId } from "./rows/gpu.ts";
export type { ManagedRowId } from "./rows/managed.ts";
export { MEASURED_CLAIMS, type MeasuredRowId } from "./rows/measured.ts";
export type { MemoryRowId } from "./rows/memory.ts";
export type { NvidiaRowId } from "./rows/nvidia.ts";
export type { OwnRowId } from "./rows/own.ts";
export type { PinnedRowId } from "./rows/pinned.ts";
export type { SyncRowId } from "./rows/sync.ts";
export type { Reach, Table1Id, Table1Processor } from "./rows/table1.ts";
export type { AttachFlag, Table2Id } from "./rows/table2.ts";
export type { CudaFeature, UnsupportedRowId } from "./rows/unsupported.ts";
export type { ZeroCopyRowId } from "./rows/zero_copy.ts";
export type { Staging } from "./staging.ts";
export {
  adviseSync,
  type OtherSyncFlag,
  type SyncAdvice,
  type SyncFlag,
  type SyncGoal,
  type SyncRequest,
} from "./sync.ts";
export { type MemoryReach, tegraReach } from "./table1.ts";
export type { ComputeCapability, CudaDeviceTraits } from "./traits.ts";
