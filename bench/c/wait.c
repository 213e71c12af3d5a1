// A kernel and the wait for its event.
#include "harness.h"

static cl_kernel touch, work;
static cl_mem mem;

static void setup(void) {
  if (mem != NULL) return;
  mem = make_buffer(CL_MEM_USE_HOST_PTR, 64, map_pages(64));
  touch = make_kernel("touch");
  work = make_kernel("work");
}

static void run_and_wait(cl_kernel kernel, cl_uint turns, long count) {
  const size_t items = 1;
  for (long i = 0; i < count; i++) {
    cl_event event;
    check(clSetKernelArg(kernel, 0, sizeof mem, &mem), "clSetKernelArg");
    if (turns > 0) check(clSetKernelArg(kernel, 1, sizeof turns, &turns), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, &event), "clEnqueueNDRangeKernel");
    check(clWaitForEvents(1, &event), "clWaitForEvents");
    check(clReleaseEvent(event), "clReleaseEvent");
  }
}

static void tiny(long count) { run_and_wait(touch, 0, count); }
static void millisecond(long count) { run_and_wait(work, 1000000, count); }

static const struct operation OPERATIONS[] = {
  {"tiny", setup, tiny, NULL, 0, NULL},
  {"millisecond", setup, millisecond, NULL, 0, NULL},
};

SERVE(OPERATIONS)
