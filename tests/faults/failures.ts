import {
  CL_INVALID_VALUE,
  CL_MAP_FAILURE,
  CL_MEM_OBJECT_ALLOCATION_FAILURE,
  CL_OUT_OF_HOST_MEMORY,
  CL_OUT_OF_RESOURCES,
  type OpenCL,
} from "../../ffi/opencl/mod.ts";
import { EINVAL, EIO, EMFILE, ENOMEM, ENOSPC, EPERM } from "../../ffi/libc/errors.ts";
import type { Sockets } from "../../ffi/channel/functions.ts";
import type { ClEgl } from "../../ffi/opencl_egl/functions.ts";
import type { ClEvents } from "../../ffi/opencl_events/functions.ts";
import type { ClGl } from "../../ffi/opencl_gl/functions.ts";
import type { ExternalMemory } from "../../ffi/opencl_external/functions.ts";
import type { Semaphores } from "../../ffi/opencl_semaphore/functions.ts";
import type { Usm } from "../../ffi/opencl_usm/functions.ts";
import type { FakeLibrary } from "../conformance/template/queue/library.ts";
import type { CxxAbi } from "../../ffi/cxxabi/functions.ts";
import { DMA_BUF_IOCTL_SYNC, SYNC_IOC_FILE_INFO } from "../../ffi/libc/constants.ts";
import * as requests from "../../ffi/dmabuf/constants.ts";
import type { DmaBufKernel } from "../../ffi/dmabuf/functions.ts";
import type { LibCCallbacks } from "../../ffi/libc_callbacks/functions.ts";
import type { LibC } from "../../ffi/libc/functions.ts";
import { CUDA, CUDA_EGL, CUDART, NVRTC } from "./cuda_failures.ts";
import { EGL_EXTENSIONS, EGL_FAILURES, GLES_EXTENSIONS, GLES_FAILURES } from "./egl_failures.ts";
import { FFMPEG, FFMPEG_CODEC, FFMPEG_FORMAT } from "./ffmpeg_failures.ts";
import { SYCL_FAILURES, SYCL_NATIVE, SYCL_WAIT } from "./sycl_failures.ts";
import * as gstreamer from "./gstreamer_failures.ts";
import { LEVELZERO } from "./levelzero_failures.ts";
import { ONNXRUNTIME, ONNXRUNTIME_API, ONNXRUNTIME_BASE, ONNXRUNTIME_RUN } from "./onnxruntime_failures.ts";
import { OPENVINO } from "./openvino_failures.ts";
import { PYTHON } from "./python_failures.ts";
import { UCX } from "./ucx_failures.ts";
import { VAAPI, VAAPI_DRM } from "./vaapi_failures.ts";
import { VULKAN, VULKAN_EXTENSIONS } from "./vulkan_failures.ts";
import { OPENCV_CORE, OPENCV_IMGCODECS, OPENCV_IMGPROC } from "./opencv_failures.ts";

/** The fake's code for want of anything. */
const FAKE_OUT_OF_RESOURCES = -5;

/** How a function fails when it is made to. */
export interface Failure {
  /** What it returns; left out where it throws. */
  readonly result?: number | bigint;
  /** The exception that it throws, as the guard makes an error of it. */
  readonly throws?: (fn: string) => Error;
  /** What it leaves in `*errcode_ret`, its last argument. */
  readonly errcode?: number;
  /** What it leaves in `errno`. */
  readonly errno?: number;
  /** It gives something back: once the real call is over, the failure is returned. Others make no real call. */
  readonly release?: true;
  /** One function for many things: which of them this call is. */
  readonly what?: (...args: readonly unknown[]) => string;
  /** What it does all the same, with its arguments. */
  readonly also?: (...args: readonly unknown[]) => void;
  /** It is asked again and again until something is over: calls without another between them count as one. */
  readonly poll?: true;
}

/** `undefined`: it cannot fail, and is not counted. */
export type Failures<F> = { readonly [Name in keyof F]: Failure | undefined };

const code = (result: number): Failure => ({ result });
const create = (errcode: number): Failure => ({ result: 0n, errcode });
const release: Failure = { result: CL_OUT_OF_RESOURCES, release: true };
const minusOne = (errno: number): Failure => ({ result: -1, errno });

