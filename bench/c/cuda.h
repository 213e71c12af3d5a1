// What the CUDA programs of the bench share: the device, a stream, the kernels, and the end of what was submitted.
//
// A program is started as `program PCI kernels.cubin`; serve.h says what it answers.
#ifndef SAMEPAGE_BENCH_CUDA_H
#define SAMEPAGE_BENCH_CUDA_H

#include "serve.h"
#include <cuda_runtime_api.h>

// Pieces of 16 bytes, and threads of a block: kernels.cu.
enum { PIECES = FRAME / 16, BLOCK = 256, GRID = (PIECES + BLOCK - 1) / BLOCK };

static cudaStream_t stream;
static cudaLibrary_t library;
static cudaEvent_t end;

static inline void check(cudaError_t code, const char *function) {
  if (code == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", function, cudaGetErrorName(code));
  exit(1);
}

static inline cudaKernel_t get_kernel(const char *name) {
  cudaKernel_t kernel;
  check(cudaLibraryGetKernel(&kernel, library, name), "cudaLibraryGetKernel");
  return kernel;
}

static inline void launch(cudaKernel_t kernel, unsigned grid, unsigned block, void **arguments) {
  const cudaLaunchConfig_t config = {.gridDim = {grid, 1, 1}, .blockDim = {block, 1, 1}, .stream = stream};
  check(cudaLaunchKernelExC(&config, (const void *)kernel, arguments), "cudaLaunchKernelExC");
}

// An event as samepage makes them: it keeps no time, and who waits for it sleeps.
static inline cudaEvent_t make_event(unsigned flags) {
  cudaEvent_t event;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | flags), "cudaEventCreateWithFlags");
  return event;
}

static inline void wait_for(cudaEvent_t event) {
  check(cudaEventRecord(event, stream), "cudaEventRecord");
  check(cudaEventSynchronize(event), "cudaEventSynchronize");
}

// Waits for all that was submitted.
static inline void finish(void) { wait_for(end); }

static inline unsigned char *make_pinned(size_t length) {
  void *bytes;
  check(cudaHostAlloc(&bytes, length, cudaHostAllocPortable | cudaHostAllocMapped), "cudaHostAlloc");
  return (unsigned char *)bytes;
}

// What kernels call memory of the host.
static inline unsigned char *alias_of(void *host) {
  void *device;
  check(cudaHostGetDevicePointer(&device, host, 0), "cudaHostGetDevicePointer");
  return (unsigned char *)device;
}

static inline unsigned char *make_device(size_t length) {
  void *bytes;
  check(cudaMalloc(&bytes, length), "cudaMalloc");
  return (unsigned char *)bytes;
}

// A frame of random bytes in pinned memory.
static inline unsigned char *make_pinned_frame(void) {
  unsigned char *pinned = make_pinned(FRAME), *random = make_frame();
  memcpy(pinned, random, FRAME);
  munmap(random, FRAME);
  return pinned;
}

static inline int serve(int argc, char **argv, const struct operation *operations, size_t length) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s PCI kernels.cubin\n", argv[0]);
    return 2;
  }
  int device;
  const cudaError_t there = cudaDeviceGetByPCIBusId(&device, argv[1]);
  if (there != cudaSuccess) {
    printf("missing: cudaDeviceGetByPCIBusId answered %s\n", cudaGetErrorName(there));
    return 0;
  }
  check(cudaSetDevice(device), "cudaSetDevice");
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check(cudaLibraryLoadFromFile(&library, argv[2], NULL, NULL, 0, NULL, NULL, 0), "cudaLibraryLoadFromFile");
  end = make_event(cudaEventBlockingSync);
  return answer(operations, length);
}

#define SERVE(operations) \
  int main(int argc, char **argv) { return serve(argc, argv, operations, sizeof operations / sizeof *operations); }

#endif
