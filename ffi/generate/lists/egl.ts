import type { FunctionEntry, Library } from "../library.ts";

/** What both lists of EGL have in common. The types of a window system are not needed: nothing is shown. */
const eglHeaders = {
  headers: ["EGL/egl.h", "EGL/eglext.h"],
  defines: { EGL_NO_PLATFORM_SPECIFIC_TYPES: "", EGL_EGLEXT_PROTOTYPES: "" },
} satisfies Partial<Library>;

/** EGL's handles are `void *`, as its buffers are: the names of the parameters that are handles tell them apart. */
const HANDLES: Readonly<Record<string, readonly string[]>> = {
  eglGetDisplay: ["display_id"],
  eglGetPlatformDisplay: ["native_display"],
  eglChooseConfig: ["dpy"],
  eglCreateContext: ["dpy", "config", "share_context"],
  eglDestroyContext: ["dpy", "ctx"],
  eglMakeCurrent: ["dpy", "draw", "read", "ctx"],
  eglQueryContext: ["dpy", "ctx"],
  eglInitialize: ["dpy"],
  eglQueryString: ["dpy"],
  eglCreateSync: ["dpy"],
  eglDestroySync: ["dpy", "sync"],
  eglClientWaitSync: ["dpy", "sync"],
  eglGetSyncAttrib: ["dpy", "sync"],
  eglWaitSync: ["dpy", "sync"],
  eglCreateImage: ["dpy", "ctx", "buffer"],
  eglDestroyImage: ["dpy", "image"],
};

/** A function of EGL's, whose handles cross as addresses. */
function withHandles(name: string): FunctionEntry {
  const address = HANDLES[name];
  return address === undefined ? { name } : { name, address };
}

/** EGL 1.5, as far as contexts without surfaces, images and syncs go: what libEGL exports. */
export const egl: Library = {
  ...eglHeaders,
  name: "egl",
  interface: "EGL",
  functions: [
    ...[
      "eglGetProcAddress",
      "eglGetError",
      "eglGetDisplay",
      "eglGetPlatformDisplay",
      "eglInitialize",
      "eglQueryString",
      "eglQueryAPI",
      "eglBindAPI",
      "eglChooseConfig",
      "eglCreateContext",
      "eglDestroyContext",
      "eglQueryContext",
      "eglMakeCurrent",
      "eglGetCurrentContext",
      "eglGetCurrentDisplay",
      "eglGetCurrentSurface",
      "eglCreateImage",
      "eglDestroyImage",
      "eglCreateSync",
      "eglDestroySync",
      "eglClientWaitSync",
      "eglGetSyncAttrib",
      "eglWaitSync",
    ].map(withHandles),
    { ...withHandles("eglClientWaitSync"), as: "eglClientWaitSyncAsync", nonblocking: true },
  ],
  constants: [
    { type: "EGLint", names: ["EGL_SUCCESS", "EGL_NONE"] },
    { type: "unsigned int", names: ["EGL_FALSE", "EGL_TRUE", "EGL_OPENGL_ES_API"] },
    {
      type: "EGLint",
      names: [
        "EGL_VENDOR",
        "EGL_VERSION",
        "EGL_EXTENSIONS",
        "EGL_CONFIG_ID",
        "EGL_CONTEXT_CLIENT_TYPE",
        "EGL_CONTEXT_MAJOR_VERSION",
        "EGL_CONTEXT_MINOR_VERSION",
        "EGL_RENDERABLE_TYPE",
        "EGL_OPENGL_ES3_BIT",
        "EGL_SURFACE_TYPE",
        "EGL_DRAW",
        "EGL_READ",
        "EGL_PLATFORM_SURFACELESS_MESA",
        "EGL_PLATFORM_DEVICE_EXT",
        "EGL_DRM_DEVICE_FILE_EXT",
        "EGL_DRM_RENDER_NODE_FILE_EXT",
        "EGL_CUDA_DEVICE_NV",
        "EGL_GL_TEXTURE_2D",
        "EGL_GL_RENDERBUFFER",
        "EGL_IMAGE_PRESERVED",
        "EGL_LINUX_DMA_BUF_EXT",
        "EGL_LINUX_DRM_FOURCC_EXT",
        "EGL_WIDTH",
        "EGL_HEIGHT",
        "EGL_DMA_BUF_PLANE*_EXT",
        "EGL_SYNC_FENCE",
        "EGL_SYNC_STATUS",
        "EGL_SYNC_TYPE",
        "EGL_SIGNALED",
        "EGL_UNSIGNALED",
        "EGL_CONDITION_SATISFIED",
        "EGL_TIMEOUT_EXPIRED",
        "EGL_SYNC_FLUSH_COMMANDS_BIT",
        "EGL_SYNC_REUSABLE_KHR",
        "EGL_SYNC_NATIVE_FENCE_ANDROID",
        "EGL_SYNC_NATIVE_FENCE_FD_ANDROID",
        "EGL_STREAM_STATE_KHR",
        "EGL_STREAM_STATE_*_KHR",
        "EGL_STREAM_STATE_INITIALIZING_NV",
        "EGL_PRODUCER_FRAME_KHR",
        "EGL_CONSUMER_FRAME_KHR",
        "EGL_STREAM_FIFO_LENGTH_KHR",
        "EGL_SUPPORT_REUSE_NV",
      ],
    },
    { type: "unsigned long long", names: ["EGL_FOREVER"] },
  ],
  errors: {
    type: "EGLint",
    names: [
      "EGL_NOT_INITIALIZED",
      "EGL_BAD_*",
      "EGL_CONTEXT_LOST",
      "!EGL_BAD_DEVICE_EXT",
      "!EGL_BAD_OUTPUT_*_EXT",
    ],
  },
  structs: [],
};

/** EGL's extensions for sharing: libEGL tells the functions by name. */
export const eglExtensions: Library = {
  ...eglHeaders,
  name: "egl_extensions",
  interface: "EGLExtensions",
  byPointer: true,
  functions: [
    { name: "eglQueryDevicesEXT", optional: true },
    { name: "eglQueryDeviceStringEXT", address: ["device"], optional: true },
    { name: "eglQueryDeviceAttribEXT", address: ["device"], optional: true },
    { name: "eglQueryDmaBufFormatsEXT", address: ["dpy"], optional: true },
    { name: "eglQueryDmaBufModifiersEXT", address: ["dpy"], optional: true },
    { name: "eglExportDMABUFImageQueryMESA", address: ["dpy", "image"], optional: true },
    { name: "eglExportDMABUFImageMESA", address: ["dpy", "image"], optional: true },
    { name: "eglDupNativeFenceFDANDROID", address: ["dpy", "sync"], optional: true },
    { name: "eglSignalSyncKHR", address: ["dpy", "sync"], optional: true },
    { name: "eglCreateStreamKHR", address: ["dpy"], optional: true },
    { name: "eglDestroyStreamKHR", address: ["dpy", "stream"], optional: true },
    { name: "eglQueryStreamKHR", address: ["dpy", "stream"], optional: true },
    { name: "eglQueryStreamu64KHR", address: ["dpy", "stream"], optional: true },
    { name: "eglGetStreamFileDescriptorKHR", address: ["dpy", "stream"], optional: true },
    { name: "eglCreateStreamFromFileDescriptorKHR", address: ["dpy"], optional: true },
  ],
  constants: [],
  structs: [],
};
