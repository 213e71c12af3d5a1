import type { Library } from "../library.ts";
import { arrow } from "./arrow.ts";
import { avcodec59 } from "./avcodec59.ts";
import { avhwcontext57 } from "./avhwcontext57.ts";
import { avformat59 } from "./avformat59.ts";
import { avutil57 } from "./avutil57.ts";
import { avvulkan57 } from "./avvulkan57.ts";
import { channel } from "./channel.ts";
import { cudaDriver } from "./cuda_driver.ts";
import { cudaEgl } from "./cuda_egl.ts";
import { cudaRuntime } from "./cuda_runtime.ts";
import { cxxabi } from "./cxxabi.ts";
import { dlpack } from "./dlpack.ts";
import { dmabuf } from "./dmabuf.ts";
import { egl, eglExtensions } from "./egl.ts";
import { elf } from "./elf.ts";
import { LATER_FFMPEG } from "./ffmpeg.ts";
import { gles, glesExtensions } from "./gles.ts";
import {
  glib,
  gobject,
  gstAllocators,
  gstApp,
  gstAudio,
  gstGl,
  gstGva,
  gstreamer,
  gstVa,
  gstVideo,
} from "./gstreamer.ts";
import { levelzero } from "./levelzero.ts";
import { libc } from "./libc.ts";
import { libcCallbacks } from "./libc_callbacks.ts";
import { nvrtc } from "./nvrtc.ts";
import { onnxruntime, onnxruntimeApi, onnxruntimeBase } from "./onnxruntime.ts";
import { opencl } from "./opencl.ts";
import { openclEgl } from "./opencl_egl.ts";
import { openclExternal } from "./opencl_external.ts";
import { openclEvents } from "./opencl_events.ts";
import { openclGl } from "./opencl_gl.ts";
import { openclSemaphore } from "./opencl_semaphore.ts";
import { openclUsm } from "./opencl_usm.ts";
import { opencvCore } from "./opencv_core.ts";
import { opencvImgcodecs } from "./opencv_imgcodecs.ts";
import { opencvImgproc } from "./opencv_imgproc.ts";
import { sycl, syclNative, syclWait } from "./sycl.ts";
import { openvino } from "./openvino.ts";
import { python } from "./python.ts";
import { ucx } from "./ucx.ts";
import { va, vaDrm } from "./va.ts";
import { vulkan, vulkanExtensions } from "./vulkan.ts";

/** Every library that is generated: one folder of `ffi/` each. */
export const LIBRARIES: readonly Library[] = [
  arrow,
  cxxabi,
  dlpack,
  dmabuf,
  elf,
  libc,
  libcCallbacks,
  channel,
  opencl,
  openclEgl,
  openclExternal,
  openclEvents,
  openclGl,
  openclSemaphore,
  openclUsm,
  opencvCore,
  opencvImgproc,
  opencvImgcodecs,
  cudaRuntime,
  cudaDriver,
  nvrtc,
  vulkan,
  vulkanExtensions,
  egl,
  eglExtensions,
  gles,
  glesExtensions,
  levelzero,
  va,
  vaDrm,
  cudaEgl,
  avutil57,
  avhwcontext57,
  avvulkan57,
  avcodec59,
  avformat59,
  ...LATER_FFMPEG,
  sycl,
  syclNative,
  syclWait,
  openvino,
  python,
  ...[glib, gobject, gstreamer, gstApp, gstVideo, gstAudio, gstGva, gstAllocators, gstGl, gstVa],
  ...[onnxruntime, onnxruntimeBase, onnxruntimeApi],
  ucx,
];
