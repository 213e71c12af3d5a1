// The same frame by copying: written to a buffer of the driver's own, and read back from it.
#include "harness.h"

static unsigned char *frame;
static cl_mem mem;
static cl_kernel touch, invert;

static void setup(void) {
  if (frame != NULL) return;
  frame = make_frame();
  mem = make_buffer(CL_MEM_ALLOC_HOST_PTR, FRAME, NULL);
}

static cl_kernel kernel_over_buffer(const char *name) {
  cl_kernel kernel = make_kernel(name);
  check(clSetKernelArg(kernel, 0, sizeof mem, &mem), "clSetKernelArg");
  return kernel;
}

static void through(cl_kernel kernel, size_t items, long count) {
  for (long i = 0; i < count; i++) {
    check(clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, FRAME, frame, 0, NULL, NULL), "clEnqueueWriteBuffer");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, FRAME, frame, 0, NULL, NULL), "clEnqueueReadBuffer");
  }
}

static void write_touch_read(long count) { through(touch, 1, count); }
static void write_invert_read(long count) { through(invert, PIXELS, count); }

static void setup_touch(void) {
  setup();
  touch = kernel_over_buffer("touch");
}

static void setup_invert(void) {
  setup();
  invert = kernel_over_buffer("invert");
  check_inverts(frame, write_invert_read);
}

static const struct operation OPERATIONS[] = {
  {"write_touch_read", setup_touch, write_touch_read, NULL, 0},
  {"write_invert_read", setup_invert, write_invert_read, NULL, 0},
};

SERVE(OPERATIONS)
