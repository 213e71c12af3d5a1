// Every valid request has an answer, and the answer keeps its promises.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  advise,
  adviseAttach,
  ADVISED_KINDS,
  type AdviseRequest,
  advisorRow,
  CPU_PATTERNS,
  type MemoryAdvice,
} from "../../src/advisor/mod.ts";
import { ArgumentError } from "../../src/core/errors.ts";
import { anyDevice, anyRequest, everyRequest } from "./requests.ts";

function assertSound(request: AdviseRequest, advice: MemoryAdvice): void {
  const { kind, flags, rules, why, otherwise, excluded, cautions, staging, functions, call, deviceFlags } = advice;

  const closed = excluded.map((it) => it.kind);
  assert(!closed.includes(kind), `${kind} is excluded`);
  assertEquals([kind, ...closed, ...otherwise.map((it) => it.kind)].sort(), [...ADVISED_KINDS].sort());

  assert(rules.length > 0 && why.length > 0);
  assertEquals(new Set(rules).size, rules.length);
  const cited = [...rules, ...[...otherwise, ...excluded, ...cautions].map(({ row }) => row), ...staging?.rules ?? []];
  for (const id of cited) assertEquals(advisorRow(id).id, id);
  for (const { cost, row } of otherwise) assertEquals(cost, advisorRow(row).says);
  for (const { reason, row } of excluded) assertEquals(reason, advisorRow(row).says);

  const { cpu, gpu, device, existing = false, contexts = 1, safety = false } = request;
  if (kind === "registered") assert(existing && device.hostRegisterSupported);
  if (kind === "managed") assert(device.managedMemory && !safety && (device.integrated || device.system !== "tegra"));
  if (kind === "pinned" || kind === "registered") assert(device.canMapHostMemory && gpu !== "none");
  assertEquals(kind === "pageable", gpu === "none");
  assertEquals(staging !== undefined, kind === "device" && cpu !== "none");
  assertEquals(functions === undefined, kind === "pageable" && existing);
  assertEquals(call === undefined, functions === undefined);
  assertEquals(deviceFlags.length > 0, kind === "pinned" || kind === "registered");

  const prefix = { pinned: "cudaHostAlloc", registered: "cudaHostRegister", managed: "cudaMemAttach" };
  for (const it of [advice, ...(staging === undefined ? [] : [staging])]) {
    const begin = (prefix as Partial<Record<string, string>>)[it.kind];
    assertEquals(it.flags.length > 0, begin !== undefined);
    for (const flag of it.flags) assert(flag.startsWith(begin!));
    if (it.flags.some((flag) => flag.endsWith("Default"))) assertEquals(it.flags.length, 1);
    if (begin?.startsWith("cudaHost")) {
      assertEquals(it.flags.some((flag) => flag.endsWith("Portable")), contexts > 1);
    }
    if (it.flags.includes("cudaHostAllocWriteCombined")) {
      assert(cpu === "write-once" && request.gpuWrites !== true && !device.integrated);
    }
    if (it.flags.includes("cudaHostRegisterReadOnly")) assertEquals(request.gpuWrites, false);
  }
  if (kind === "pinned") assert(flags.includes("cudaHostAllocMapped"));
  if (kind === "registered") assert(flags.includes("cudaHostRegisterMapped"));
}

Deno.test("property: every combination of patterns, places and options gets sound advice", () => {
  for (const request of everyRequest()) assertSound(request, advise(request));
});

Deno.test("property: every valid request gets sound advice", () => {
  fc.assert(fc.property(anyRequest, (request) => assertSound(request, advise(request))), { numRuns: 2000 });
});

Deno.test("property: advice depends on the request alone", () => {
  fc.assert(fc.property(anyRequest, (request) => assertEquals(advise(request), advise({ ...request }))));
});

Deno.test("property: more passes of a discrete GPU never bring a buffer back from device memory", () => {
  fc.assert(fc.property(anyRequest, fc.integer({ min: 1, max: 1000 }), (request, more) => {
    const { repeats = 1, device } = request;
    if (device.integrated || advise(request).kind !== "device") return;
    assertEquals(advise({ ...request, repeats: repeats + more }).kind, "device");
  }));
});

Deno.test("property: unified memory has attach advice exactly where it can be had", () => {
  fc.assert(fc.property(anyDevice, fc.constantFrom(...CPU_PATTERNS), (device, cpu) => {
    const has = device.managedMemory && (device.integrated || device.system !== "tegra");
    try {
      const { allocate, rules } = adviseAttach({ cpu, device });
      assert(has && allocate.startsWith("cudaMemAttach") && rules.length > 0);
    } catch (error) {
      assert(error instanceof ArgumentError && !has);
    }
  }));
});
