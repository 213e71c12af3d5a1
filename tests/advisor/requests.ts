import fc from "fast-check";
import { type AdviseRequest, CPU_PATTERNS, GPU_PATTERNS, SMALL_BYTES } from "../../src/advisor/mod.ts";
import { DEVICES } from "./devices.ts";

/** More than any default calls small. */
export const LARGE = 3840 * 2160 * 4;

/** Requests of every device with every pattern, small and large, and with each of the options. */
export function* everyRequest(): Generator<AdviseRequest> {
  const options: readonly Partial<AdviseRequest>[] = [
    {},
    { existing: true },
    { safety: true },
    { contexts: 2 },
    { existing: true, contexts: 2 },
    { gpuWrites: true },
    { existing: true, gpuWrites: false },
  ];
  for (const device of Object.values(DEVICES)) {
    for (const cpu of CPU_PATTERNS) {
      for (const gpu of GPU_PATTERNS) {
        if (cpu === "none" && gpu === "none") continue;
        for (const repeats of [1, 16]) {
          for (const size of [SMALL_BYTES, LARGE]) {
            for (const option of options) {
              if (cpu !== "none" || option.existing !== true) yield { size, cpu, gpu, repeats, device, ...option };
            }
          }
        }
      }
    }
  }
}

const capability = fc.record({ major: fc.integer({ min: 1, max: 13 }), minor: fc.integer({ min: 0, max: 9 }) });

/** Any device, whether or not there is one like it. */
export const anyDevice = fc.record({
  integrated: fc.boolean(),
  computeCapability: capability,
  system: fc.constantFrom("tegra" as const, "other" as const),
  canMapHostMemory: fc.boolean(),
  hostRegisterSupported: fc.boolean(),
  managedMemory: fc.boolean(),
  concurrentManagedAccess: fc.boolean(),
  pageableMemoryAccess: fc.boolean(),
  hostRegisterReadOnlySupported: fc.boolean(),
  tegraComputeCapability: capability,
  os: fc.constantFrom("linux" as const, "qnx" as const),
}, {
  requiredKeys: [
    "integrated",
    "computeCapability",
    "system",
    "canMapHostMemory",
    "hostRegisterSupported",
    "managedMemory",
    "concurrentManagedAccess",
    "pageableMemoryAccess",
  ],
});

/** Any request that is valid. */
export const anyRequest = fc.record({
  size: fc.oneof(fc.integer({ min: 1, max: 1 << 20 }), fc.maxSafeNat().map((size) => Math.max(1, size))),
  cpu: fc.constantFrom(...CPU_PATTERNS),
  gpu: fc.constantFrom(...GPU_PATTERNS),
  repeats: fc.integer({ min: 1, max: 1000 }),
  device: anyDevice,
  existing: fc.boolean(),
  contexts: fc.integer({ min: 1, max: 8 }),
  gpuWrites: fc.boolean(),
  safety: fc.boolean(),
  smallUpTo: fc.integer({ min: 0, max: 1 << 22 }),
}, { requiredKeys: ["size", "cpu", "gpu", "device"] })
  .filter(({ cpu, gpu, existing }) => cpu !== "none" || (gpu !== "none" && existing !== true));
