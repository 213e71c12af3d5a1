/**
 * What other documents say, in our own words: the article about zero copy (002), NVIDIA's guides and the reference of the
 * runtime API, to which CUDA for Tegra points where it is silent; and what no document says.
 */
export const OTHER_ROWS = {
  // 002, "Zero copy for GPUs"
  "002/zero-copy/in-place": "The GPU uses mapped host memory in the host's RAM, and no cudaMemcpy is needed.",
  "002/cudaHostAlloc/new": "New memory is pinned when it is allocated, by cudaHostAlloc.",
  "002/cudaHostAlloc/default": "cudaHostAllocDefault pins memory, and maps it for no device.",
  "002/cudaHostAlloc/portable": "cudaHostAllocPortable pins memory for all CUDA contexts of the process.",
  "002/cudaHostAlloc/mapped": "cudaHostAllocMapped pins and maps memory, so that kernels use it in place; " +
    "cudaHostGetDevicePointer returns its address there.",
  "002/cudaHostAlloc/write-combined": "cudaHostAllocWriteCombined makes the CPU's writes to the GPU fast and its " +
    "reads slow: it is for uploads.",
  "002/cudaHostAlloc/prerequisite":
    "cudaSetDeviceFlags(cudaDeviceMapHost) enables mapping, before the CUDA context is created.",
  "002/cudaHostAlloc/free":
    "Memory from cudaHostAlloc is released by cudaFreeHost, never by free, delete or cudaHostUnregister.",
  "002/cudaHostRegister/existing":
    "cudaHostRegister is for a buffer that exists already: it pins the buffer in place and allocates nothing.",
  "002/cudaHostRegister/default": "cudaHostRegisterDefault pins a buffer, and maps it for no device.",
  "002/cudaHostRegister/mapped": "cudaHostRegisterMapped pins and maps a buffer, so that kernels use it in place.",
  "002/cudaHostRegister/portable":
    "cudaHostRegisterPortable makes a buffer usable from all CUDA contexts of the process.",
  "002/cudaHostRegister/read-only": "cudaHostRegisterReadOnly says that the GPU only reads the buffer.",
  "002/cudaHostRegister/prerequisite":
    "A buffer is mapped only if mapping was enabled before the CUDA context was created.",
  "002/cudaHostRegister/unregister":
    "A buffer that cudaHostRegister pinned goes to cudaHostUnregister first; only then may its owner free it.",
  "002/example/can-map": "Where canMapHostMemory is 0 the device cannot map host memory: there is no zero copy.",

  // NVIDIA's guides, which hold for a Tegra too (§1)
  "best/zero-copy/once":
    "A discrete GPU does not cache mapped pinned memory, so it pays only if each byte is read or written once.",
  "best/zero-copy/coalesced":
    "A discrete GPU's accesses to mapped pinned memory must be coalesced, or it does not pay.",
  "programming/coherency/cpu-waits":
    "Where concurrentManagedAccess is 0 the CPU must not touch managed memory while a " +
    "kernel runs, unless it is attached to the host or to another stream.",

  // the reference of the runtime API (§3.5 points to it)
  "cuda/cudaSetDeviceFlags/auto":
    "cudaDeviceScheduleAuto yields if there are more CUDA contexts than processors, and " +
    "spins otherwise; on a Tegra that must save power it may block.",
  "cuda/cudaSetDeviceFlags/spin": "Spinning can shorten the latency of a wait, and takes CPU time from other threads.",
  "cuda/cudaSetDeviceFlags/yield": "Yielding can lengthen the latency of a wait, and leaves CPU time to other threads.",
  "cuda/cudaDeviceProp/pageable-access": "A GPU accesses pageable host memory only if its attribute " +
    "pageableMemoryAccess is 1; what that costs has to be measured.",
  "cuda/cudaFree/device": "Memory from cudaMalloc is released by cudaFree.",
  "cuda/cudaHostAlloc/page-locked":
    "Page-locked memory leaves less memory for paging: use it sparingly, where transfers need it.",
  "cuda/cudaHostRegister/attribute":
    "cudaHostRegister is supported only on devices whose attribute hostRegisterSupported is 1.",
  "cuda/cudaHostRegister/read-only":
    "cudaHostRegisterReadOnly is an error where the attribute hostRegisterReadOnlySupported is 0, so it is left out.",
  "cuda/cudaMallocManaged/attribute": "cudaMallocManaged is an error where the attribute managedMemory is 0.",
  "cuda/cudaMallocManaged/migrates":
    "Between a CPU and a discrete GPU, pages of managed memory migrate to the processor that touches them.",
  "cuda/cudaMallocManaged/free": "Memory from cudaMallocManaged is released by cudaFree.",
  "cuda/cudaMemPrefetchAsync/concurrent": "Where concurrentManagedAccess is 1, cudaMemPrefetchAsync migrates managed " +
    "memory to the processor that uses it next.",
  "cuda/cudaStreamAttachMemAsync/one-stream": "The CPU may use memory that is attached to one stream as soon as that " +
    "stream is done, whatever other streams do; memory cannot be attached to the default stream.",

  // samepage's own: rules that follow from the documents', and what was measured
  "own/rule/small":
    "CUDA for Tegra does not say which buffers are small: here those of at most 128 KiB are, or of at " +
    "most smallUpTo.",
  "own/rule/gpu-repeats": "CUDA for Tegra speaks of repeated use by the GPU where the CPU uses the buffer often too; " +
    "its reason, that the GPU's cache outweighs the cache maintenance, holds if only the GPU comes back.",
  "own/rule/integrated-elsewhere": "This integrated GPU is not in a Tegra; what CUDA for Tegra says of a Tegra's is " +
    "assumed to hold for it.",
  "own/rule/cpu-alone": "Only the CPU uses the buffer, and it cannot access device memory.",
  "own/rule/safety-elsewhere": "CUDA for Tegra advises against unified memory where safety matters on Tegras. It is " +
    "assumed to hold elsewhere: the driver moves the bytes when they are touched, which takes an unknown time.",
  "own/rule/copied": "The CPU cannot access device memory: the bytes are copied there before the kernels, and back " +
    "after them.",
  "own/rule/copied-once": "The buffer exists already: its bytes are copied to the new memory once.",
  "own/rule/attach-unchanged": "A flag that stays the same prefetches nothing.",
  "own/measured/register": "Registering and unregistering 33 MB took 1 to 2 ms on an H200, longer than one copy from " +
    "pinned memory: keep a buffer registered if it is used again.",
  "own/measured/write-combined": "Write-combined memory gained nothing on an H200: measure it.",
};
