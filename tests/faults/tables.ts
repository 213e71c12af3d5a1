/**
 * The generated tables of every library, by the names that openers give them.
 *
 * @module
 */
import { SYMBOLS as CHANNEL } from "../../ffi/channel/symbols.ts";
import { SYMBOLS as CUDA_EGL } from "../../ffi/cuda_egl/symbols.ts";
import { SYMBOLS as CUDA } from "../../ffi/cuda_driver/symbols.ts";
import { SYMBOLS as CUDART } from "../../ffi/cuda_runtime/symbols.ts";
import { SYMBOLS as CXXABI } from "../../ffi/cxxabi/symbols.ts";
import { SYMBOLS as DMABUF } from "../../ffi/dmabuf/symbols.ts";
import { SYMBOLS as EGL } from "../../ffi/egl/symbols.ts";
import { SYMBOLS as EGL_EXTENSIONS } from "../../ffi/egl_extensions/symbols.ts";
import { SYMBOLS as FFMPEG_CODEC } from "../../ffi/avcodec59/symbols.ts";
import { SYMBOLS as FFMPEG_FORMAT } from "../../ffi/avformat59/symbols.ts";
import { SYMBOLS as AVHWCONTEXT } from "../../ffi/avhwcontext57/symbols.ts";
import { SYMBOLS as FFMPEG } from "../../ffi/avutil57/symbols.ts";
import { SYMBOLS as PYTHON } from "../../ffi/python/symbols.ts";
import { SYMBOLS as UCX } from "../../ffi/ucx/symbols.ts";
import { SYMBOLS as GSTREAMER_GLIB } from "../../ffi/glib/symbols.ts";
import { SYMBOLS as GSTREAMER_GOBJECT } from "../../ffi/gobject/symbols.ts";
import { SYMBOLS as GSTREAMER } from "../../ffi/gstreamer/symbols.ts";
import { SYMBOLS as GSTREAMER_APP } from "../../ffi/gst_app/symbols.ts";
import { SYMBOLS as GSTREAMER_VIDEO } from "../../ffi/gst_video/symbols.ts";
import { SYMBOLS as GSTREAMER_AUDIO } from "../../ffi/gst_audio/symbols.ts";
import { SYMBOLS as GSTREAMER_GL } from "../../ffi/gst_gl/symbols.ts";
import { SYMBOLS as GSTREAMER_VA } from "../../ffi/gst_va/symbols.ts";
import { SYMBOLS as GSTREAMER_ALLOCATORS } from "../../ffi/gst_allocators/symbols.ts";
import { SYMBOLS as GLES } from "../../ffi/gles/symbols.ts";
import { SYMBOLS as GLES_EXTENSIONS } from "../../ffi/gles_extensions/symbols.ts";
import { SYMBOLS as LIBC } from "../../ffi/libc/symbols.ts";
import { SYMBOLS as LIBC_CALLBACKS } from "../../ffi/libc_callbacks/symbols.ts";
import { SYMBOLS as NVRTC } from "../../ffi/nvrtc/symbols.ts";
import { SYMBOLS as LEVELZERO } from "../../ffi/levelzero/symbols.ts";
import { SYMBOLS as ONNXRUNTIME } from "../../ffi/onnxruntime/symbols.ts";
import { SYMBOLS as ONNXRUNTIME_API } from "../../ffi/onnxruntime_api/symbols.ts";
import { SYMBOLS as ONNXRUNTIME_BASE } from "../../ffi/onnxruntime_base/symbols.ts";
import { SYMBOLS as OPENVINO } from "../../ffi/openvino/symbols.ts";
import { SYMBOLS as OPENCL } from "../../ffi/opencl/symbols.ts";
import { SYMBOLS as OPENCL_EGL } from "../../ffi/opencl_egl/symbols.ts";
import { SYMBOLS as OPENCL_EVENTS } from "../../ffi/opencl_events/symbols.ts";
import { SYMBOLS as OPENCL_EXTERNAL } from "../../ffi/opencl_external/symbols.ts";
import { SYMBOLS as OPENCL_GL } from "../../ffi/opencl_gl/symbols.ts";
import { SYMBOLS as OPENCL_SEMAPHORE } from "../../ffi/opencl_semaphore/symbols.ts";
import { SYMBOLS as OPENCL_USM } from "../../ffi/opencl_usm/symbols.ts";
import { SYMBOLS as OPENCV_CORE } from "../../ffi/opencv_core/symbols.ts";
import { SYMBOLS as OPENCV_IMGCODECS } from "../../ffi/opencv_imgcodecs/symbols.ts";
import { SYMBOLS as OPENCV_IMGPROC } from "../../ffi/opencv_imgproc/symbols.ts";
import { SYMBOLS as SYCL } from "../../ffi/sycl/symbols.ts";
import { SYMBOLS as SYCL_NATIVE } from "../../ffi/sycl_native/symbols.ts";
import { SYMBOLS as SYCL_WAIT } from "../../ffi/sycl_wait/symbols.ts";
import { SYMBOLS as VAAPI } from "../../ffi/va/symbols.ts";
import { SYMBOLS as VAAPI_DRM } from "../../ffi/va_drm/symbols.ts";
import { SYMBOLS as VULKAN } from "../../ffi/vulkan/symbols.ts";
import { SYMBOLS as VULKAN_EXTENSIONS } from "../../ffi/vulkan_extensions/symbols.ts";
import { SYMBOLS as ONNXRUNTIME_RUN } from "../../src/onnxruntime/run_code.ts";

/** What each library has, as it was generated. */
export const TABLES: { readonly [api: string]: Deno.ForeignLibraryInterface } = {
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
  ffmpeg: { ...FFMPEG, ...AVHWCONTEXT },
  ffmpeg_codec: FFMPEG_CODEC,
  ffmpeg_format: FFMPEG_FORMAT,
  gstreamer_glib: GSTREAMER_GLIB,
  gstreamer_gobject: GSTREAMER_GOBJECT,
  gstreamer: GSTREAMER,
  gstreamer_app: GSTREAMER_APP,
  gstreamer_video: GSTREAMER_VIDEO,
  gstreamer_audio: GSTREAMER_AUDIO,
  gstreamer_allocators: GSTREAMER_ALLOCATORS,
  sycl: SYCL,
  sycl_native: SYCL_NATIVE,
  sycl_wait: SYCL_WAIT,
  onnxruntime: ONNXRUNTIME,
  onnxruntime_base: ONNXRUNTIME_BASE,
  onnxruntime_api: ONNXRUNTIME_API,
  onnxruntime_run: ONNXRUNTIME_RUN,
  openvino: OPENVINO,
  gstreamer_gl: GSTREAMER_GL,
  gstreamer_va: GSTREAMER_VA,
  python: PYTHON,
  ucx: UCX,
  vaapi: VAAPI,
  vaapi_drm: VAAPI_DRM,
  vulkan: VULKAN,
  vulkan_extensions: VULKAN_EXTENSIONS,
  egl: EGL,
  egl_extensions: EGL_EXTENSIONS,
  gles: GLES,
  gles_extensions: GLES_EXTENSIONS,
};
