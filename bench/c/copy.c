// The same frame by copying: written to a buffer of the driver's own, and read back from it.
#include "harness.h"

static unsigned char *frame;
static cl_mem mem;
static cl_kernel touch, invert;

static void setup(void) {
  if (frame != NULL) return;
  frame = make_frame();
  mem = make_buffer(0, FRAME, NULL);
  touch = make_kernel("touch");
  invert = make_kernel("invert");
  check(clSetKernelArg(touch, 0, sizeof mem, &mem), "clSetKernelArg");
  check(clSetKernelArg(invert, 0, sizeof mem, &mem), "clSetKernelArg");
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

static const struct operation OPERATIONS[] = {
  {"write_touch_read", setup, write_touch_read, NULL, 0},
  {"write_invert_read", setup, write_invert_read, NULL, 0},
};

SERVE(OPERATIONS)
