import type { ClassEntry, Library } from "../library.ts";
import { cuda } from "./cuda.ts";

const PLANES = [0, 1, 2];
const CHANNELS = ["x", "y", "z", "w", "f"];

/** A frame of a stream: arrays or pointers, and what the planes are. */
const FRAME: ClassEntry = {
  type: "cudaEglFrame",
  fields: [
    ...PLANES.map((i): [string, string] => [`array_${i}`, `frame.pArray[${i}]`]),
    ...PLANES.flatMap((i) =>
      ["ptr", "pitch", "xsize", "ysize"].map((
        part,
      ): [string, string] => [`pitch_${i}_${part}`, `frame.pPitch[${i}].${part}`])
    ),
    ...PLANES.flatMap((i) => [
      ...["width", "height", "depth", "pitch", "numChannels"].map((part): [string, string] => [
        `plane_${i}_${part}`,
        `planeDesc[${i}].${part}`,
      ]),
      ...CHANNELS.map((part): [string, string] => [`plane_${i}_desc_${part}`, `planeDesc[${i}].channelDesc.${part}`]),
    ]),
    "planeCount",
    "frameType",
    "eglColorFormat",
  ],
};

/** CUDA's ends of EGL and OpenGL: streams, images, textures, buffers and syncs. They are in libcudart beside the others. */
export const cudaEgl: Library = {
  ...cuda,
  name: "cuda_egl",
  interface: "CudaEgl",
  headers: ["cuda_runtime_api.h", "cuda_egl_interop.h", "GLES3/gl32.h", "cuda_gl_interop.h"],
  // They bring cuda_runtime.h in, which is C++'s where the reader is, and GL/gl.h, whose types GLES has as well: their
  // guards keep both out.
  defines: { EGL_NO_PLATFORM_SPECIFIC_TYPES: "", __CUDA_RUNTIME_H__: "", __gl_h_: "" },
  functions: [
    { name: "cudaEGLStreamConsumerConnect", address: ["eglStream"] },
    { name: "cudaEGLStreamConsumerConnectWithFlags", address: ["eglStream"] },
    "cudaEGLStreamConsumerDisconnect",
    "cudaEGLStreamConsumerAcquireFrame",
    "cudaEGLStreamConsumerReleaseFrame",
    { name: "cudaEGLStreamProducerConnect", address: ["eglStream"] },
    "cudaEGLStreamProducerDisconnect",
    "cudaEGLStreamProducerPresentFrame",
    "cudaEGLStreamProducerReturnFrame",
    "cudaGraphicsResourceGetMappedEglFrame",
    { name: "cudaGraphicsEGLRegisterImage", address: ["image"] },
    "cudaGraphicsGLRegisterImage",
    "cudaGraphicsGLRegisterBuffer",
    "cudaGraphicsMapResources",
    "cudaGraphicsUnmapResources",
    "cudaGraphicsSubResourceGetMappedArray",
    "cudaGraphicsResourceGetMappedPointer",
    "cudaGraphicsUnregisterResource",
    { name: "cudaEventCreateFromEGLSync", address: ["eglSync"] },
  ],
  constants: [
    { type: "enum cudaEglFrameType_enum", names: ["cudaEglFrameType*"] },
    {
      type: "enum cudaEglColorFormat_enum",
      names: [
        "cudaEglColorFormatR",
        "cudaEglColorFormatABGR",
        "cudaEglColorFormatARGB",
        "cudaEglColorFormatYUV420Planar",
        "cudaEglColorFormatY10V10U10_420SemiPlanar",
        "cudaEglColorFormatYVU420SemiPlanar",
      ],
    },
    { type: "enum cudaEglResourceLocationFlags_enum", names: ["cudaEglResourceLocation*"] },
    { type: "enum cudaGraphicsRegisterFlags", names: ["cudaGraphicsRegisterFlags*"] },
  ],
  structs: [FRAME],
  byWords: { cudaEglFrame: 35 },
};
