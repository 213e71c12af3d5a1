// The same frame by copying: written to a buffer of the driver's own, and read back from it.
#include "harness.h"

static unsigned char *frame;
static cl_mem mem;
static cl_kernel invert;

static void setup(void) {
  if (frame != NULL) return;
  frame = make_frame();
  mem = make_buffer(CL_MEM_ALLOC_HOST_PTR, FRAME, NULL);
}

static void write_frame(void) {
  check(clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, FRAME, frame, 0, NULL, NULL), "clEnqueueWriteBuffer");
}

static void read_frame(void) {
  check(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, FRAME, frame, 0, NULL, NULL), "clEnqueueReadBuffer");
}

static void write_read(long count) {
  for (long i = 0; i < count; i++) {
    write_frame();
    read_frame();
  }
}

static void write_invert_read(long count) {
  const size_t items = PIXELS;
  for (long i = 0; i < count; i++) {
    write_frame();
    check(clEnqueueNDRangeKernel(queue, invert, 1, NULL, &items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    read_frame();
  }
}

static void setup_invert(void) {
  setup();
  invert = make_kernel("invert");
  check(clSetKernelArg(invert, 0, sizeof mem, &mem), "clSetKernelArg");
  check_inverts(frame, write_invert_read);
}

static const struct operation OPERATIONS[] = {
  {"write_read", setup, write_read, NULL, 0, NULL},
  {"write_invert_read", setup_invert, write_invert_read, NULL, 0, NULL},
};

SERVE(OPERATIONS)
