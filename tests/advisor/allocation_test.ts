// How memory is allocated, mapped and given back: seed 002, and CUDA's reference. One test a row.

import { assert, assertEquals } from "@std/assert";
import { advise, type AdviseRequest, memoryFunctions } from "../../src/advisor/mod.ts";
import { DEVICES, H200, ORIN, PEGASUS_DGPU } from "./devices.ts";
import { LARGE } from "./requests.ts";

/** Advice for a large buffer that a discrete GPU goes over once, so that it is used in place. */
const inPlace = (request: Partial<AdviseRequest> = {}) =>
  advise({ size: LARGE, cpu: "read-write", gpu: "coalesced", device: H200, ...request });

/** The same for one that it goes over often, so that it is copied. */
const copied = (request: Partial<AdviseRequest> = {}) => inPlace({ repeats: 16, ...request });

Deno.test("002/cudaHostAlloc/new, 002/cudaHostAlloc/mapped: new memory is allocated pinned and mapped", () => {
  const { kind, flags, rules } = inPlace();
  assertEquals([kind, flags], ["pinned", ["cudaHostAllocMapped"]]);
  assert(rules.includes("002/cudaHostAlloc/new") && rules.includes("002/cudaHostAlloc/mapped"));
});

Deno.test("002/cudaHostRegister/existing, 002/cudaHostRegister/mapped: what exists already is registered", () => {
  const { kind, flags, rules, otherwise, excluded } = inPlace({ existing: true });
  assertEquals([kind, flags], ["registered", ["cudaHostRegisterMapped"]]);
  assert(rules.includes("002/cudaHostRegister/existing") && rules.includes("002/cudaHostRegister/mapped"));
  assertEquals(otherwise.find((it) => it.kind === "pinned")?.row, "own/rule/copied-once");
  assert(excluded.every((it) => it.kind !== "registered"));
  const fresh = inPlace().excluded.find((it) => it.kind === "registered");
  assertEquals(fresh?.row, "002/cudaHostRegister/existing", "there is nothing to register");
});

Deno.test("002/cudaHostAlloc/portable, 002/cudaHostRegister/portable: for several contexts", () => {
  assertEquals(inPlace({ contexts: 2 }).flags, ["cudaHostAllocMapped", "cudaHostAllocPortable"]);
  assertEquals(inPlace({ contexts: 2, existing: true }).flags, ["cudaHostRegisterMapped", "cudaHostRegisterPortable"]);
  assertEquals(copied({ contexts: 2 }).staging?.flags, ["cudaHostAllocPortable"]);
});

Deno.test("002/cudaHostAlloc/write-combined: for uploads alone", () => {
  const combined = "cudaHostAllocWriteCombined" as const;
  for (const device of [H200, PEGASUS_DGPU]) {
    const upload = inPlace({ cpu: "write-once", device });
    assertEquals(upload.flags, ["cudaHostAllocMapped", combined]);
    assert(upload.rules.includes("002/cudaHostAlloc/write-combined"));
  }
  assertEquals(inPlace({ cpu: "write-once", gpuWrites: false }).flags.includes(combined), true);
  assertEquals(inPlace({ cpu: "write-once", gpuWrites: true }).flags.includes(combined), false);
  for (const cpu of ["read-once", "read-write", "repeated"] as const) {
    assertEquals(inPlace({ cpu }).flags, ["cudaHostAllocMapped"], "the CPU reads it");
  }
  assertEquals(inPlace({ cpu: "write-once", device: ORIN }).flags, ["cudaHostAllocMapped"], "it is not uploaded");
  assertEquals(copied({ cpu: "write-once" }).staging?.flags, [combined]);
});

Deno.test("own/measured/write-combined: a caution with it", () => {
  const rows = (request: Partial<AdviseRequest>) => inPlace(request).cautions.map(({ row }) => row);
  assertEquals(rows({ cpu: "write-once" }), [
    "own/measured/write-combined",
    "own/measured/upload-once",
  ]);
  assertEquals(rows({ cpu: "write-once", repeats: 16 }), ["own/measured/write-combined"]);
  assertEquals(rows({ cpu: "read-write" }), []);
});

Deno.test("002/cudaHostRegister/read-only: where the GPU is promised to read only, and the device has it", () => {
  const readOnly = ["cudaHostRegisterMapped", "cudaHostRegisterReadOnly"] as const;
  assertEquals(inPlace({ existing: true, gpuWrites: false }).flags, readOnly);
  assertEquals(inPlace({ existing: true }).flags, ["cudaHostRegisterMapped"], "nobody has promised it");
});

Deno.test("cuda/cudaHostRegister/read-only: a device without it gets no such flag, and the caution", () => {
  const device = DEVICES["H200 without read-only registering"];
  const { flags, cautions } = inPlace({ existing: true, gpuWrites: false, device });
  assertEquals(flags, ["cudaHostRegisterMapped"]);
  assert(cautions.some(({ row }) => row === "cuda/cudaHostRegister/read-only"));
});

