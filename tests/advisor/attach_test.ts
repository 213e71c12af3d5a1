// CUDA for Tegra, table 2 (one test a cell) and §3.3.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { adviseAttach, type AttachFlag, prefetchOf } from "../../src/advisor/mod.ts";
import { ArgumentError } from "../../src/core/errors.ts";
import { DEVICES, H200, ORIN, PEGASUS_DGPU, TX2 } from "./devices.ts";

const CELLS = [
  ["003/table-2/global-host", "cudaMemAttachGlobal", "cudaMemAttachHost", "cpu"],
  ["003/table-2/single-host", "cudaMemAttachSingle", "cudaMemAttachHost", "cpu"],
  ["003/table-2/host-global", "cudaMemAttachHost", "cudaMemAttachGlobal", "gpu"],
  ["003/table-2/host-single", "cudaMemAttachHost", "cudaMemAttachSingle", "gpu"],
  ["003/table-2/global-single", "cudaMemAttachGlobal", "cudaMemAttachSingle", "none"],
  ["003/table-2/single-global", "cudaMemAttachSingle", "cudaMemAttachGlobal", "none"],
] as const;

for (const [row, previous, current, to] of CELLS) {
  Deno.test(`table 2: ${row} prefetches to ${to}`, () => assertEquals(prefetchOf(previous, current), { to, row }));
}

Deno.test("table 2: a flag that stays prefetches nothing (own/rule/attach-unchanged)", () => {
  const flags: readonly AttachFlag[] = ["cudaMemAttachGlobal", "cudaMemAttachHost", "cudaMemAttachSingle"];
  for (const flag of flags) assertEquals(prefetchOf(flag, flag), { to: "none", row: "own/rule/attach-unchanged" });
});

/** The ids that an answer rests on, cautions among them. */
const rowsOf = (advice: ReturnType<typeof adviseAttach>) => [...advice.rules, ...advice.cautions.map(({ row }) => row)];

Deno.test("003/3.3/attach-input: p and q of the document's matrix product: host first, then global", () => {
  const advice = adviseAttach({ cpu: "write-once", device: ORIN });
  assertEquals(advice.allocate, "cudaMemAttachHost");
  assertEquals(advice.before, {
    to: "gpu",
    flag: "cudaMemAttachGlobal",
    call: 'cuda.managed.attach(tensor, "global")',
  });
  assertEquals(advice.call, 'cuda.managed.allocate({ attach: "host" })');
  assertEquals(advice.after, undefined);
  assert(advice.rules.includes("003/3.3/attach-input") && advice.rules.includes("003/table-2/host-global"));
});

Deno.test("003/3.3/attach-output: r of the document's matrix product: global first, then host", () => {
  const advice = adviseAttach({ cpu: "read-once", device: ORIN });
  assertEquals(advice.allocate, "cudaMemAttachGlobal");
  assertEquals(advice.before, undefined);
  assertEquals(advice.after, { to: "cpu", flag: "cudaMemAttachHost", call: 'cuda.managed.attach(tensor, "host")' });
  assert(advice.rules.includes("003/3.3/attach-output") && advice.rules.includes("003/table-2/global-host"));
});

Deno.test("003/3.3: what the CPU fills and reads goes both ways; what it does not touch, neither", () => {
  for (const cpu of ["read-write", "repeated"] as const) {
    const advice = adviseAttach({ cpu, device: TX2 });
    assertEquals([advice.before?.to, advice.after?.to], ["gpu", "cpu"]);
  }
  const { before, after } = adviseAttach({ cpu: "none", device: TX2 });
  assertEquals([before, after], [undefined, undefined]);
});

Deno.test("cuda/cudaStreamAttachMemAsync/one-stream: for one stream it is cudaMemAttachSingle", () => {
  const advice = adviseAttach({ cpu: "read-write", device: ORIN, oneStream: true });
  assertEquals(advice.before?.flag, "cudaMemAttachSingle");
  assert(advice.rules.includes("003/table-2/host-single") && advice.rules.includes("003/table-2/single-host"));
  assert(advice.rules.includes("cuda/cudaStreamAttachMemAsync/one-stream"));
  const output = adviseAttach({ cpu: "read-once", device: ORIN, oneStream: true });
  assertEquals([output.allocate, output.before?.flag], ["cudaMemAttachGlobal", "cudaMemAttachSingle"]);
});

Deno.test("003/3.3/hints, 003/3.3/no-prefetch-async: on a Tegra cudaStreamAttachMemAsync hints", () => {
  const advice = adviseAttach({ cpu: "write-once", device: ORIN });
  assertEquals(advice.hint, "cudaStreamAttachMemAsync");
  assert(advice.rules.includes("003/3.3/hints") && advice.rules.includes("003/3.3/no-prefetch-async"));
});

Deno.test("cuda/cudaMemPrefetchAsync/concurrent: with concurrent access, and without flags", () => {
  const advice = adviseAttach({ cpu: "read-write", device: H200 });
  assertEquals([advice.hint, advice.allocate], ["cudaMemPrefetchAsync", "cudaMemAttachGlobal"]);
  assertEquals([advice.before, advice.after], [
    { to: "gpu", call: 'cuda.managed.prefetch(tensor, "device")' },
    { to: "cpu", call: 'cuda.managed.prefetch(tensor, "host")' },
  ]);
  assertEquals(rowsOf(advice), ["cuda/cudaMemPrefetchAsync/concurrent"]);
});

Deno.test("003/3.3/synchronize: a caution where something is attached behind a kernel", () => {
  assert(rowsOf(adviseAttach({ cpu: "read-once", device: ORIN })).includes("003/3.3/synchronize"));
  assert(!rowsOf(adviseAttach({ cpu: "write-once", device: ORIN })).includes("003/3.3/synchronize"));
});

Deno.test("003/3.3/qnx: a caution on QNX alone", () => {
  assert(rowsOf(adviseAttach({ cpu: "read-once", device: DEVICES["Orin with QNX"] })).includes("003/3.3/qnx"));
  assert(!rowsOf(adviseAttach({ cpu: "read-once", device: ORIN })).includes("003/3.3/qnx"));
});

Deno.test("003/3.3: a device without unified memory is refused, with the row", () => {
  const device = assertThrows(() => adviseAttach({ cpu: "none", device: PEGASUS_DGPU }), ArgumentError);
  assertEquals(device.argument, "device");
  assert(device.message.includes("003/3.6/managed-dgpu"));
  const without = { ...H200, managedMemory: false };
  assertThrows(() => adviseAttach({ cpu: "none", device: without }), ArgumentError, "cuda/cudaMallocManaged/attribute");
});