/** Functions of C as callbacks. A trywait is asked until a call has come: it fails until then. */
const LIBC_CALLBACKS: Failures<LibCCallbacks> = {
  sem_init: minusOne(EINVAL),
  sem_destroy: { ...minusOne(EINVAL), release: true },
  sem_trywait: undefined,
  sigemptyset: minusOne(EINVAL),
};

/** The C library. */
const LIBC: Failures<LibC> = {
  mmap: { result: 0xffff_ffff_ffff_ffffn, errno: ENOMEM },
  munmap: { result: -1, errno: EINVAL, release: true },
  madvise: minusOne(ENOMEM),
  memfd_create: minusOne(EMFILE),
  ftruncate: minusOne(ENOSPC),
  fcntl: minusOne(EMFILE),
  open: minusOne(EMFILE),
  ioctl: { ...minusOne(ENOMEM), what: requestOf },
  flock: minusOne(EINVAL),
  close: { result: -1, errno: EIO, release: true },
  read: { result: -1n, errno: EIO },
  lseek: { result: -1n, errno: EINVAL },
  write: { result: -1n, errno: ENOSPC },
  symlink: minusOne(ENOSPC),
  unlink: { result: -1, errno: EIO, release: true },
  rename: { result: -1, errno: EIO },
  statx: minusOne(EPERM),
  epoll_create1: minusOne(EMFILE),
  epoll_ctl: minusOne(ENOSPC),
  epoll_wait: undefined, // it is called again
  eventfd: minusOne(EMFILE),
  process_vm_readv: { result: -1n, errno: EPERM },
  signalfd: undefined, // it is asked for its errno alone
  memcpy: undefined,
  getpid: undefined,
  getpagesize: undefined,
  sbrk: undefined, // it is asked where the heap ends, which the C library knows
  sched_yield: undefined,
  setenv: undefined, // without a setting, UCX has its own
  __errno_location: undefined,
  calloc: { result: 0n, errno: ENOMEM },
  free: undefined,
  bsearch: undefined, // it calls what others have
  strnlen: undefined,
  dladdr: { result: 0 },
  dlopen: undefined,
  dlsym: undefined,
  dlerror: undefined,
  gnu_get_libc_version: undefined,
};

/** The name of an ioctl's request. */
function requestOf(_fd: unknown, request: unknown): string {
  return Object.entries({ ...requests, DMA_BUF_IOCTL_SYNC, SYNC_IOC_FILE_INFO }).find(([, value]) =>
    value === request
  )![0];
}

/** The kernel's side of DMA-BUF. */
const DMABUF: Failures<DmaBufKernel> = {
  ioctl: { ...minusOne(ENOMEM), what: requestOf },
  poll: minusOne(ENOMEM),
};

/** The handlers of exceptions: what they do must not fail. */
const CXXABI: Failures<CxxAbi> = {
  __cxa_begin_catch: undefined,
  __cxa_end_catch: undefined,
  __cxa_current_exception_type: undefined,
  __cxa_demangle: { result: 0n },
};

