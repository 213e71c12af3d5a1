/** A feature of CUDA that not every Tegra has. */
export type CudaFeature =
  | "cudaHostRegister"
  | "cudaMemPrefetchAsync"
  | "cusolver"
  | "gnu-atomics-on-pinned"
  | "ipc"
  | "jit"
  | "managed"
  | "mps"
  | "nvgraph"
  | "nvml"
  | "p2p"
  | "rdma"
  | "system-atomics";

/** What is true of a machine; `"no-concurrent-access"` is cudaDevAttrConcurrentManagedAccess 0. */
export type Condition = "tegra" | "igpu" | "dgpu" | "incoherent" | "qnx" | "no-concurrent-access" | "safety";

/** What CUDA for Tegra lists in §3.6, and what §3.2 says of atomics. */
export type UnsupportedRowId =
  | "003/3.2/gnu-atomics"
  | `003/3.6/${
    | "host-register"
    | "host-register-qnx"
    | "system-atomics"
    | "managed-dgpu"
    | "prefetch-async"
    | "nvml"
    | "ipc"
    | "rdma"
    | "jit"
    | "jit-safety"
    | "mps"
    | "p2p"
    | "cusolver-qnx"
    | "nvgraph"}`;

/** One entry of the list. */
export interface Unsupported {
  /** What is missing. */
  readonly feature: CudaFeature;
  /** Where: all of these hold. */
  readonly where: readonly Condition[];
  /** `"discouraged"` is there, and advised against. */
  readonly support: "no" | "discouraged";
  /** In our own words. */
  readonly says: string;
  /** What the document names in its place. */
  readonly instead?: string;
}

/** The list. Where two entries are of one feature, the first that holds counts. */
export const UNSUPPORTED: Readonly<Record<UnsupportedRowId, Unsupported>> = {
  "003/3.2/gnu-atomics": {
    feature: "gnu-atomics-on-pinned",
    where: ["tegra", "incoherent"],
    support: "no",
    says: "A Tegra's CPU has no GNU atomics on uncached memory, which pinned memory is below compute capability 7.2.",
  },
  "003/3.6/host-register-qnx": {
    feature: "cudaHostRegister",
    where: ["tegra", "qnx"],
    support: "no",
    says: "cudaHostRegister is not supported on QNX.",
    instead: "cudaHostAlloc or cudaMallocHost",
  },
  "003/3.6/host-register": {
    feature: "cudaHostRegister",
    where: ["tegra", "incoherent"],
    support: "no",
    says: "On a Tegra with Linux cudaHostRegister is supported from compute capability 7.2.",
    instead: "cudaHostAlloc or cudaMallocHost",
  },
  "003/3.6/system-atomics": {
    feature: "system-atomics",
    where: ["tegra", "incoherent"],
    support: "no",
    says: "System-wide atomics are not supported on a Tegra below compute capability 7.2.",
  },
  "003/3.6/managed-dgpu": {
    feature: "managed",
    where: ["tegra", "dgpu"],
    support: "no",
    says: "Unified memory is not supported on a discrete GPU that is attached to a Tegra.",
  },
  "003/3.6/prefetch-async": {
    feature: "cudaMemPrefetchAsync",
    where: ["tegra", "igpu", "no-concurrent-access"],
    support: "no",
    says: "cudaMemPrefetchAsync needs unified memory with concurrent access, which the integrated GPU has not got yet.",
    instead: "cudaStreamAttachMemAsync",
  },
  "003/3.6/nvml": {
    feature: "nvml",
    where: ["tegra"],
    support: "no",
    says: "NVIDIA's management library (NVML) is not supported on a Tegra.",
    instead: "tegrastats",
  },
  "003/3.6/ipc": {
    feature: "ipc",
    where: ["tegra"],
    support: "no",
    says: "CUDA IPC is not supported on a Tegra.",
    instead: "EGLStream",
  },
  "003/3.6/rdma": {
    feature: "rdma",
    where: ["tegra"],
    support: "no",
    says: "Remote direct memory access (RDMA) is not supported on a Tegra.",
  },
  "003/3.6/jit-safety": {
    feature: "jit",
    where: ["tegra", "safety"],
    support: "no",
    says: "Compiling at run time (PTX, NVRTC) is not supported on a Tegra in the safe context.",
    instead: "code compiled for the GPU at hand",
  },
  "003/3.6/jit": {
    feature: "jit",
    where: ["tegra"],
    support: "discouraged",
    says: "Compiling at run time (PTX, NVRTC) takes much of CPU and bandwidth, and is advised against where an " +
      "automotive application has to be deterministic.",
    instead: "code compiled for the GPU at hand",
  },
  "003/3.6/mps": {
    feature: "mps",
    where: ["tegra"],
    support: "no",
    says: "The multi-process service (MPS) is not supported on a Tegra.",
  },
  "003/3.6/p2p": {
    feature: "p2p",
    where: ["tegra"],
    support: "no",
    says: "Peer-to-peer calls between GPUs are not supported on a Tegra.",
  },
  "003/3.6/cusolver-qnx": {
    feature: "cusolver",
    where: ["tegra", "qnx"],
    support: "no",
    says: "The cuSOLVER library is not supported on a Tegra with QNX.",
  },
  "003/3.6/nvgraph": {
    feature: "nvgraph",
    where: ["tegra"],
    support: "no",
    says: "The nvGRAPH library is not supported on a Tegra.",
  },
};
