// Which memory: CUDA for Tegra, §2, §3.1 and §3.2, and what holds for discrete GPUs. One test a row.

import { assert, assertEquals } from "@std/assert";
import { advise, type AdviseRequest, type MemoryAdvice, SMALL_BYTES } from "../../src/advisor/mod.ts";
import { DEVICES, H200, INTEGRATED, ORIN, PEGASUS_DGPU, PX2_DGPU, TX2, XAVIER } from "./devices.ts";
import { LARGE } from "./requests.ts";

/** Advice for a large buffer. */
const large = (request: Omit<AdviseRequest, "size">) => advise({ size: LARGE, ...request });

const costRow = (advice: MemoryAdvice, kind: string) => advice.otherwise.find((it) => it.kind === kind)?.row;
const cautionRows = (advice: MemoryAdvice) => advice.cautions.map(({ row }) => row as string);
const exclusionRow = (advice: MemoryAdvice, kind: string) => advice.excluded.find((it) => it.kind === kind)?.row;

Deno.test("003/3.1/device-gpu-only: what only the GPU touches is device memory, everywhere", () => {
  for (const device of Object.values(DEVICES)) {
    for (const gpu of ["coalesced", "repeated", "scattered"] as const) {
      const { kind, rules, staging } = large({ cpu: "none", gpu, device });
      assertEquals([kind, rules[0], staging], ["device", "003/3.1/device-gpu-only", undefined]);
    }
  }
});

Deno.test("003/3.1/pageable-cpu-only: what only the CPU touches is pageable memory, everywhere", () => {
  for (const device of Object.values(DEVICES)) {
    for (const cpu of ["write-once", "read-once", "read-write", "repeated"] as const) {
      const { kind, rules } = large({ cpu, gpu: "none", device });
      assertEquals([kind, rules[0]], ["pageable", "003/3.1/pageable-cpu-only"]);
    }
  }
});

Deno.test("003/3.1/pinned-small: small buffers are pinned on an integrated GPU, however often they are used", () => {
  for (const device of [ORIN, TX2]) {
    for (const size of [1, SMALL_BYTES]) {
      const advice = advise({ size, cpu: "repeated", gpu: "repeated", repeats: 100, device });
      assertEquals([advice.kind, advice.rules[0]], ["pinned", "003/3.1/pinned-small"]);
    }
    assertEquals(advise({ size: SMALL_BYTES + 1, cpu: "repeated", gpu: "repeated", device }).kind, "managed");
  }
});

Deno.test("own/rule/small: the number is ours, may be given, and is said to be", () => {
  const request = { size: 1_000_000, cpu: "repeated", gpu: "repeated", device: ORIN } as const;
  assertEquals(advise(request).kind, "managed");
  const small = advise({ ...request, smallUpTo: 1_000_000 });
  assertEquals(small.kind, "pinned");
  assert(cautionRows(small).includes("own/rule/small"));
  assert(!cautionRows(advise(request)).includes("own/rule/small"));
});

Deno.test("003/3.1/pinned-scattered: large, in no order that suits a cache: pinned", () => {
  for (const [device, cpu] of [[ORIN, "repeated"], [ORIN, "read-write"], [TX2, "read-write"]] as const) {
    for (const repeats of [1, 16]) {
      const { kind, rules } = large({ cpu, gpu: "scattered", repeats, device });
      assertEquals([kind, rules[0]], ["pinned", "003/3.1/pinned-scattered"]);
    }
  }
});

Deno.test("003/3.1/pinned-once: large, once, coalesced: pinned is as good as unified", () => {
  for (const [device, cpu] of [[ORIN, "repeated"], [ORIN, "write-once"], [TX2, "read-once"]] as const) {
    const { kind, rules } = large({ cpu, gpu: "coalesced", device });
    assertEquals([kind, rules[0]], ["pinned", "003/3.1/pinned-once"]);
  }
});

Deno.test("003/3.1/coherent, 003/3.1/incoherent: what pinned memory is to the CPU depends on 7.2", () => {
  assert(large({ cpu: "read-write", gpu: "coalesced", device: XAVIER }).rules.includes("003/3.1/coherent"));
  assert(large({ cpu: "read-write", gpu: "coalesced", device: TX2 }).rules.includes("003/3.1/incoherent"));
});

Deno.test("003/3.1/managed-repeated: with I/O coherency, large, used often by both: unified", () => {
  for (const request of [{ gpu: "repeated" }, { gpu: "coalesced", repeats: 2 }] as const) {
    for (const device of [ORIN, XAVIER]) {
      const { kind, rules } = large({ cpu: "repeated", device, ...request });
      assertEquals([kind, rules[0]], ["managed", "003/3.1/managed-repeated"]);
    }
  }
});

