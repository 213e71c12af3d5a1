// CUDA for Tegra, §3.5, and the reference of cudaSetDeviceFlags.

import { assert, assertEquals } from "@std/assert";
import { adviseSync } from "../../src/advisor/mod.ts";
import { H200, ORIN, TX2 } from "./devices.ts";

Deno.test("003/3.5/spin: low latency: spin, at the price of cuda/cudaSetDeviceFlags/spin", () => {
  const advice = adviseSync({ device: ORIN, favour: "latency" });
  assertEquals([advice.flag, advice.rules], ["cudaDeviceScheduleSpin", ["003/3.5/spin"]]);
  assertEquals(advice.cautions.map(({ row }) => row), ["cuda/cudaSetDeviceFlags/spin"]);
});

Deno.test("003/3.5/blocking: short of power: block", () => {
  const advice = adviseSync({ device: ORIN, favour: "power" });
  assertEquals([advice.flag, advice.rules], ["cudaDeviceScheduleBlockingSync", ["003/3.5/blocking"]]);
});

Deno.test("cuda/cudaSetDeviceFlags/yield: other threads of the CPU matter: yield", () => {
  const advice = adviseSync({ device: H200, favour: "threads" });
  assertEquals([advice.flag, advice.rules], ["cudaDeviceScheduleYield", ["cuda/cudaSetDeviceFlags/yield"]]);
});

Deno.test("003/3.5/platform-default: since CUDA 10.1 the default is the platform's, on every device", () => {
  for (const device of [ORIN, H200]) {
    for (const request of [{ device }, { device, cudaVersion: 10_010 }, { device, cudaVersion: 13_000 }]) {
      const { flag, rules } = adviseSync(request);
      assertEquals(flag, "cudaDeviceScheduleAuto");
      assertEquals(rules, ["003/3.5/platform-default", "cuda/cudaSetDeviceFlags/auto"]);
    }
  }
});

Deno.test("003/3.5/blocking-before-10.1: before that, the integrated GPU's default blocks", () => {
  const { flag, rules, why } = adviseSync({ device: TX2, cudaVersion: 10_000 });
  assertEquals([flag, rules], ["cudaDeviceScheduleAuto", ["003/3.5/blocking-before-10.1"]]);
  assert(why.includes("(CUDA for Tegra, §3.5)"), why);
});

Deno.test("cuda/cudaSetDeviceFlags/auto: before that, a discrete GPU's default is the reference's", () => {
  assertEquals(adviseSync({ device: H200, cudaVersion: 10_000 }).rules, ["cuda/cudaSetDeviceFlags/auto"]);
});

Deno.test("§3.5: the three other flags are named with their costs", () => {
  const { otherwise } = adviseSync({ device: ORIN });
  assertEquals(otherwise.map(({ flag, row }) => [flag, row]), [
    ["cudaDeviceScheduleSpin", "cuda/cudaSetDeviceFlags/spin"],
    ["cudaDeviceScheduleYield", "cuda/cudaSetDeviceFlags/yield"],
    ["cudaDeviceScheduleBlockingSync", "003/3.5/blocking"],
  ]);
});
