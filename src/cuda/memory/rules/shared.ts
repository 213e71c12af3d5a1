import { always, type CudaKindRules, type CudaOperation, type CudaRule, never } from "./rule.ts";

type Rules<O extends CudaOperation> = Readonly<Record<O, CudaRule>>;

export function byKernels(rule: CudaRule): Rules<"kernel-read" | "kernel-write"> {
  return { "kernel-read": rule, "kernel-write": rule };
}

export function byTheHost(rule: CudaRule): Rules<"host-read" | "host-write" | "host-view-while-a-kernel-runs"> {
  return { "host-read": rule, "host-write": rule, "host-view-while-a-kernel-runs": rule };
}

/** The rules of memory that other processes and APIs cannot import, for one reason. */
export function notExported(
  reason: string,
  remedy: string,
  remedyForIpc: string = remedy,
): Rules<"export-ipc" | "export-fd" | "export-dma-buf" | "share-opencl"> {
  return {
    "export-ipc": never("cudaIpcGetMemHandle", reason, remedyForIpc),
    "export-fd": NO_HANDLE,
    "export-dma-buf": never("cuMemGetHandleForAddressRange", reason, remedy),
    "share-opencl": never("cuMemExportToShareableHandle", reason, remedy),
  };
}

/** Only memory of cuMemCreate has an fd. */
const NO_HANDLE: CudaRule = never(
  "cuMemExportToShareableHandle",
  "only memory of cuMemCreate has a handle to export",
  "Allocate it by cuda.virtual.",
);

/** Only pageable host memory is registered. */
export const NOT_REGISTERED: Rules<"register" | "unregister"> = {
  register: never("cudaHostRegister", "only host memory that CUDA did not allocate can be registered"),
  unregister: never("cudaHostUnregister", "it was not registered by cudaHostRegister"),
};

const USE_MANAGED = "Allocate it by cuda.managed.";

/** The rules of all memory but managed: it is copied by its address, and does not move. */
const EVERYWHERE = {
  copy: always("cudaMemcpyAsync"),
  prefetch: never("cuMemPrefetchAsync", "only managed memory can be prefetched", USE_MANAGED),
  advise: never("cuMemAdvise", "only managed memory takes advice", USE_MANAGED),
  attach: never("cudaStreamAttachMemAsync", "only managed memory can be attached", USE_MANAGED),
};

export const ON_A_DEVICE = {
  ...EVERYWHERE,
  ...NOT_REGISTERED,
  ...byTheHost(
    never(
      "003/table-1",
      "the CPU cannot reach device memory",
      'Copy it: graph.map(tensor, host, { copy: "allow" }).',
    ),
  ),
  "export-fd": NO_HANDLE,
};

const USE_DEVICE = "Allocate it by cuda.allocate().";

export const ON_THE_HOST = {
  ...EVERYWHERE,
  "export-ipc": never("cudaIpcGetMemHandle", "CUDA IPC exports only device memory of cudaMalloc", USE_DEVICE),
  "export-fd": NO_HANDLE,
  "export-dma-buf": never(
    "cuMemGetHandleForAddressRange",
    "only device memory can be exported as a dma-buf",
    USE_DEVICE,
  ),
  "share-opencl": never(
    "clCreateBuffer",
    "NVIDIA's OpenCL copies host memory to the device and back at each map",
    "Allocate it by cuda.virtual, which OpenCL imports. Or map it to the host, and from there to OpenCL, with those copies.",
  ),
};

export function rules(of: CudaKindRules): CudaKindRules {
  return Object.freeze(of);
}