Deno.test("003/3.1/managed-incoherent, 003/3.2/repeated-incoherent: without it, unified even for one pass", () => {
  for (const gpu of ["coalesced", "repeated", "scattered"] as const) {
    const advice = large({ cpu: "repeated", gpu, device: TX2 });
    assertEquals([advice.kind, advice.rules[0]], ["managed", "003/3.1/managed-incoherent"]);
    assert(advice.rules.includes("003/3.2/repeated-incoherent"));
    assertEquals(costRow(advice, "pinned"), "003/3.2/repeated-incoherent");
  }
});

Deno.test("own/rule/gpu-repeats: used often by the GPU alone: unified, by the same reason", () => {
  for (const device of [ORIN, TX2]) {
    const advice = large({ cpu: "write-once", gpu: "coalesced", repeats: 16, device });
    assertEquals([advice.kind, advice.rules[0]], ["managed", "own/rule/gpu-repeats"]);
    assertEquals(costRow(advice, "pinned"), "003/table-1/pinned/igpu");
  }
});

Deno.test("003/3.1/safety, 003/3.3/latency: where safety counts it is pinned, and never unified", () => {
  for (const device of [ORIN, TX2]) {
    const advice = large({ cpu: "repeated", gpu: "repeated", repeats: 100, device, safety: true });
    assertEquals([advice.kind, advice.rules.slice(0, 2)], ["pinned", ["003/3.1/safety", "003/3.3/latency"]]);
    assertEquals(exclusionRow(advice, "managed"), "003/3.1/safety");
  }
  assertEquals(
    exclusionRow(large({ cpu: "repeated", gpu: "repeated", device: H200, safety: true }), "managed"),
    "003/3.1/safety",
  );
});

Deno.test("003/3.1/maintenance, 003/3.1/maintenance-incoherent: what unified memory would cost", () => {
  assertEquals(costRow(large({ cpu: "read-write", gpu: "coalesced", device: ORIN }), "managed"), "003/3.1/maintenance");
  const incoherent = large({ cpu: "read-write", gpu: "coalesced", device: TX2 });
  assertEquals(costRow(incoherent, "managed"), "003/3.1/maintenance-incoherent");
});

Deno.test("003/3.1/shared: where unified memory cannot be had, pinned does, and the other way round", () => {
  const repeated = { cpu: "repeated", gpu: "repeated" } as const;
  const pinned = large({ ...repeated, device: DEVICES["Orin without unified memory"] });
  assertEquals(pinned.kind, "pinned");
  assertEquals(pinned.rules.slice(0, 3), [
    "003/3.1/managed-repeated",
    "cuda/cudaMallocManaged/attribute",
    "003/3.1/shared",
  ]);
  const managed = large({ cpu: "read-write", gpu: "coalesced", device: DEVICES["Orin that cannot map"] });
  assertEquals(managed.kind, "managed");
  assertEquals(managed.rules.slice(0, 3), ["003/3.1/pinned-once", "002/example/can-map", "003/3.1/shared"]);
});

Deno.test("003/2/same-dram: what device memory would cost on a Tegra", () => {
  assertEquals(costRow(large({ cpu: "read-write", gpu: "coalesced", device: ORIN }), "device"), "003/2/same-dram");
});

Deno.test("own/rule/cpu-alone, own/rule/safety-elsewhere: what is said of a Tegra is said of Tegras alone", () => {
  const alone = { cpu: "repeated", gpu: "none" } as const;
  assertEquals(exclusionRow(large({ ...alone, device: H200 }), "device"), "own/rule/cpu-alone");
  assertEquals(exclusionRow(large({ ...alone, device: ORIN }), "device"), "003/table-1/device/cpu");
  const safe = { cpu: "write-once", gpu: "coalesced", safety: true } as const;
  assert(cautionRows(large({ ...safe, device: H200 })).includes("own/rule/safety-elsewhere"));
  assert(!cautionRows(large({ ...safe, device: ORIN })).includes("own/rule/safety-elsewhere"));
});

Deno.test("own/rule/copied: with neither in common, the bytes are copied", () => {
  const advice = large({ cpu: "read-write", gpu: "coalesced", device: DEVICES["Orin with neither"] });
  assertEquals([advice.kind, advice.staging?.kind], ["device", "pinned"]);
  assert(advice.rules.includes("own/rule/copied"));
});

Deno.test("003/3.1/evaluate: a caution wherever both use a buffer on an integrated GPU", () => {
  assert(cautionRows(large({ cpu: "read-write", gpu: "coalesced", device: ORIN })).includes("003/3.1/evaluate"));
  assert(!cautionRows(large({ cpu: "none", gpu: "coalesced", device: ORIN })).includes("003/3.1/evaluate"));
});