/** OpenCL. An unmap is not a release: where it fails, nothing was unmapped. */
const OPENCL: Failures<OpenCL> = {
  clGetPlatformIDs: code(CL_OUT_OF_HOST_MEMORY),
  clGetPlatformInfo: code(CL_OUT_OF_HOST_MEMORY),
  clGetDeviceIDs: code(CL_OUT_OF_RESOURCES),
  clGetDeviceInfo: code(CL_OUT_OF_RESOURCES),
  clRetainDevice: code(CL_OUT_OF_RESOURCES),
  clReleaseDevice: release,
  clCreateContext: create(CL_OUT_OF_RESOURCES),
  clRetainContext: code(CL_OUT_OF_RESOURCES),
  clReleaseContext: release,
  clGetContextInfo: code(CL_OUT_OF_RESOURCES),
  clCreateCommandQueue: create(CL_OUT_OF_RESOURCES),
  clCreateCommandQueueWithProperties: create(CL_OUT_OF_RESOURCES),
  clRetainCommandQueue: code(CL_OUT_OF_RESOURCES),
  clReleaseCommandQueue: release,
  clGetCommandQueueInfo: code(CL_OUT_OF_RESOURCES),
  clFlush: code(CL_OUT_OF_RESOURCES),
  clFinish: code(CL_OUT_OF_RESOURCES),
  clCreateBufferWithProperties: create(CL_MEM_OBJECT_ALLOCATION_FAILURE),
  clCreateImageWithProperties: create(CL_MEM_OBJECT_ALLOCATION_FAILURE),
  clCreateBuffer: create(CL_MEM_OBJECT_ALLOCATION_FAILURE),
  clCreateSubBuffer: create(CL_INVALID_VALUE),
  clRetainMemObject: code(CL_OUT_OF_RESOURCES),
  clReleaseMemObject: release,
  clGetMemObjectInfo: code(CL_OUT_OF_RESOURCES),
  clGetImageInfo: code(CL_OUT_OF_RESOURCES),
  clCreateImage: create(CL_MEM_OBJECT_ALLOCATION_FAILURE),
  clGetSupportedImageFormats: code(CL_OUT_OF_RESOURCES),
  clCreateSampler: create(CL_OUT_OF_RESOURCES),
  clReleaseSampler: release,
  clSVMAlloc: { result: 0n },
  clSVMFree: undefined,
  clCreateProgramWithSource: create(CL_OUT_OF_HOST_MEMORY),
  clCreateProgramWithBinary: create(CL_OUT_OF_HOST_MEMORY),
  clRetainProgram: code(CL_OUT_OF_RESOURCES),
  clBuildProgram: code(CL_OUT_OF_RESOURCES),
  clGetProgramInfo: code(CL_OUT_OF_RESOURCES),
  clGetProgramBuildInfo: code(CL_OUT_OF_RESOURCES),
  clReleaseProgram: release,
  clCreateKernel: create(CL_OUT_OF_RESOURCES),
  clSetKernelArg: code(CL_OUT_OF_RESOURCES),
  clSetKernelArgSVMPointer: code(CL_OUT_OF_RESOURCES),
  clSetKernelExecInfo: code(CL_OUT_OF_RESOURCES),
  clGetKernelInfo: code(CL_OUT_OF_RESOURCES),
  clGetKernelArgInfo: code(CL_OUT_OF_RESOURCES),
  clGetKernelWorkGroupInfo: code(CL_OUT_OF_RESOURCES),
  clReleaseKernel: release,
  clEnqueueNDRangeKernel: code(CL_OUT_OF_RESOURCES),
  clEnqueueMapBuffer: create(CL_MAP_FAILURE),
  clEnqueueUnmapMemObject: code(CL_OUT_OF_RESOURCES),
  clEnqueueReadBuffer: code(CL_OUT_OF_RESOURCES),
  clEnqueueWriteBuffer: code(CL_OUT_OF_RESOURCES),
  clEnqueueReadBufferRect: code(CL_OUT_OF_RESOURCES),
  clEnqueueWriteBufferRect: code(CL_OUT_OF_RESOURCES),
  clEnqueueFillBuffer: code(CL_OUT_OF_RESOURCES),
  clEnqueueCopyBuffer: code(CL_OUT_OF_RESOURCES),
  clEnqueueCopyBufferRect: code(CL_OUT_OF_RESOURCES),
  clEnqueueMigrateMemObjects: code(CL_OUT_OF_RESOURCES),
  clEnqueueMapImage: create(CL_MAP_FAILURE),
  clEnqueueReadImage: code(CL_OUT_OF_RESOURCES),
  clEnqueueWriteImage: code(CL_OUT_OF_RESOURCES),
  clEnqueueFillImage: code(CL_OUT_OF_RESOURCES),
  clEnqueueCopyImage: code(CL_OUT_OF_RESOURCES),
  clEnqueueCopyImageToBuffer: code(CL_OUT_OF_RESOURCES),
  clEnqueueCopyBufferToImage: code(CL_OUT_OF_RESOURCES),
  clEnqueueSVMMap: code(CL_OUT_OF_RESOURCES),
  clEnqueueSVMUnmap: code(CL_OUT_OF_RESOURCES),
  clEnqueueSVMMemcpy: code(CL_OUT_OF_RESOURCES),
  clEnqueueSVMMemFill: code(CL_OUT_OF_RESOURCES),
  clEnqueueMarkerWithWaitList: code(CL_OUT_OF_RESOURCES),
  clWaitForEvents: code(CL_OUT_OF_RESOURCES),
  clWaitForEventsAsync: code(CL_OUT_OF_RESOURCES),
  clGetExtensionFunctionAddress: { result: 0n },
  clGetExtensionFunctionAddressForPlatform: { result: 0n },
  clGetEventInfo: { ...code(CL_OUT_OF_RESOURCES), poll: true },
  clGetEventProfilingInfo: code(CL_OUT_OF_RESOURCES),
  clRetainEvent: code(CL_OUT_OF_RESOURCES),
  clReleaseEvent: release,
  clCreateFromGLBuffer: create(CL_OUT_OF_RESOURCES),
  clCreateFromGLTexture: create(CL_OUT_OF_RESOURCES),
  clCreateFromGLRenderbuffer: create(CL_OUT_OF_RESOURCES),
  clEnqueueAcquireGLObjects: code(CL_OUT_OF_RESOURCES),
  clEnqueueReleaseGLObjects: code(CL_OUT_OF_RESOURCES),
  clCreateUserEvent: create(CL_OUT_OF_RESOURCES),
  clSetUserEventStatus: code(CL_OUT_OF_RESOURCES),
};

