// A CUDA driver whose device memory is the host's, as far as FFmpeg's frames go: it loads it as libcuda.so.1.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  size_t src_x, src_y;
  int src_type;
  const char *src_host;
  uint64_t src_device;
  void *src_array;
  size_t src_pitch, dst_x, dst_y;
  int dst_type;
  char *dst_host;
  uint64_t dst_device;
  void *dst_array;
  size_t dst_pitch, width, height;
} Copy;

enum { HOST = 1, DEVICE = 2, BLOCK = 1 << 20 };

int cuMemAlloc_v2(uint64_t *out, size_t size) {
  *out = (uint64_t)(uintptr_t)aligned_alloc(BLOCK, (size + BLOCK - 1) & ~(size_t)(BLOCK - 1)); // so its start is found
  return *out == 0 ? 2 : 0;
}

int cuMemFree_v2(uint64_t at) {
  free((void *)(uintptr_t)at);
  return 0;
}

int cuMemcpy2DAsync_v2(const Copy *c, void *stream) {
  (void)stream;
  const char *from = c->src_type == HOST ? c->src_host : (const char *)(uintptr_t)c->src_device;
  char *to = c->dst_type == HOST ? c->dst_host : (char *)(uintptr_t)c->dst_device;
  for (size_t y = 0; y < c->height; y++) {
    memcpy(to + c->dst_x + (c->dst_y + y) * c->dst_pitch, from + c->src_x + (c->src_y + y) * c->src_pitch, c->width);
  }
  return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)attribute, (void)device;
  *value = 512; // the alignment of textures
  return 0;
}

#define NOTHING(name) \
  int name(void) { return 0; }

NOTHING(cuInit) NOTHING(cuDriverGetVersion) NOTHING(cuDeviceGetCount) NOTHING(cuDeviceGet) NOTHING(cuDeviceGetName)
NOTHING(cuDeviceGetUuid) NOTHING(cuDeviceGetUuid_v2) NOTHING(cuDeviceGetLuid) NOTHING(cuDeviceGetByPCIBusId)
NOTHING(cuDeviceGetPCIBusId) NOTHING(cuDeviceComputeCapability) NOTHING(cuCtxCreate_v2) NOTHING(cuCtxGetCurrent)
NOTHING(cuCtxSetLimit) NOTHING(cuCtxPushCurrent_v2) NOTHING(cuCtxPopCurrent_v2) NOTHING(cuCtxDestroy_v2)
NOTHING(cuCtxGetDevice) NOTHING(cuMemAllocPitch_v2) NOTHING(cuMemAllocManaged) NOTHING(cuMemsetD8Async)
NOTHING(cuMemcpy) NOTHING(cuMemcpyAsync) NOTHING(cuMemcpy2D_v2) NOTHING(cuMemcpyHtoD_v2) NOTHING(cuMemcpyHtoDAsync_v2)
NOTHING(cuMemcpyDtoH_v2) NOTHING(cuMemcpyDtoHAsync_v2) NOTHING(cuMemcpyDtoD_v2) NOTHING(cuMemcpyDtoDAsync_v2)
NOTHING(cuGetErrorName) NOTHING(cuGetErrorString) NOTHING(cuDevicePrimaryCtxRetain) NOTHING(cuDevicePrimaryCtxRelease)
NOTHING(cuDevicePrimaryCtxSetFlags) NOTHING(cuDevicePrimaryCtxGetState) NOTHING(cuDevicePrimaryCtxReset)
NOTHING(cuStreamCreate) NOTHING(cuStreamQuery) NOTHING(cuStreamSynchronize) NOTHING(cuStreamDestroy_v2)
NOTHING(cuStreamAddCallback) NOTHING(cuStreamWaitEvent) NOTHING(cuEventCreate) NOTHING(cuEventDestroy_v2)
NOTHING(cuEventSynchronize) NOTHING(cuEventQuery) NOTHING(cuEventRecord) NOTHING(cuLaunchKernel) NOTHING(cuLinkCreate)
NOTHING(cuLinkAddData) NOTHING(cuLinkComplete) NOTHING(cuLinkDestroy) NOTHING(cuModuleLoadData) NOTHING(cuModuleUnload)
NOTHING(cuModuleGetFunction) NOTHING(cuModuleGetGlobal) NOTHING(cuModuleGetGlobal_v2) NOTHING(cuTexObjectCreate)
NOTHING(cuTexObjectDestroy) NOTHING(cuGLGetDevices_v2) NOTHING(cuGraphicsGLRegisterImage)
NOTHING(cuGraphicsUnregisterResource) NOTHING(cuGraphicsMapResources) NOTHING(cuGraphicsUnmapResources)
NOTHING(cuGraphicsSubResourceGetMappedArray) NOTHING(cuGraphicsResourceGetMappedPointer_v2)
NOTHING(cuImportExternalMemory) NOTHING(cuDestroyExternalMemory) NOTHING(cuExternalMemoryGetMappedBuffer)
NOTHING(cuExternalMemoryGetMappedMipmappedArray) NOTHING(cuMipmappedArrayDestroy) NOTHING(cuMipmappedArrayGetLevel)
NOTHING(cuImportExternalSemaphore) NOTHING(cuDestroyExternalSemaphore) NOTHING(cuSignalExternalSemaphoresAsync)
NOTHING(cuWaitExternalSemaphoresAsync) NOTHING(cuArrayCreate_v2) NOTHING(cuArray3DCreate_v2) NOTHING(cuArrayDestroy)
NOTHING(cuEGLStreamProducerConnect) NOTHING(cuEGLStreamProducerDisconnect) NOTHING(cuEGLStreamConsumerDisconnect)
NOTHING(cuEGLStreamProducerPresentFrame) NOTHING(cuEGLStreamProducerReturnFrame)