Deno.test("003/3.2/read-time: §3.2's image chain without I/O coherency: measure the CPU's part", () => {
  const size = 1024 * 1024 * 4;
  const input = advise({ size, cpu: "write-once", gpu: "coalesced", device: TX2 });
  assert(cautionRows(input).includes("003/3.2/read-time"));
  assertEquals(advise({ size, cpu: "repeated", gpu: "coalesced", device: TX2 }).kind, "managed");
  assertEquals(advise({ size, cpu: "none", gpu: "coalesced", device: TX2 }).kind, "device");
  for (const device of [ORIN, DEVICES["TX2 without unified memory"]]) {
    const other = advise({ size, cpu: "write-once", gpu: "coalesced", device });
    assert(!cautionRows(other).includes("003/3.2/read-time"));
  }
});

Deno.test("003/3.2/transfers: §3.2's image chain on x86: its ends are pinned, and copied", () => {
  const { kind, staging, rules } = large({ cpu: "read-write", gpu: "coalesced", repeats: 3, device: H200 });
  assertEquals([kind, staging?.kind], ["device", "pinned"]);
  assert(rules.includes("003/3.2/transfers"));
});

Deno.test("003/3.2/host-register, 003/3.2/pinned-instead: below 7.2 a buffer cannot be registered", () => {
  const advice = large({ cpu: "read-write", gpu: "coalesced", device: TX2, existing: true });
  assertEquals([advice.kind, exclusionRow(advice, "registered")], ["pinned", "003/3.2/host-register"]);
  assert(advice.rules.includes("003/3.2/pinned-instead"));
  assert(cautionRows(advice).includes("own/rule/copied-once"));
});

Deno.test("003/3.6/host-register-qnx: nor on QNX", () => {
  const advice = large({ cpu: "read-write", gpu: "coalesced", device: DEVICES["Orin with QNX"], existing: true });
  assertEquals([advice.kind, exclusionRow(advice, "registered")], ["pinned", "003/3.6/host-register-qnx"]);
});

Deno.test("003/3.2/gnu-atomics: a caution for pinned memory below 7.2", () => {
  assert(cautionRows(large({ cpu: "read-write", gpu: "coalesced", device: TX2 })).includes("003/3.2/gnu-atomics"));
  assert(!cautionRows(large({ cpu: "read-write", gpu: "coalesced", device: XAVIER })).includes("003/3.2/gnu-atomics"));
});

Deno.test("002/zero-copy/in-place: once, coalesced, on a discrete GPU: mapped", () => {
  for (const device of [H200, PEGASUS_DGPU]) {
    const { kind, rules, staging } = large({ cpu: "read-write", gpu: "coalesced", device });
    assertEquals([kind, rules[0], staging], ["pinned", "002/zero-copy/in-place", undefined]);
  }
});

Deno.test("best/zero-copy/once: more than once on a discrete GPU: device memory, because it is its own", () => {
  for (const request of [{ gpu: "repeated" }, { gpu: "coalesced", repeats: 2 }] as const) {
    for (const device of [H200, PEGASUS_DGPU]) {
      const advice = large({ cpu: "read-write", device, ...request });
      assertEquals([advice.kind, advice.rules[0]], ["device", "best/zero-copy/once"]);
      assert(advice.rules.includes("003/2/own-dram"));
    }
  }
  const advice = large({ cpu: "read-write", gpu: "repeated", device: H200 });
  assertEquals(costRow(advice, "pinned"), "best/zero-copy/once");
});

Deno.test("best/zero-copy/coalesced: not coalesced on a discrete GPU: device memory", () => {
  const advice = large({ cpu: "read-write", gpu: "scattered", device: H200 });
  assertEquals([advice.kind, advice.rules[0]], ["device", "best/zero-copy/coalesced"]);
  assertEquals(costRow(advice, "pinned"), "best/zero-copy/coalesced");
});

Deno.test("003/3.4/transfer-time, 003/table-1/managed/dgpu: beside a Tegra: no unified memory", () => {
  const once = large({ cpu: "read-write", gpu: "coalesced", device: PEGASUS_DGPU });
  assertEquals(costRow(once, "device"), "003/3.4/transfer-time");
  assertEquals(exclusionRow(once, "managed"), "003/table-1/managed/dgpu");
  const often = large({ cpu: "read-write", gpu: "repeated", device: PEGASUS_DGPU });
  assertEquals(costRow(often, "pinned"), "003/table-1/pinned/dgpu");
  assert(often.rules.includes("003/table-1/device/dgpu"));
});

Deno.test("003/3.2/repeated-incoherent: beside a Tegra without I/O coherency the CPU keeps pageable memory", () => {
  const advice = large({ cpu: "repeated", gpu: "coalesced", device: PX2_DGPU });
  assertEquals([advice.kind, advice.rules[0]], ["device", "003/3.2/repeated-incoherent"]);
  assertEquals(advice.staging, {
    kind: "pageable",
    flags: [],
    call: "host.allocate()",
    rules: ["003/3.2/repeated-incoherent"],
  });
  assertEquals(large({ cpu: "repeated", gpu: "coalesced", device: PEGASUS_DGPU }).kind, "pinned");
});

