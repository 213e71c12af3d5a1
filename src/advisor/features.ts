import { oneOf, yesOrNo } from "./check.ts";
import { advisorRow, type AdvisorRowId } from "./rows/mod.ts";
import { type CudaFeature, UNSUPPORTED, type UnsupportedRowId } from "./rows/unsupported.ts";
import { type CudaDeviceTraits, deviceIn, holds } from "./traits.ts";

/** What CUDA for Tegra says of a feature on a device. */
export interface FeatureSupport {
  /** `"not-listed"` is no promise: the document lists what is missing, on Tegras, and only that. */
  readonly support: "not-listed" | "no" | "discouraged";
  /** In our own words; empty where it is not listed. */
  readonly says: string;
  /** The row that says so. */
  readonly row?: AdvisorRowId;
  /** What the document names in its place. */
  readonly instead?: string;
}

/** All of them. */
export const CUDA_FEATURES: readonly CudaFeature[] = Object.freeze([
  ...new Set(Object.values(UNSUPPORTED).map((it) => it.feature)),
]);

/**
 * Is a feature of CUDA missing on a device (CUDA for Tegra, §3.6, and §3.2 of atomics)? The list is of Tegras; for any
 * other machine the answer is `"not-listed"`.
 *
 * @param safety is it for a safe context?
 * @throws {ArgumentError} where an argument is wrong.
 *
 * @example
 * ```ts
 * import { tegraFeature } from "@samepage/interop/advisor";
 *
 * const orin = {
 *   integrated: true,
 *   computeCapability: { major: 8, minor: 7 },
 *   system: "tegra",
 *   canMapHostMemory: true,
 *   hostRegisterSupported: true,
 *   managedMemory: true,
 *   concurrentManagedAccess: false,
 *   pageableMemoryAccess: false,
 * } as const;
 * console.log(tegraFeature("ipc", orin).instead); // EGLStream
 * console.log(tegraFeature("cudaHostRegister", orin).support); // not-listed
 * ```
 */
export function tegraFeature(feature: CudaFeature, device: CudaDeviceTraits, safety: boolean = false): FeatureSupport {
  const asked = oneOf(feature, CUDA_FEATURES, "feature");
  const traits = deviceIn(device, "device");
  const safe = yesOrNo(safety, "safety");
  const row = (Object.keys(UNSUPPORTED) as UnsupportedRowId[])
    .find((id) => UNSUPPORTED[id].feature === asked && holds(UNSUPPORTED[id].where, traits, safe));
  if (row === undefined) return { support: "not-listed", says: "" };
  const { support, instead } = UNSUPPORTED[row];
  return { support, says: advisorRow(row).says, row, ...(instead === undefined ? {} : { instead }) };
}
