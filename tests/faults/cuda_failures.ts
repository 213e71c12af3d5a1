/**
 * How the functions of CUDA's runtime, its driver and its compiler fail.
 *
 * @module
 */
import { CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_UNKNOWN } from "../../ffi/cuda_driver/errors.ts";
import type { CudaEgl } from "../../ffi/cuda_egl/functions.ts";
import type { CudaDriver } from "../../ffi/cuda_driver/functions.ts";
import { cudaErrorMemoryAllocation, cudaErrorUnknown } from "../../ffi/cuda_runtime/errors.ts";
import type { CudaRuntime } from "../../ffi/cuda_runtime/functions.ts";
import { readCudaExternalMemoryHandleDesc } from "../../ffi/cuda_runtime/structs.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { NVRTC_ERROR_INTERNAL_ERROR, NVRTC_ERROR_OUT_OF_MEMORY } from "../../ffi/nvrtc/errors.ts";
import type { Nvrtc } from "../../ffi/nvrtc/functions.ts";
import type { Failure, Failures } from "./failures.ts";

/** No code that is sticky: after one of those CUDA is given up for the whole process, as it has to be. */
const unknown: Failure = { result: cudaErrorUnknown };
const outOfMemory: Failure = { result: cudaErrorMemoryAllocation };
const release: Failure = { result: cudaErrorUnknown, release: true };

function fdIn(description: unknown): number {
  return Number(readCudaExternalMemoryHandleDesc(description as DataView, 0).handle);
}

/** CUDA's runtime. `cudaGetLastError` returns the code of the call before it. */
export const CUDART: Failures<CudaRuntime> = {
  cudaRuntimeGetVersion: unknown,
  cudaDriverGetVersion: unknown,
  cudaGetDeviceCount: unknown,
  cudaGetDevice: unknown,
  cudaSetDevice: unknown,
  cudaGetDeviceProperties: unknown,
  cudaDeviceGetAttribute: unknown,
  cudaDeviceGetPCIBusId: unknown,
  cudaSetDeviceFlags: unknown,
  cudaGetDeviceFlags: unknown,
  cudaMemGetInfo: unknown,
  cudaGetLastError: undefined,
  cudaDeviceCanAccessPeer: unknown,
  cudaDeviceEnablePeerAccess: unknown,
  cudaDeviceGetStreamPriorityRange: unknown,
  cudaStreamCreateWithPriority: outOfMemory,
  cudaStreamCreateWithFlags: outOfMemory,
  cudaStreamDestroy: release,
  cudaStreamQuery: { ...unknown, poll: true },
  cudaStreamSynchronize: unknown,
  cudaStreamWaitEvent: unknown,
  cudaStreamAttachMemAsync: unknown,
  cudaEventCreateWithFlags: outOfMemory,
  cudaEventDestroy: release,
  cudaEventRecord: unknown,
  cudaEventQuery: { ...unknown, poll: true },
  cudaEventSynchronize: unknown,
  cudaEventSynchronizeAsync: unknown,
  cudaEventElapsedTime: unknown,
  cudaIpcGetEventHandle: unknown,
  cudaIpcOpenEventHandle: outOfMemory,
  cudaMalloc: outOfMemory,
  cudaFree: release,
  cudaMallocPitch: outOfMemory,
  cudaMallocHost: outOfMemory,
  cudaHostAlloc: outOfMemory,
  cudaFreeHost: release,
  cudaHostRegister: outOfMemory,
  cudaHostUnregister: release,
  cudaHostGetDevicePointer: unknown,
  cudaHostGetFlags: unknown,
  cudaMallocManaged: outOfMemory,
  cudaIpcGetMemHandle: unknown,
  cudaIpcOpenMemHandle: outOfMemory,
  cudaIpcCloseMemHandle: release,
  cudaMemcpy: unknown,
  cudaMemcpyAsync: unknown,
  cudaMemcpy2DAsync: unknown,
  cudaMemcpyPeerAsync: unknown,
  cudaMemsetAsync: unknown,
  cudaMemset2DAsync: unknown,
  cudaMallocAsync: outOfMemory,
  cudaFreeAsync: release,
  cudaMemPoolCreate: outOfMemory,
  cudaMemPoolDestroy: release,
  cudaMemPoolSetAttribute: unknown,
  cudaMemPoolGetAttribute: unknown,
  cudaMemPoolTrimTo: unknown,
  cudaMallocFromPoolAsync: outOfMemory,
  cudaMalloc3DArray: outOfMemory,
  cudaArrayGetInfo: unknown,
  cudaFreeArray: release,
  cudaMemcpy3DAsync: unknown,
  cudaCreateSurfaceObject: outOfMemory,
  cudaDestroySurfaceObject: release,
  cudaCreateTextureObject: outOfMemory,
  cudaDestroyTextureObject: release,
  // The driver closes the fd of memory that it refuses, and leaves that of a semaphore.
  cudaImportExternalMemory: { ...outOfMemory, also: (_out, description) => closeFd(fdIn(description)) },
  cudaExternalMemoryGetMappedBuffer: outOfMemory,
  cudaExternalMemoryGetMappedMipmappedArray: outOfMemory,
  cudaGetMipmappedArrayLevel: unknown,
  cudaFreeMipmappedArray: release,
  cudaDestroyExternalMemory: release,
  cudaImportExternalSemaphore: outOfMemory,
  cudaDestroyExternalSemaphore: release,
  cudaLibraryLoadData: outOfMemory,
  cudaLibraryUnload: release,
  cudaLibraryGetKernel: unknown,
  cudaLibraryGetKernelCount: unknown,
  cudaLibraryEnumerateKernels: unknown,
  cudaFuncGetAttributes: unknown,
  cudaFuncSetAttribute: unknown,
  cudaLaunchKernel: unknown,
};

