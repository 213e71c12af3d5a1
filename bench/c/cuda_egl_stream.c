// Frames through an EGLStream from one CUDA stream to another, in one thread: presented, acquired, released and returned,
// with nothing done to them. The consumer looks where each lies.
#include "cuda.h"
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <cuda_egl_interop.h>

enum { ACROSS = 1920, DOWN = 1080, POOL = 2, MAX_DEVICES = 32 };

static EGLStreamKHR egl_stream;
static cudaStream_t reading, writing;
static cudaEglStreamConnection consumer, producer;
static cudaEglFrame frames[POOL];

static void *find(const char *name) {
  void *function = (void *)eglGetProcAddress(name);
  if (function == NULL) fail(name);
  return function;
}

static EGLDisplay open_display(void) {
  const PFNEGLQUERYDEVICESEXTPROC query_devices = (PFNEGLQUERYDEVICESEXTPROC)find("eglQueryDevicesEXT");
  const PFNEGLQUERYDEVICEATTRIBEXTPROC query = (PFNEGLQUERYDEVICEATTRIBEXTPROC)find("eglQueryDeviceAttribEXT");
  EGLDeviceEXT devices[MAX_DEVICES];
  EGLint count = 0;
  int current;
  check(cudaGetDevice(&current), "cudaGetDevice");
  if (!query_devices(MAX_DEVICES, devices, &count)) fail("eglQueryDevicesEXT failed");
  for (EGLint i = 0; i < count; i++) {
    EGLAttrib ordinal = -1;
    if (!query(devices[i], EGL_CUDA_DEVICE_NV, &ordinal) || ordinal != current) continue;
    const EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, devices[i], NULL);
    if (display == EGL_NO_DISPLAY || !eglInitialize(display, NULL, NULL)) fail("eglInitialize failed");
    return display;
  }
  fail("EGL has no device of CUDA's");
  return EGL_NO_DISPLAY;
}

static cudaEglFrame make_frame_of(unsigned char *bytes) {
  cudaEglFrame frame;
  memset(&frame, 0, sizeof frame);
  frame.frame.pPitch[0] = (struct cudaPitchedPtr){.ptr = bytes, .pitch = ACROSS * 4, .xsize = ACROSS * 4, .ysize = DOWN};
  frame.planeDesc[0] = (cudaEglPlaneDesc){.width = ACROSS, .height = DOWN, .pitch = ACROSS * 4, .numChannels = 4};
  frame.planeDesc[0].channelDesc = (struct cudaChannelFormatDesc){8, 8, 8, 8, cudaChannelFormatKindUnsigned};
  frame.planeCount = 1;
  frame.frameType = cudaEglFrameTypePitch;
  frame.eglColorFormat = cudaEglColorFormatABGR;
  return frame;
}

static void setup(void) {
  if (egl_stream != NULL) return;
  const EGLDisplay display = open_display();
  const PFNEGLCREATESTREAMKHRPROC create = (PFNEGLCREATESTREAMKHRPROC)find("eglCreateStreamKHR");
  const EGLint attributes[] = {EGL_STREAM_FIFO_LENGTH_KHR, 4, EGL_SUPPORT_REUSE_NV, EGL_FALSE, EGL_NONE};
  egl_stream = create(display, attributes);
  if (egl_stream == EGL_NO_STREAM_KHR) fail("eglCreateStreamKHR failed");
  check(cudaStreamCreateWithFlags(&reading, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check(cudaStreamCreateWithFlags(&writing, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check(cudaEGLStreamConsumerConnect(&consumer, egl_stream), "cudaEGLStreamConsumerConnect");
  check(cudaEGLStreamProducerConnect(&producer, egl_stream, ACROSS, DOWN), "cudaEGLStreamProducerConnect");
  for (int i = 0; i < POOL; i++) frames[i] = make_frame_of(make_device((size_t)ACROSS * DOWN * 4));
}

static void send(long count) {
  for (long i = 0; i < count; i++) {
    cudaGraphicsResource_t resource;
    cudaEglFrame seen, back;
    check(cudaEGLStreamProducerPresentFrame(&producer, frames[i % POOL], &writing), "cudaEGLStreamProducerPresentFrame");
    check(cudaEGLStreamConsumerAcquireFrame(&consumer, &resource, &reading, 0), "cudaEGLStreamConsumerAcquireFrame");
    check(cudaGraphicsResourceGetMappedEglFrame(&seen, resource, 0, 0), "cudaGraphicsResourceGetMappedEglFrame");
    if (seen.frame.pPitch[0].ptr == NULL) fail("the frame has no address");
    check(cudaEGLStreamConsumerReleaseFrame(&consumer, resource, &reading), "cudaEGLStreamConsumerReleaseFrame");
    check(cudaEGLStreamProducerReturnFrame(&producer, &back, &writing), "cudaEGLStreamProducerReturnFrame");
  }
}

static const struct operation OPERATIONS[] = {{"send", setup, send, NULL, 0, NULL}};

SERVE(OPERATIONS)
