import type { AllowedRule, CudaKindRules, CudaRule, RefusedRule } from "./rule.ts";

/** It may always be done. */
export function allowed(source: string, about: { by?: readonly string[]; warns?: string } = {}): AllowedRule {
  return { allowed: true, ...about, source };
}

/** It may never be done. */
export function never(source: string, reason: string, remedy?: string): RefusedRule {
  return { allowed: false, reason, ...(remedy === undefined ? {} : { remedy }), source };
}

const COPY = 'Copy it: graph.map(tensor, host, { copy: "allow" }).';

/** Memory that lies on a device. */
export const NOT_ON_THE_HOST: RefusedRule = never("003/table-1", "the CPU does not reach memory of a device", COPY);

/** The three ways in which the CPU might use memory of a device. */
export const CLOSED_TO_THE_HOST = {
  "host-read": NOT_ON_THE_HOST,
  "host-write": NOT_ON_THE_HOST,
  "host-view-while-a-kernel-runs": NOT_ON_THE_HOST,
} as const;

/** The same memory under OpenCL is one thing, and bytes that OpenCL's driver moves to and fro are another. */
export const OPENCL_MIGRATES: RefusedRule = never(
  "clCreateBuffer",
  "NVIDIA's OpenCL uses memory of the host by moving it to the device and back at each map",
  "Allocate it by cuda.virtual, which OpenCL imports; or map it by way of the host, with what that moves.",
);

/** What only memory of cuMemCreate can be. */
export const NO_HANDLE: RefusedRule = never(
  "cuMemExportToShareableHandle",
  "only what cuMemCreate has made for it has a handle to export",
  "Allocate it by cuda.virtual.",
);

/** What only managed memory is moved by. */
export const MOVED_BY_NOBODY = {
  prefetch: never("cuMemPrefetchAsync", "only managed memory moves", "Allocate it by cuda.managed."),
  advise: never("cuMemAdvise", "only managed memory moves", "Allocate it by cuda.managed."),
  attach: never(
    "cudaStreamAttachMemAsync",
    "only managed memory is attached to anybody",
    "Allocate it by cuda.managed.",
  ),
} as const;

/** Memory that is no plain memory of the host. */
export const NOT_REGISTERED = {
  register: never("cudaHostRegister", "only plain memory of the host is registered"),
  unregister: never("cudaHostUnregister", "only what cudaHostRegister was given is unregistered"),
} as const;

/** Memory of the host leaves the process by what the host knows. */
export const EXPORTED_BY_NOBODY = {
  "export-ipc": never(
    "cudaIpcGetMemHandle",
    "CUDA IPC exports memory of a device that cudaMalloc has made",
    "Allocate it by cuda.allocate().",
  ),
  "export-fd": NO_HANDLE,
  "export-dma-buf": never(
    "cuMemGetHandleForAddressRange",
    "only memory of a device is exported as a dma-buf",
    "Allocate it by cuda.allocate().",
  ),
} as const;

/** Everywhere alike: copies are asked for, and go by the address. */
export const COPIES: CudaRule = allowed("cudaMemcpyAsync");

/** All of a kind's rules. */
export function rules(of: CudaKindRules): CudaKindRules {
  return Object.freeze(of);
}
