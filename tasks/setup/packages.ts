import type { Purpose } from "./purpose.ts";

/** A package of Debian's. */
export interface Package {
  readonly name: string;
  readonly why: string;
  readonly for: readonly Purpose[];
  /** A virtual package that does as well: another vendor's package that provides it is left in place. */
  readonly or?: string;
}

/** All that any purpose needs, but for pip. */
export const PACKAGES: readonly Package[] = [
  {
    name: "ocl-icd-libopencl1",
    or: "libopencl1",
    for: ["demo", "test", "bench", "intel"],
    why: "the OpenCL loader, libOpenCL.so.1",
  },
  { name: "pocl-opencl-icd", for: ["demo", "test", "bench"], why: "PoCL: OpenCL on the CPU" },
  { name: "mesa-opencl-icd", for: ["test"], why: "rusticl: a second OpenCL, to test across platforms" },
  { name: "clinfo", for: ["test"], why: "lists the OpenCL platforms when one is missed" },
  { name: "opencl-headers", for: ["test", "bench"], why: "the C headers that ffi/ is generated from" },
  { name: "ocl-icd-opencl-dev", for: ["test", "bench"], why: "libOpenCL.so to link the C programs of the tests" },
  { name: "gcc", for: ["test", "bench"], why: "cc: builds the C programs of the tests" },
  { name: "g++", for: ["test", "bench"], why: "builds the C++ programs of the tests, with libstdc++'s headers" },
  { name: "libc6-dev", for: ["test", "bench"], why: "libc's headers" },
  { name: "clang", for: ["test"], why: "reads the headers for ffi/, for x86-64 and for aarch64" },
  Deno.build.arch === "aarch64"
    ? { name: "libc6-dev-amd64-cross", for: ["test"], why: "libc's headers for x86-64" }
    : { name: "libc6-dev-arm64-cross", for: ["test"], why: "libc's headers for aarch64" },
  { name: "libopencv-core406", for: ["test", "bench"], why: "OpenCV: Mat and UMat" },
  { name: "libopencv-imgproc406", for: ["test", "bench"], why: "OpenCV's image processing" },
  { name: "libopencv-imgcodecs406", for: ["test", "bench"], why: "OpenCV's image files" },
  { name: "libopencv-core-dev", for: ["test", "bench"], why: "OpenCV's C++ headers that ffi/ is generated from" },
  { name: "libopencv-imgproc-dev", for: ["test", "bench"], why: "those of its image processing" },
  { name: "libopencv-imgcodecs-dev", for: ["test", "bench"], why: "those of its image files" },
  { name: "strace", for: ["test"], why: "shows that importing opens no library" },
  { name: "python3-pyopencl", for: ["bench"], why: "a peer: OpenCL from Python" },
  { name: "python3-numpy", for: ["bench"], why: "the arrays of that peer" },
  { name: "python3-gi", for: ["bench"], why: "another peer: GStreamer from Python" },
  { name: "gir1.2-gst-plugins-base-1.0", for: ["bench"], why: "what that peer knows of appsink and appsrc" },
  { name: "libvulkan1", for: ["test", "guest"], why: "the Vulkan loader, libvulkan.so.1" },
  { name: "libvulkan-dev", for: ["test"], why: "the C headers that ffi/vulkan is generated from" },
  {
    name: "mesa-vulkan-drivers",
    for: ["test", "bench", "guest"],
    why: "lavapipe: Vulkan on the CPU, and what the guest's needs; a peer: Deno's WebGPU on it",
  },
  { name: "vulkan-validationlayers", for: ["test"], why: "sees what the tests do wrong with Vulkan" },
  { name: "glslang-tools", for: ["test"], why: "glslangValidator: makes the SPIR-V of the tests anew" },
  { name: "libegl1", for: ["test", "guest"], why: "the EGL loader, libEGL.so.1" },
  { name: "libegl-mesa0", for: ["test", "guest"], why: "Mesa's EGL, and what the guest's needs" },
  { name: "libgles2", for: ["test", "guest"], why: "OpenGL ES, libGLESv2.so.2" },
  { name: "libegl-dev", for: ["test"], why: "the C headers that ffi/egl is generated from" },
  { name: "libgles-dev", for: ["test"], why: "those of OpenGL ES" },
  { name: "libdrm-dev", for: ["test"], why: "drm_fourcc.h: the codes of the pixel formats" },
  { name: "libva2", for: ["test", "bench", "guest"], why: "VA-API, libva.so.2" },
  { name: "libva-drm2", for: ["test", "guest"], why: "its displays of DRM devices, libva-drm.so.2" },
  { name: "libva-dev", for: ["test", "bench"], why: "the C headers that ffi/va is generated from" },
  { name: "libavutil57", for: ["test", "bench"], why: "FFmpeg 5.1: AVFrames, libavutil.so.57" },
  { name: "libavcodec59", for: ["test"], why: "its codecs, libavcodec.so.59" },
  { name: "libavformat59", for: ["test"], why: "its files, libavformat.so.59" },
  { name: "ffmpeg", for: ["test"], why: "makes the clips of the tests" },
  { name: "libgstreamer1.0-0", for: ["test", "bench", "guest"], why: "GStreamer 1.22, libgstreamer-1.0.so.0" },
  {
    name: "libgstreamer-plugins-base1.0-0",
    for: ["test", "bench", "guest"],
    why: "its libraries: libgstapp, libgstvideo, libgstaudio, libgstallocators",
  },
  { name: "gstreamer1.0-plugins-base", for: ["test", "bench", "guest"], why: "its sources, converters, appsink" },
  { name: "gstreamer1.0-plugins-good", for: ["test", "bench"], why: "its files and cameras" },
  { name: "gstreamer1.0-plugins-bad", for: ["guest"], why: "its elements of VA-API, libgstva" },
  { name: "gstreamer1.0-gl", for: ["test"], why: "its elements of OpenGL" },
  { name: "gstreamer1.0-plugins-ugly", for: ["test", "bench"], why: "x264enc" },
  { name: "gstreamer1.0-libav", for: ["test", "bench"], why: "FFmpeg's decoders as its elements" },
  { name: "libze1", for: ["test", "guest"], why: "Level Zero's loader, libze_loader.so.1" },
  { name: "libze-dev", for: ["test"], why: "the C headers that ffi/levelzero is generated from" },
  { name: "libpython3.11", for: ["test", "bench"], why: "Python in the same process, libpython3.11.so.1.0" },
  { name: "libucx0", for: ["test", "bench", "guest"], why: "UCX: memory of other machines, libucp.so.0" },
  {
    name: "iproute2",
    for: ["test", "guest"],
    why: "those machines, as namespaces, and what their network loses: ip, tc",
  },
  { name: "openssl", for: ["test"], why: "a certificate for a ring over TLS" },
  { name: "vainfo", for: ["guest"], why: "a second opinion on what a VA-API driver can do" },
  { name: "qemu-system-x86", for: ["guest"], why: "the machine that it is" },
  { name: "qemu-system-gui", for: ["guest"], why: "that machine's GPU, as OpenGL in a window" },
  { name: "xvfb", for: ["guest"], why: "a screen in memory for that window" },
  { name: "busybox-static", for: ["guest"], why: "the shell of its init" },
  { name: "cpio", for: ["guest"], why: "packs what it boots" },
  { name: "kmod", for: ["guest"], why: "finds the modules that a module needs" },
  { name: "xz-utils", for: ["guest"], why: "unpacks them" },
];

/** What downloads the wheels of `wheels.ts`, where there is no pip yet. */
export const PIP: Package = { name: "python3-pip", for: ["test", "intel"], why: "downloads the wheels" };
