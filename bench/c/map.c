// Host memory as a buffer of OpenCL's, alone and with a kernel over a whole frame.
#include "harness.h"

static unsigned char *frame;
static cl_kernel invert;

static void setup(void) {
  if (frame == NULL) frame = make_frame();
}

static void create_release(long count) {
  for (long i = 0; i < count; i++) {
    cl_mem mem = make_buffer(CL_MEM_USE_HOST_PTR, FRAME, frame);
    check(clReleaseMemObject(mem), "clReleaseMemObject");
  }
}

// The host sees what the kernel wrote by OpenCL's own rule: once it is mapped.
static void map_kernel_unmap(long count) {
  const size_t items = PIXELS;
  for (long i = 0; i < count; i++) {
    const unsigned char before = frame[FRAME - 1];
    cl_event ran, mapped, unmapped;
    cl_int code;
    cl_mem mem = make_buffer(CL_MEM_USE_HOST_PTR, FRAME, frame);
    check(clSetKernelArg(invert, 0, sizeof mem, &mem), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, invert, 1, NULL, &items, NULL, 0, NULL, &ran), "clEnqueueNDRangeKernel");
    void *pixels = clEnqueueMapBuffer(queue, mem, CL_FALSE, CL_MAP_READ, 0, FRAME, 0, NULL, &mapped, &code);
    check(code, "clEnqueueMapBuffer");
    check(clWaitForEvents(1, &mapped), "clWaitForEvents");
    check(clEnqueueUnmapMemObject(queue, mem, pixels, 0, NULL, &unmapped), "clEnqueueUnmapMemObject");
    check(clWaitForEvents(1, &unmapped), "clWaitForEvents");
    check(clReleaseEvent(ran) | clReleaseEvent(mapped) | clReleaseEvent(unmapped), "clReleaseEvent");
    check(clReleaseMemObject(mem), "clReleaseMemObject");
    if (((volatile unsigned char *)frame)[FRAME - 1] != 255 - before) fail("the frame was not inverted");
  }
}

static void setup_kernel(void) {
  setup();
  invert = make_kernel("invert");
  check_inverts(frame, map_kernel_unmap);
}

static const struct operation OPERATIONS[] = {
  {"create_release", setup, create_release, NULL, 0, NULL},
  {"map_kernel_unmap", setup_kernel, map_kernel_unmap, NULL, 0, NULL},
};

SERVE(OPERATIONS)