Deno.test("002/cudaHostAlloc/default, 002/cudaHostRegister/default: pinned and not mapped, for copies", () => {
  const fresh = copied();
  assertEquals([fresh.staging?.kind, fresh.staging?.flags], ["pinned", ["cudaHostAllocDefault"]]);
  assert(fresh.rules.includes("002/cudaHostAlloc/default"));
  const existing = copied({ existing: true });
  assertEquals([existing.staging?.kind, existing.staging?.flags], ["registered", ["cudaHostRegisterDefault"]]);
  assert(existing.rules.includes("002/cudaHostRegister/default"));
});

Deno.test("cuda/cudaHostRegister/attribute: what cannot be registered is copied from where it is", () => {
  const device = DEVICES["H200 without cudaHostRegister"];
  const { excluded, staging } = copied({ existing: true, device });
  assertEquals(excluded.find(({ kind }) => kind === "registered")?.row, "cuda/cudaHostRegister/attribute");
  assertEquals([staging?.kind, staging?.flags], ["pageable", []]);
});

Deno.test("002/cudaHostAlloc/prerequisite, 002/cudaHostRegister/prerequisite: cudaDeviceMapHost comes first", () => {
  assertEquals(inPlace().deviceFlags, ["cudaDeviceMapHost"]);
  assert(inPlace().rules.includes("002/cudaHostAlloc/prerequisite"));
  assertEquals(inPlace({ existing: true }).deviceFlags, ["cudaDeviceMapHost"]);
  assert(inPlace({ existing: true }).rules.includes("002/cudaHostRegister/prerequisite"));
  assertEquals(copied().deviceFlags, [], "copies map nothing");
});

Deno.test("002/example/can-map: a device that cannot map excludes both, and copies", () => {
  for (const existing of [false, true]) {
    const { kind, rules, excluded } = inPlace({ device: DEVICES["H200 that cannot map"], existing });
    assertEquals(kind, "device");
    assertEquals(rules.slice(0, 3), ["002/zero-copy/in-place", "002/example/can-map", "own/rule/copied"]);
    assertEquals(excluded.find((it) => it.kind === "pinned")?.row, "002/example/can-map");
    if (existing) assertEquals(excluded.find((it) => it.kind === "registered")?.row, "002/example/can-map");
  }
});

Deno.test("002/cudaHostAlloc/free, 002/cudaHostRegister/unregister, …: each goes back by its own function", () => {
  assertEquals(memoryFunctions("pinned"), {
    allocate: "cudaHostAlloc",
    release: "cudaFreeHost",
    row: "002/cudaHostAlloc/free",
  });
  assertEquals(memoryFunctions("registered"), {
    allocate: "cudaHostRegister",
    release: "cudaHostUnregister",
    row: "002/cudaHostRegister/unregister",
  });
  const others = (["device", "managed", "pageable"] as const).map(memoryFunctions);
  assertEquals(others.map(({ allocate, release }) => [allocate, release]), [
    ["cudaMalloc", "cudaFree"],
    ["cudaMallocManaged", "cudaFree"],
    ["malloc", "free"],
  ]);
  assertEquals(others.map(({ row }) => row), [
    "cuda/cudaFree/device",
    "cuda/cudaMallocManaged/free",
    "003/3.1/pageable-cpu-only",
  ]);
});

Deno.test("call: advice has samepage's call, and none for a buffer that stays as it is", () => {
  const calls = (request: Partial<AdviseRequest>) => inPlace(request).call;
  assertEquals(calls({}), "cuda.pinned.allocate()");
  assertEquals(calls({ cpu: "write-once", contexts: 2 }), "cuda.pinned.allocate({ writeCombined: true })");
  assertEquals(calls({ existing: true }), "cuda.register(tensor)");
  assertEquals(calls({ existing: true, gpuWrites: false }), "cuda.register(tensor, { readOnly: true })");
  assertEquals(calls({ repeats: 16 }), "cuda.allocate()");
  assertEquals(calls({ cpu: "repeated", repeats: 16, device: ORIN }), 'cuda.managed.allocate({ attach: "host" })');
  assertEquals(calls({ cpu: "read-once", repeats: 16, device: ORIN }), "cuda.managed.allocate()");
  assertEquals(calls({ gpu: "none" }), "host.allocate()");
  assertEquals(calls({ gpu: "none", existing: true }), undefined);
});

Deno.test("functions: advice has its kind's function, and none for a buffer that stays as it is", () => {
  assertEquals(inPlace().functions?.release, "cudaFreeHost");
  assertEquals(inPlace({ gpu: "none" }).functions?.release, "free");
  assertEquals(inPlace({ gpu: "none", existing: true }).functions, undefined);
});

Deno.test("own/measured/register: a caution with registered memory", () => {
  assert(inPlace({ existing: true }).cautions.some(({ row }) => row === "own/measured/register"));
});

Deno.test("003/3.3/attach-input: managed memory that the CPU fills is attached to the host first", () => {
  const managed = (request: Partial<AdviseRequest>) => inPlace({ device: ORIN, repeats: 16, ...request });
  assertEquals(managed({ cpu: "repeated" }).flags, ["cudaMemAttachHost"]);
  assertEquals(managed({ cpu: "read-once" }).flags, ["cudaMemAttachGlobal"]);
  const concurrent = DEVICES["Orin with concurrent access"];
  assertEquals(managed({ cpu: "repeated", device: concurrent }).flags, ["cudaMemAttachGlobal"]);
});