/** OpenCL's unified shared memory. */
const OPENCL_USM: Failures<Usm> = {
  clHostMemAllocINTEL: create(CL_OUT_OF_RESOURCES),
  clDeviceMemAllocINTEL: create(CL_OUT_OF_RESOURCES),
  clSharedMemAllocINTEL: create(CL_OUT_OF_RESOURCES),
  clMemFreeINTEL: release,
  clSetKernelArgMemPointerINTEL: code(CL_OUT_OF_RESOURCES),
  clGetMemAllocInfoINTEL: code(CL_INVALID_VALUE),
  clEnqueueMemcpyINTEL: code(CL_OUT_OF_RESOURCES),
  clEnqueueMemFillINTEL: code(CL_OUT_OF_RESOURCES),
};

/** OpenCL's external memory. */
const OPENCL_EXTERNAL: Failures<ExternalMemory> = {
  clEnqueueAcquireExternalMemObjectsKHR: code(CL_OUT_OF_RESOURCES),
  clEnqueueReleaseExternalMemObjectsKHR: code(CL_OUT_OF_RESOURCES),
};

/** OpenCL's images over EGL's. */
const OPENCL_GL: Failures<ClGl> = { clGetGLContextInfoKHR: code(CL_OUT_OF_RESOURCES) };

const OPENCL_EGL: Failures<ClEgl> = {
  clCreateFromEGLImageKHR: create(CL_MEM_OBJECT_ALLOCATION_FAILURE),
  clEnqueueAcquireEGLObjectsKHR: code(CL_OUT_OF_RESOURCES),
  clEnqueueReleaseEGLObjectsKHR: code(CL_OUT_OF_RESOURCES),
};

/** Events of others' syncs. */
const OPENCL_EVENTS: Failures<ClEvents> = {
  clCreateEventFromEGLSyncKHR: create(CL_OUT_OF_RESOURCES),
  clCreateEventFromGLsyncKHR: create(CL_OUT_OF_RESOURCES),
};

/** OpenCL's semaphores. */
const OPENCL_SEMAPHORE: Failures<Semaphores> = {
  clCreateSemaphoreWithPropertiesKHR: create(CL_OUT_OF_RESOURCES),
  clEnqueueWaitSemaphoresKHR: code(CL_OUT_OF_RESOURCES),
  clEnqueueSignalSemaphoresKHR: code(CL_OUT_OF_RESOURCES),
  clGetSemaphoreInfoKHR: code(CL_OUT_OF_RESOURCES),
  clRetainSemaphoreKHR: code(CL_OUT_OF_RESOURCES),
  clReleaseSemaphoreKHR: release,
  clGetSemaphoreHandleForTypeKHR: code(CL_OUT_OF_RESOURCES),
};

