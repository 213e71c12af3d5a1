// CUDA for Tegra, §3.6 (and §3.2 of atomics): one test an entry.

import { assertEquals } from "@std/assert";
import { CUDA_FEATURES, type CudaDeviceTraits, type CudaFeature, tegraFeature } from "../../src/advisor/mod.ts";
import { DEVICES, H200, INTEGRATED, ORIN, PEGASUS_DGPU, TX2, XAVIER } from "./devices.ts";

const QNX = DEVICES["Orin with QNX"];

interface Entry {
  readonly feature: CudaFeature;
  readonly missing: readonly CudaDeviceTraits[];
  readonly there?: readonly CudaDeviceTraits[];
  readonly safety?: true;
  readonly support?: "discouraged";
  readonly instead?: string;
}

const PINNED = "cudaHostAlloc or cudaMallocHost";

const ENTRIES: Readonly<Record<string, Entry>> = {
  "003/3.2/gnu-atomics": { feature: "gnu-atomics-on-pinned", missing: [TX2], there: [XAVIER, ORIN] },
  "003/3.6/host-register": { feature: "cudaHostRegister", missing: [TX2], there: [XAVIER, ORIN], instead: PINNED },
  "003/3.6/host-register-qnx": { feature: "cudaHostRegister", missing: [QNX], there: [ORIN], instead: PINNED },
  "003/3.6/system-atomics": { feature: "system-atomics", missing: [TX2], there: [XAVIER] },
  "003/3.6/managed-dgpu": { feature: "managed", missing: [PEGASUS_DGPU], there: [TX2, ORIN] },
  "003/3.6/prefetch-async": {
    feature: "cudaMemPrefetchAsync",
    missing: [TX2, ORIN],
    there: [DEVICES["Orin with concurrent access"]],
    instead: "cudaStreamAttachMemAsync",
  },
  "003/3.6/nvml": { feature: "nvml", missing: [ORIN], instead: "tegrastats" },
  "003/3.6/ipc": { feature: "ipc", missing: [ORIN, PEGASUS_DGPU], instead: "EGLStream" },
  "003/3.6/rdma": { feature: "rdma", missing: [ORIN, PEGASUS_DGPU] },
  "003/3.6/jit": {
    feature: "jit",
    missing: [ORIN],
    support: "discouraged",
    instead: "code compiled for the GPU at hand",
  },
  "003/3.6/jit-safety": { feature: "jit", missing: [ORIN], safety: true, instead: "code compiled for the GPU at hand" },
  "003/3.6/mps": { feature: "mps", missing: [ORIN] },
  "003/3.6/p2p": { feature: "p2p", missing: [ORIN, PEGASUS_DGPU] },
  "003/3.6/cusolver-qnx": { feature: "cusolver", missing: [QNX], there: [ORIN] },
  "003/3.6/nvgraph": { feature: "nvgraph", missing: [ORIN] },
};

for (const [row, { feature, missing, there = [], safety, support = "no", instead }] of Object.entries(ENTRIES)) {
  Deno.test(`${row}: ${feature} is ${support === "no" ? "missing" : support}`, () => {
    for (const device of missing) {
      const answer = tegraFeature(feature, device, safety);
      assertEquals([answer.row as string, answer.support, answer.instead], [row, support, instead]);
    }
    for (const device of [...there, H200, INTEGRATED]) {
      assertEquals(tegraFeature(feature, device, safety), { support: "not-listed", says: "" });
    }
  });
}

Deno.test("§3.6: every feature has an entry", () => {
  assertEquals([...CUDA_FEATURES].sort(), [...new Set(Object.values(ENTRIES).map(({ feature }) => feature))].sort());
});
