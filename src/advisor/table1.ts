import { oneOf } from "./check.ts";
import { ADVISED_KINDS, type AdvisedKind } from "./kind.ts";
import type { AdvisorRowId } from "./rows/mod.ts";
import { type Reach, type Table1Id, type Table1Memory, TABLE_1 } from "./rows/table1.ts";
import { type CudaDeviceTraits, deviceIn } from "./traits.ts";

/** How a processor reaches memory, and which cell of the table says so. */
export interface MemoryReach {
  /** `"none"` is not directly: the bytes have to be copied. */
  readonly reach: Reach;
  /** The cell of table 1. */
  readonly row: AdvisorRowId;
}

/**
 * How the CPU or the GPU of a Tegra reaches a kind of memory (CUDA for Tegra, table 1); undefined on another system,
 * which the table is not about. Registered memory is pinned host memory to it.
 *
 * @throws {ArgumentError} where an argument is wrong.
 *
 * @example
 * ```ts
 * import { tegraReach } from "@samepage/interop/advisor";
 *
 * const xavier = {
 *   integrated: true,
 *   computeCapability: { major: 7, minor: 2 },
 *   system: "tegra",
 *   canMapHostMemory: true,
 *   hostRegisterSupported: true,
 *   managedMemory: true,
 *   concurrentManagedAccess: false,
 *   pageableMemoryAccess: false,
 * } as const;
 * console.log(tegraReach("pinned", "cpu", xavier)?.reach); // cached
 * console.log(tegraReach("pinned", "gpu", xavier)?.reach); // uncached
 * ```
 */
export function tegraReach(
  kind: AdvisedKind,
  processor: "cpu" | "gpu",
  device: CudaDeviceTraits,
): MemoryReach | undefined {
  const memory: Table1Memory = oneOf(kind, ADVISED_KINDS, "kind") === "registered" ? "pinned" : kind as Table1Memory;
  const by = oneOf(processor, ["cpu", "gpu"], "processor");
  const { system, place, coherent } = deviceIn(device, "device");
  if (system !== "tegra") return undefined;
  const row = cellOf(memory, by === "cpu" ? "cpu" : place === "igpu" ? "igpu" : "dgpu", coherent);
  return { reach: TABLE_1[row], row };
}

function cellOf(memory: Table1Memory, processor: "cpu" | "igpu" | "dgpu", coherent: boolean): Table1Id {
  if (memory !== "pinned") return `003/table-1/${memory}/${processor}`;
  if (processor !== "cpu") return `003/table-1/pinned/${processor}`;
  return `003/table-1/pinned/cpu/${coherent ? "coherent" : "incoherent"}`;
}
