/**
 * How the functions of EGL and OpenGL ES fail. EGL returns false or null, and why by eglGetError. OpenGL ES reports by
 * glGetError alone: any command may have failed where that says so.
 *
 * @module
 */
import { EGL_FALSE } from "../../ffi/egl/constants.ts";
import type { EGL } from "../../ffi/egl/functions.ts";
import type { EGLExtensions } from "../../ffi/egl_extensions/functions.ts";
import { GL_OUT_OF_MEMORY } from "../../ffi/gles/errors.ts";
import type { GLES } from "../../ffi/gles/functions.ts";
import type { GLESExtensions } from "../../ffi/gles_extensions/functions.ts";
import type { Failure, Failures } from "./failures.ts";

const isFalse: Failure = { result: EGL_FALSE };
const isNull: Failure = { result: 0n };
const released: Failure = { result: EGL_FALSE, release: true };

/** What libEGL exports. */
export const EGL_FAILURES: Failures<EGL> = {
  eglGetProcAddress: isNull,
  eglGetError: undefined,
  eglGetDisplay: isNull,
  eglGetPlatformDisplay: isNull,
  eglInitialize: isFalse,
  eglQueryString: isNull,
  eglQueryAPI: undefined,
  eglBindAPI: isFalse,
  eglChooseConfig: isFalse,
  eglCreateContext: isNull,
  eglDestroyContext: released,
  eglQueryContext: isFalse,
  eglMakeCurrent: isFalse,
  eglGetCurrentContext: undefined,
  eglGetCurrentDisplay: undefined,
  eglGetCurrentSurface: undefined,
  eglCreateImage: isNull,
  eglDestroyImage: released,
  eglCreateSync: isNull,
  eglDestroySync: released,
  eglClientWaitSync: { ...isFalse, poll: true },
  eglGetSyncAttrib: isFalse,
  eglWaitSync: isFalse,
  eglDestroySurface: released,
  eglSwapBuffers: isFalse,
  eglReleaseThread: released,
  eglClientWaitSyncAsync: isFalse,
};

/** The functions that libEGL returns by name. */
export const EGL_EXTENSIONS: Failures<EGLExtensions> = {
  eglQueryDevicesEXT: isFalse,
  eglQueryDeviceStringEXT: isNull,
  eglQueryDeviceAttribEXT: isFalse,
  eglQueryDmaBufFormatsEXT: isFalse,
  eglQueryDmaBufModifiersEXT: isFalse,
  eglExportDMABUFImageQueryMESA: isFalse,
  eglExportDMABUFImageMESA: isFalse,
  eglDupNativeFenceFDANDROID: { result: -1 },
  eglSignalSyncKHR: isFalse,
  eglCreateStreamKHR: isNull,
  eglDestroyStreamKHR: released,
  eglQueryStreamKHR: isFalse,
  eglQueryStreamu64KHR: isFalse,
  eglGetStreamFileDescriptorKHR: { result: -1 },
  eglCreateStreamFromFileDescriptorKHR: isNull,
  eglStreamAttribKHR: isFalse,
  eglStreamConsumerGLTextureExternalKHR: isFalse,
  eglStreamConsumerAcquireKHR: isFalse,
  eglStreamConsumerReleaseKHR: released,
  eglCreateStreamProducerSurfaceKHR: isNull,
};

/** What libGLESv2 exports. */
export const GLES_FAILURES: Failures<GLES> = {
  glGetError: { result: GL_OUT_OF_MEMORY },
  glGetString: isNull,
  glGetIntegerv: undefined,
  glFlush: undefined,
  glPixelStorei: undefined,
  glDisable: undefined,
  glColorMask: undefined,
  glGenBuffers: undefined,
  glDeleteBuffers: undefined,
  glIsBuffer: undefined,
  glBindBuffer: undefined,
  glBufferData: undefined,
  glGetBufferParameteriv: undefined,
  glMapBufferRange: isNull,
  glUnmapBuffer: isFalse,
  glGenTextures: undefined,
  glDeleteTextures: undefined,
  glBindTexture: undefined,
  glIsTexture: undefined,
  glTexParameteri: undefined,
  glGetTexLevelParameteriv: undefined,
  glTexStorage2D: undefined,
  glTexImage2D: undefined,
  glTexSubImage2D: undefined,
  glGenRenderbuffers: undefined,
  glDeleteRenderbuffers: undefined,
  glBindRenderbuffer: undefined,
  glRenderbufferStorage: undefined,
  glGenFramebuffers: undefined,
  glBindFramebuffer: undefined,
  glFramebufferTexture2D: undefined,
  glFramebufferRenderbuffer: undefined,
  glCheckFramebufferStatus: { result: 0 },
  glClearBufferfv: undefined,
  glBlitFramebuffer: undefined,
  glReadPixels: undefined,
  glCreateShader: undefined,
  glShaderSource: undefined,
  glCompileShader: undefined,
  glGetShaderiv: undefined,
  glGetShaderInfoLog: undefined,
  glDeleteShader: undefined,
  glCreateProgram: undefined,
  glAttachShader: undefined,
  glLinkProgram: undefined,
  glGetProgramiv: undefined,
  glGetProgramInfoLog: undefined,
  glDeleteProgram: undefined,
  glUseProgram: undefined,
  glBindVertexArray: undefined,
  glActiveTexture: undefined,
  glBindSampler: undefined,
  glViewport: undefined,
  glDrawArrays: undefined,
  glDrawBuffers: undefined,
  glFenceSync: isNull,
  glDeleteSync: undefined,
};

/** Its extensions. */
export const GLES_EXTENSIONS: Failures<GLESExtensions> = {
  glEGLImageTargetTexture2DOES: undefined,
  glGetUnsignedBytei_vEXT: undefined,
};