/** The API of the tests' own. */
const FAKE: Failures<FakeLibrary> = {
  fakeAllocate: code(FAKE_OUT_OF_RESOURCES),
  fakeImport: code(FAKE_OUT_OF_RESOURCES),
  fakeRelease: { result: FAKE_OUT_OF_RESOURCES, release: true },
  fakeCreateQueue: code(FAKE_OUT_OF_RESOURCES),
  fakeReleaseQueue: { result: FAKE_OUT_OF_RESOURCES, release: true },
  fakeSubmit: code(FAKE_OUT_OF_RESOURCES),
  fakeStatus: { ...code(FAKE_OUT_OF_RESOURCES), poll: true },
  fakeWait: code(FAKE_OUT_OF_RESOURCES),
  fakeWaitAsync: code(FAKE_OUT_OF_RESOURCES),
  fakeSetEvent: code(FAKE_OUT_OF_RESOURCES),
};

/** The C library's sockets. */
const CHANNEL: Failures<Sockets> = {
  socket: minusOne(EMFILE),
  bind: minusOne(EPERM),
  listen: minusOne(EINVAL),
  accept4: minusOne(EMFILE),
  connect: minusOne(EPERM),
  sendmsg: { result: -1n, errno: ENOMEM },
  recvmsg: { result: -1n, errno: ENOMEM },
  getsockopt: minusOne(EINVAL),
  fchmod: minusOne(EPERM),
  geteuid: undefined,
};

/** How every native function of every API fails. */
export const FAILURES: { readonly [api: string]: { readonly [fn: string]: Failure | undefined } } = {
  libc: LIBC,
  libc_callbacks: LIBC_CALLBACKS,
  channel: CHANNEL,
  cxxabi: CXXABI,
  dmabuf: DMABUF,
  levelzero: LEVELZERO,
  opencl: OPENCL,
  opencl_egl: OPENCL_EGL,
  opencl_events: OPENCL_EVENTS,
  opencl_external: OPENCL_EXTERNAL,
  opencl_gl: OPENCL_GL,
  opencl_semaphore: OPENCL_SEMAPHORE,
  opencl_usm: OPENCL_USM,
  cudart: CUDART,
  cuda: CUDA,
  cuda_egl: CUDA_EGL,
  nvrtc: NVRTC,
  opencv_core: OPENCV_CORE,
  opencv_imgproc: OPENCV_IMGPROC,
  opencv_imgcodecs: OPENCV_IMGCODECS,
  ffmpeg: FFMPEG,
  ffmpeg_codec: FFMPEG_CODEC,
  ffmpeg_format: FFMPEG_FORMAT,
  gstreamer_glib: gstreamer.GLIB,
  gstreamer_gobject: gstreamer.GOBJECT,
  gstreamer: gstreamer.GSTREAMER,
  gstreamer_app: gstreamer.APP,
  gstreamer_video: gstreamer.VIDEO,
  gstreamer_audio: gstreamer.AUDIO,
  gstreamer_allocators: gstreamer.ALLOCATORS,
  sycl: SYCL_FAILURES,
  sycl_native: SYCL_NATIVE,
  sycl_wait: SYCL_WAIT,
  onnxruntime: ONNXRUNTIME,
  onnxruntime_base: ONNXRUNTIME_BASE,
  onnxruntime_api: ONNXRUNTIME_API,
  onnxruntime_run: ONNXRUNTIME_RUN,
  openvino: OPENVINO,
  gstreamer_gl: gstreamer.GL,
  gstreamer_va: gstreamer.VA,
  python: PYTHON,
  ucx: UCX,
  vaapi: VAAPI,
  vaapi_drm: VAAPI_DRM,
  vulkan: VULKAN,
  vulkan_extensions: VULKAN_EXTENSIONS,
  egl: EGL_FAILURES,
  egl_extensions: EGL_EXTENSIONS,
  gles: GLES_FAILURES,
  gles_extensions: GLES_EXTENSIONS,
  fake: FAKE,
};
