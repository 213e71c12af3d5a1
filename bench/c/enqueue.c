// A kernel with six arguments, all set each time. Every command's event is held, as samepage holds it, and released
// once HELD commands were submitted after it.
#include "harness.h"

enum { BYTES = 64, HELD = 64, MOST = 200, TURNS = 1000000 };

static cl_kernel six, work;
static cl_mem a, b, to;
static cl_event events[MOST];
static long submitted;

static void setup(void) {
  if (six != NULL) return;
  work = make_kernel("work");
  six = make_kernel("six");
  a = make_buffer(CL_MEM_USE_HOST_PTR, BYTES, map_pages(BYTES));
  b = make_buffer(CL_MEM_USE_HOST_PTR, BYTES, map_pages(BYTES));
  to = make_buffer(CL_MEM_USE_HOST_PTR, BYTES, map_pages(BYTES));
}

// Keeps the device busy for a millisecond.
static void start_work(void) {
  const size_t items = 1;
  const cl_uint turns = TURNS;
  check(clSetKernelArg(work, 0, sizeof to, &to), "clSetKernelArg");
  check(clSetKernelArg(work, 1, sizeof turns, &turns), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(queue, work, 1, NULL, &items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
}

static void enqueue(long count) {
  const size_t items = BYTES;
  const cl_int n = BYTES;
  const cl_uchar add = 1;
  const cl_float scale = 0.5f;
  for (long i = 0; i < count; i++) {
    check(clSetKernelArg(six, 0, sizeof a, &a), "clSetKernelArg");
    check(clSetKernelArg(six, 1, sizeof b, &b), "clSetKernelArg");
    check(clSetKernelArg(six, 2, sizeof to, &to), "clSetKernelArg");
    check(clSetKernelArg(six, 3, sizeof n, &n), "clSetKernelArg");
    check(clSetKernelArg(six, 4, sizeof add, &add), "clSetKernelArg");
    check(clSetKernelArg(six, 5, sizeof scale, &scale), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, six, 1, NULL, &items, NULL, 0, NULL, &events[i]), "clEnqueueNDRangeKernel");
    if (i >= HELD) check(clReleaseEvent(events[i - HELD]), "clReleaseEvent");
  }
  submitted = count;
}

static void finish(void) {
  check(clFinish(queue), "clFinish");
  for (long i = submitted > HELD ? submitted - HELD : 0; i < submitted; i++) {
    check(clReleaseEvent(events[i]), "clReleaseEvent");
  }
}

static const struct operation OPERATIONS[] = {
  {"busy", setup, enqueue, finish, MOST, start_work},
  {"idle", setup, enqueue, finish, MOST, NULL},
};

SERVE(OPERATIONS)
