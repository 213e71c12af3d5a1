// CUDA for Tegra, §3.4.

import { assert, assertEquals } from "@std/assert";
import { adviseDevice } from "../../src/advisor/mod.ts";

Deno.test("003/3.4/locality, 003/3.4/no-transfer: without times, the GPU where the data lies", () => {
  const soc = adviseDevice({ data: "soc" });
  assertEquals([soc.gpu, soc.times], ["igpu", undefined]);
  assertEquals(soc.rules, ["003/3.4/locality", "003/3.4/no-transfer"]);
  assertEquals(soc.otherwise.row, "003/3.4/transfer-time");
  assertEquals(soc.cautions.map(({ row }) => row), ["003/3.4/kernel-time"]);
  assertEquals(adviseDevice({ data: "dgpu" }).gpu, "dgpu");
});

Deno.test("003/3.4/transfer-time: a transfer that outweighs faster kernels", () => {
  const advice = adviseDevice({ data: "soc", kernel: { igpu: 900, dgpu: 150 }, transfer: 1200 });
  assertEquals([advice.gpu, advice.times], ["igpu", { igpu: 900, dgpu: 1350 }]);
  assertEquals(advice.otherwise, { ...advice.otherwise, gpu: "dgpu", row: "003/3.4/transfer-time" });
});

Deno.test("003/3.4/kernel-time: kernels that outweigh the transfer", () => {
  const advice = adviseDevice({ data: "soc", kernel: { igpu: 9000, dgpu: 1500 }, transfer: 1200 });
  assertEquals([advice.gpu, advice.times], ["dgpu", { igpu: 9000, dgpu: 2700 }]);
  assertEquals(advice.rules, ["003/3.4/kernel-time", "003/3.4/transfer-time"]);
  assertEquals(advice.otherwise, { ...advice.otherwise, gpu: "igpu", row: "003/3.4/kernel-time" });
});

Deno.test("003/3.4/transfer-time: data of the discrete GPU costs the integrated one a transfer", () => {
  const kernel = { igpu: 100, dgpu: 150 };
  assertEquals(adviseDevice({ data: "dgpu", kernel, transfer: 1200 }).times, { igpu: 1300, dgpu: 150 });
  assertEquals(adviseDevice({ data: "dgpu", kernel, transfer: 10 }).gpu, "igpu");
});

Deno.test("003/3.4/latency: it counts on each", () => {
  const work = { data: "soc", kernel: { igpu: 100, dgpu: 10 }, transfer: 50 } as const;
  assertEquals(adviseDevice(work).gpu, "dgpu");
  const advice = adviseDevice({ ...work, latency: { igpu: 5, dgpu: 60 } });
  assertEquals([advice.gpu, advice.times], ["igpu", { igpu: 105, dgpu: 120 }]);
  assert(advice.rules.includes("003/3.4/latency"));
});

Deno.test("§3.4: of two that take as long, the one where the data lies", () => {
  const work = { kernel: { igpu: 100, dgpu: 100 }, transfer: 0 };
  assertEquals(adviseDevice({ ...work, data: "soc" }).gpu, "igpu");
  assertEquals(adviseDevice({ ...work, data: "dgpu" }).gpu, "dgpu");
});

Deno.test("003/3.6/managed-dgpu: unified memory is the integrated GPU's, however long it takes", () => {
  const advice = adviseDevice({ data: "soc", kernel: { igpu: 9000, dgpu: 1 }, transfer: 1, managed: true });
  assertEquals([advice.gpu, advice.rules], ["igpu", ["003/3.6/managed-dgpu"]]);
  assertEquals(advice.otherwise.row, "003/3.6/managed-dgpu");
});