Deno.test("003/3.1/incoherent: a caution for pinned memory beside a Tegra without I/O coherency", () => {
  assert(cautionRows(large({ cpu: "write-once", gpu: "coalesced", device: PX2_DGPU })).includes("003/3.1/incoherent"));
});

Deno.test("003/3.6/p2p: several contexts on a Tegra cannot have each other's device memory", () => {
  const request = { cpu: "none", gpu: "coalesced", contexts: 2 } as const;
  assert(cautionRows(large({ ...request, device: PEGASUS_DGPU })).includes("003/3.6/p2p"));
  assertEquals(cautionRows(large({ ...request, device: H200 })), []);
});

Deno.test("cuda/cudaMallocManaged/migrates: what unified memory would cost on a discrete GPU", () => {
  const advice = large({ cpu: "read-write", gpu: "coalesced", device: H200 });
  assertEquals(costRow(advice, "managed"), "cuda/cudaMallocManaged/migrates");
});

Deno.test("cuda/cudaMallocManaged/attribute: a device without unified memory excludes it", () => {
  const advice = large({ cpu: "read-write", gpu: "coalesced", device: { ...H200, managedMemory: false } });
  assertEquals(exclusionRow(advice, "managed"), "cuda/cudaMallocManaged/attribute");
});

Deno.test("cuda/cudaDeviceProp/pageable-access: out of reach, unless it says otherwise", () => {
  const request = { cpu: "read-write", gpu: "coalesced" } as const;
  assertEquals(exclusionRow(large({ ...request, device: H200 }), "pageable"), "cuda/cudaDeviceProp/pageable-access");
  assertEquals(exclusionRow(large({ ...request, device: ORIN }), "pageable"), "003/table-1/pageable/igpu");
  assertEquals(exclusionRow(large({ ...request, device: PEGASUS_DGPU }), "pageable"), "003/table-1/pageable/dgpu");
  const reached = large({ ...request, device: DEVICES["H200 that reaches pageable memory"] });
  assertEquals(costRow(reached, "pageable"), "cuda/cudaDeviceProp/pageable-access");
});

Deno.test("cuda/cudaHostAlloc/page-locked: what pinned memory would cost a buffer that is the CPU's alone", () => {
  const request = { cpu: "repeated", gpu: "none" } as const;
  assertEquals(costRow(large({ ...request, device: H200 }), "pinned"), "cuda/cudaHostAlloc/page-locked");
  assertEquals(costRow(large({ ...request, device: ORIN }), "pinned"), "cuda/cudaHostAlloc/page-locked");
  assertEquals(costRow(large({ ...request, device: TX2 }), "pinned"), "003/3.2/repeated-incoherent");
  const once = large({ cpu: "read-once", gpu: "none", device: TX2 });
  assertEquals(costRow(once, "pinned"), "003/table-1/pinned/cpu/incoherent");
  assertEquals(exclusionRow(once, "device"), "003/table-1/device/cpu");
});

Deno.test("own/rule/integrated-elsewhere: outside of Tegra, judged like one, and the advice says so", () => {
  const request = { cpu: "repeated", gpu: "repeated" } as const;
  const advice = large({ ...request, device: INTEGRATED });
  assertEquals([advice.kind, advice.rules], ["managed", large({ ...request, device: ORIN }).rules]);
  assert(cautionRows(advice).includes("own/rule/integrated-elsewhere"));
});

Deno.test("003/3.3/latency, programming/coherency/cpu-waits: cautions for unified memory", () => {
  const advice = large({ cpu: "repeated", gpu: "repeated", device: ORIN });
  assert(cautionRows(advice).includes("003/3.3/latency"));
  assert(cautionRows(advice).includes("programming/coherency/cpu-waits"));
  const concurrent = large({ cpu: "repeated", gpu: "repeated", device: DEVICES["Orin with concurrent access"] });
  assert(!cautionRows(concurrent).includes("programming/coherency/cpu-waits"));
});

Deno.test("why: the rows that decided, each with its document and section", () => {
  const { why } = large({ cpu: "repeated", gpu: "coalesced", device: TX2 });
  assertEquals(
    why,
    "Without I/O coherency, a large buffer that CPU and GPU both use often is better in unified memory even if the " +
      "GPU does not use it repeatedly: neither caches pinned memory, and this way the CPU can (CUDA for Tegra, §3.1). " +
      "Without I/O coherency, repeated use of pinned memory slows the CPU down, because it does not cache that memory " +
      "(CUDA for Tegra, §3.2).",
  );
});
