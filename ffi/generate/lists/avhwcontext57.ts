import type { Library } from "../library.ts";
import { FOLDERS } from "./avutil57.ts";

/** FFmpeg's libavutil, as far as hardware frames go, in major version 57. */
export const avhwcontext57: Library = {
  name: "avhwcontext57",
  interface: "AVHWContext",
  headers: [
    "libavutil/frame.h",
    "libavutil/hwcontext.h",
    "libavutil/hwcontext_cuda.h",
    "libavutil/hwcontext_drm.h",
    "libavutil/hwcontext_opencl.h",
    "libavutil/hwcontext_vaapi.h",
  ],
  folders: FOLDERS,
  // CUDA's own header is left out: of its types two pointers are needed.
  defines: { CL_TARGET_OPENCL_VERSION: "300", CUDA_VERSION: "12000", CUcontext: "void *", CUstream: "void *" },
  functions: [
    "av_buffer_allocz",
    { name: "av_buffer_ref", address: ["buf"] },
    "av_buffer_unref",
    { name: "av_buffer_get_ref_count", address: ["buf"] },
    "av_hwdevice_iterate_types",
    "av_hwdevice_get_type_name",
    "av_hwdevice_ctx_alloc",
    { name: "av_hwdevice_ctx_init", address: ["ref"] },
    { name: "av_hwframe_ctx_alloc", address: ["device_ctx"] },
    { name: "av_hwframe_ctx_init", address: ["ref"] },
  ],
  constants: [
    {
      type: "enum AVHWDeviceType",
      names: [
        "AV_HWDEVICE_TYPE_NONE",
        "AV_HWDEVICE_TYPE_CUDA",
        "AV_HWDEVICE_TYPE_DRM",
        "AV_HWDEVICE_TYPE_OPENCL",
        "AV_HWDEVICE_TYPE_VAAPI",
        "AV_HWDEVICE_TYPE_VULKAN",
      ],
    },
    { type: "int", names: ["AV_DRM_MAX_PLANES"] },
  ],
  layoutsOnly: true,
  structs: [
    { type: "AVHWDeviceContext", fields: ["type", "hwctx"] },
    { type: "AVHWFramesContext", fields: ["device_ctx", "format", "sw_format", "width", "height"] },
    { type: "AVCUDADeviceContext", fields: ["cuda_ctx", "stream"] },
    { type: "AVVAAPIDeviceContext", fields: ["display"] },
    { type: "AVOpenCLDeviceContext", fields: ["device_id", "context", "command_queue"] },
    { type: "AVDRMDeviceContext", fields: ["fd"] },
    {
      type: "AVDRMFrameDescriptor",
      fields: ["nb_objects", ["objects", "objects[0].fd"], "nb_layers", ["layers", "layers[0].format"]],
    },
    { type: "AVDRMObjectDescriptor", fields: ["fd", "size", "format_modifier"] },
    { type: "AVDRMLayerDescriptor", fields: ["format", "nb_planes", ["planes", "planes[0].object_index"]] },
    { type: "AVDRMPlaneDescriptor", fields: ["object_index", "offset", "pitch"] },
  ],
};
