// CUDA for Tegra, table 1: one test a cell.

import { assertEquals } from "@std/assert";
import {
  type AdvisedKind,
  advisorRow,
  type CudaDeviceTraits,
  type Reach,
  type Table1Id,
  tegraReach,
} from "../../src/advisor/mod.ts";
import { H200, INTEGRATED, ORIN, PEGASUS_DGPU, PX2_DGPU, TX2, XAVIER } from "./devices.ts";

type Cell = readonly [id: Table1Id, kind: AdvisedKind, by: "cpu" | "gpu", device: CudaDeviceTraits, reach: Reach];

const CELLS: readonly Cell[] = [
  ["003/table-1/device/cpu", "device", "cpu", ORIN, "none"],
  ["003/table-1/device/igpu", "device", "gpu", ORIN, "cached"],
  ["003/table-1/device/dgpu", "device", "gpu", PEGASUS_DGPU, "cached"],
  ["003/table-1/pageable/cpu", "pageable", "cpu", ORIN, "cached"],
  ["003/table-1/pageable/igpu", "pageable", "gpu", ORIN, "none"],
  ["003/table-1/pageable/dgpu", "pageable", "gpu", PEGASUS_DGPU, "none"],
  ["003/table-1/pinned/cpu/incoherent", "pinned", "cpu", TX2, "uncached"],
  ["003/table-1/pinned/cpu/coherent", "pinned", "cpu", XAVIER, "cached"],
  ["003/table-1/pinned/igpu", "pinned", "gpu", ORIN, "uncached"],
  ["003/table-1/pinned/dgpu", "pinned", "gpu", PEGASUS_DGPU, "uncached"],
  ["003/table-1/managed/cpu", "managed", "cpu", ORIN, "cached"],
  ["003/table-1/managed/igpu", "managed", "gpu", ORIN, "cached"],
  ["003/table-1/managed/dgpu", "managed", "gpu", PEGASUS_DGPU, "unsupported"],
];

for (const [id, kind, by, device, reach] of CELLS) {
  Deno.test(`table 1: ${id} is ${reach}`, () => assertEquals(tegraReach(kind, by, device), { reach, row: id }));
}

Deno.test("table 1: registered memory is pinned host memory", () => {
  assertEquals(tegraReach("registered", "gpu", ORIN), tegraReach("pinned", "gpu", ORIN));
  assertEquals(tegraReach("registered", "cpu", TX2), tegraReach("pinned", "cpu", TX2));
});

Deno.test("table 1: I/O coherency begins at 7.2, and is the Tegra's where the GPU is a discrete one", () => {
  const cpuOf = (device: CudaDeviceTraits) => tegraReach("pinned", "cpu", device)?.reach;
  const capability = (major: number, minor: number) => cpuOf({ ...ORIN, computeCapability: { major, minor } });
  assertEquals([capability(5, 3), capability(6, 9), capability(7, 1)], ["uncached", "uncached", "uncached"]);
  assertEquals([capability(7, 2), capability(8, 0), capability(10, 1)], ["cached", "cached", "cached"]);
  assertEquals([cpuOf(PX2_DGPU), cpuOf(PEGASUS_DGPU)], ["uncached", "cached"]);
  const { tegraComputeCapability: _, ...unknown } = PEGASUS_DGPU;
  assertEquals(cpuOf(unknown), "uncached", "what is not known counts as not coherent");
});

Deno.test("table 1: it says nothing of other systems", () => {
  assertEquals(tegraReach("pinned", "gpu", H200), undefined);
  assertEquals(tegraReach("pinned", "gpu", INTEGRATED), undefined);
});

Deno.test("table 1: cells in words", () => {
  const said = [
    advisorRow("003/table-1/device/cpu"),
    advisorRow("003/table-1/pinned/cpu/incoherent"),
    advisorRow("003/table-1/managed/dgpu"),
  ].map(({ section, says }) => `${section}: ${says}`);
  assertEquals(said, [
    "table 1: Device memory is out of the direct reach of a Tegra's CPU.",
    "table 1: Pinned host memory is not cached by a Tegra's CPU below compute capability 7.2.",
    "table 1: Unified memory is not supported on a discrete GPU beside a Tegra.",
  ]);
});