const driverUnknown: Failure = { result: CUDA_ERROR_UNKNOWN };
const driverOutOfMemory: Failure = { result: CUDA_ERROR_OUT_OF_MEMORY };
const driverRelease: Failure = { result: CUDA_ERROR_UNKNOWN, release: true };

/**
 * CUDA's driver. A question for a thread's context does not fail: the header lists no failure of it for a
 * context that is retained but the end of the driver itself, after which nothing can be given back.
 */
export const CUDA: Failures<CudaDriver> = {
  cuInit: driverUnknown,
  cuDeviceGetAttribute: driverUnknown,
  cuDevicePrimaryCtxGetState: driverUnknown,
  cuDevicePrimaryCtxSetFlags_v2: driverUnknown,
  cuDevicePrimaryCtxRetain: driverOutOfMemory,
  cuDevicePrimaryCtxRelease_v2: driverRelease,
  cuCtxGetCurrent: undefined,
  cuCtxSetCurrent: undefined,
  cuCtxGetDevice: driverUnknown,
  cuStreamGetCtx: driverUnknown,
  cuStreamGetCtx_v2: driverUnknown,
  cuMemGetAddressRange_v2: driverUnknown,
  cuPointerGetAttribute: driverUnknown,
  cuMemGetHandleForAddressRange: driverUnknown,
  cuMemsetD2D16Async: driverUnknown,
  cuMemsetD2D32Async: driverUnknown,
  cuMemPrefetchAsync_v2: driverUnknown,
  cuMemAdvise_v2: driverUnknown,
  cuMemRangeGetAttribute: driverUnknown,
  cuMemGetAllocationGranularity: driverUnknown,
  cuMemCreate: driverOutOfMemory,
  cuMemRelease: driverRelease,
  cuMemAddressReserve: driverOutOfMemory,
  cuMemAddressFree: driverRelease,
  cuMemMap: driverOutOfMemory,
  cuMemUnmap: driverRelease,
  cuMemSetAccess: driverUnknown,
  cuMemExportToShareableHandle: driverUnknown,
  cuMemImportFromShareableHandle: driverUnknown,
  cuMemGetAllocationPropertiesFromHandle: driverUnknown,
  cuKernelGetParamInfo: driverUnknown,
  cuKernelGetName: driverUnknown,
  cuLibraryGetModule: driverUnknown,
  cuLaunchKernelEx: driverUnknown,
  cuWaitExternalSemaphoresAsync: driverUnknown,
  cuSignalExternalSemaphoresAsync: driverUnknown,
};

const internal: Failure = { result: NVRTC_ERROR_INTERNAL_ERROR };

/** The compiler of CUDA C++. */
export const NVRTC: Failures<Nvrtc> = {
  nvrtcVersion: internal,
  nvrtcGetNumSupportedArchs: internal,
  nvrtcGetSupportedArchs: internal,
  nvrtcCreateProgram: { result: NVRTC_ERROR_OUT_OF_MEMORY },
  nvrtcDestroyProgram: { ...internal, release: true },
  nvrtcAddNameExpression: internal,
  nvrtcCompileProgram: internal,
  nvrtcGetLoweredName: internal,
  nvrtcGetPTXSize: internal,
  nvrtcGetPTX: internal,
  nvrtcGetCUBINSize: internal,
  nvrtcGetCUBIN: internal,
  nvrtcGetProgramLogSize: internal,
  nvrtcGetProgramLog: internal,
};

/** CUDA's ends of EGL and OpenGL: they are in the runtime's library. */
export const CUDA_EGL: Failures<CudaEgl> = {
  cudaEGLStreamConsumerConnect: unknown,
  cudaEGLStreamConsumerConnectWithFlags: unknown,
  cudaEGLStreamConsumerDisconnect: release,
  cudaEGLStreamConsumerAcquireFrame: unknown,
  cudaEGLStreamConsumerReleaseFrame: release,
  cudaEGLStreamProducerConnect: unknown,
  cudaEGLStreamProducerDisconnect: release,
  cudaEGLStreamProducerPresentFrame: unknown,
  cudaEGLStreamProducerReturnFrame: unknown,
  cudaGraphicsResourceGetMappedEglFrame: unknown,
  cudaGraphicsEGLRegisterImage: unknown,
  cudaGraphicsGLRegisterImage: unknown,
  cudaGraphicsGLRegisterBuffer: unknown,
  cudaGraphicsMapResources: unknown,
  cudaGraphicsUnmapResources: unknown,
  cudaGraphicsSubResourceGetMappedArray: unknown,
  cudaGraphicsResourceGetMappedPointer: unknown,
  cudaGraphicsUnregisterResource: release,
  cudaEventCreateFromEGLSync: unknown,
};
