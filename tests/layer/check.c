/*
 * Shows what a host-pointer buffer of PoCL does: by itself (`check none`) or under the layer (`check map` and so on).
 * Prints a line for each case, `ok` or `FAILED`; exits with 1 if any failed.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 8192, SPOILT = 0xa5, MAPS = 10000, THREADS = 4, ROUNDS = 200 };
static const char *const modes[] = {"none", "map", "finish", "enqueue", "kernel"};
static enum { NONE, MAP, FINISH, ENQUEUE, KERNEL, MODES } mode;

static const char *const source =
    "kernel void fill(global uchar *to, uchar seed) { to[get_global_id(0)] = seed + get_global_id(0) * 7; }"
    "kernel void copy(global uchar *to, global const uchar *from) { to[get_global_id(0)] = from[get_global_id(0)]; }"
    "kernel void talk(global volatile uchar *to, global volatile const uchar *from, ulong turns) {"
    "  to[0] = 77; for (ulong i = 0; i < turns && from[0] == 0; i++) {} to[1] = from[0]; }";

struct device {
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_kernel fill, copy, talk;
};
static cl_device_id device_id;
static struct device d; /* the main thread's */
static int failed;

static void expect(int holds, const char *what, ...) {
  va_list arguments;
  va_start(arguments, what);
  printf(holds ? "ok " : "FAILED ");
  vprintf(what, arguments);
  printf("\n");
  va_end(arguments);
  if (!holds) failed = 1;
}

static void must(cl_int status, const char *what) {
  if (status == CL_SUCCESS) return;
  printf("FAILED %s: error %d\n", what, status);
  exit(1);
}
#define MUST(call) must((call), #call)

/* Where a call gives its result back and its status by pointer: MADE(x = clCreateX(…, &status)). */
#define MADE(assignment)   \
  do {                     \
    cl_int status;         \
    assignment;            \
    must(status, #assignment); \
  } while (0)

static void pause_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

static struct device open_device(void) {
  struct device o;
  MADE(o.context = clCreateContext(NULL, 1, &device_id, NULL, NULL, &status));
  MADE(o.queue = clCreateCommandQueueWithProperties(o.context, device_id, NULL, &status));
  MADE(o.program = clCreateProgramWithSource(o.context, 1, (const char **)&source, NULL, &status));
  MUST(clBuildProgram(o.program, 1, &device_id, "", NULL, NULL));
  MADE(o.fill = clCreateKernel(o.program, "fill", &status));
  MADE(o.copy = clCreateKernel(o.program, "copy", &status));
  MADE(o.talk = clCreateKernel(o.program, "talk", &status));
  return o;
}

static void close_device(struct device *o) {
  MUST(clReleaseKernel(o->fill));
  MUST(clReleaseKernel(o->copy));
  MUST(clReleaseKernel(o->talk));
  MUST(clReleaseProgram(o->program));
  MUST(clReleaseCommandQueue(o->queue));
  MUST(clReleaseContext(o->context));
}

static unsigned char *host_bytes(void) {
  unsigned char *bytes = aligned_alloc(4096, SIZE);
  return memset(bytes, 0, SIZE);
}

static cl_mem wrap(cl_context context, unsigned char *bytes) {
  cl_mem mem;
  MADE(mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, SIZE, bytes, &status));
  return mem;
}

/* Kernels that write `seed`'s bytes, and that copy; submitted, not waited for. */
static void fill(struct device *o, cl_mem to, size_t count, unsigned char seed, cl_event after, cl_event *event) {
  MUST(clSetKernelArg(o->fill, 0, sizeof to, &to));
  MUST(clSetKernelArg(o->fill, 1, sizeof seed, &seed));
  MUST(clEnqueueNDRangeKernel(o->queue, o->fill, 1, NULL, &count, NULL, after != NULL, after ? &after : NULL, event));
  MUST(clFlush(o->queue));
}

static void copy(struct device *o, cl_mem to, cl_mem from, cl_event after, cl_event *event) {
  size_t count = SIZE;
  MUST(clSetKernelArg(o->copy, 0, sizeof to, &to));
  MUST(clSetKernelArg(o->copy, 1, sizeof from, &from));
  MUST(clEnqueueNDRangeKernel(o->queue, o->copy, 1, NULL, &count, NULL, after != NULL, after ? &after : NULL, event));
  MUST(clFlush(o->queue));
}

static int is_filled(const unsigned char *bytes, size_t from, size_t to, unsigned char seed) {
  for (size_t i = from; i < to; i++)
    if (((volatile const unsigned char *)bytes)[i] != (unsigned char)(seed + i * 7)) return 0;
  return 1;
}

static int is_spoilt(const unsigned char *bytes) {
  for (size_t i = 0; i < SIZE; i++)
    if (bytes[i] != SPOILT) return 0;
  return 1;
}

static void host_fill(unsigned char *bytes, size_t from, size_t to, unsigned char seed) {
  for (size_t i = from; i < to; i++) bytes[i] = seed + i * 7;
}

static int is_complete(cl_event event) {
  cl_int state;
  MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
  return state <= CL_COMPLETE;
}

/* Waits as no layer can notice, and releases the event. */
static void await(cl_event event) {
  while (!is_complete(event)) pause_ms(1);
  MUST(clReleaseEvent(event));
}

/* Sees, within a while, the seed's bytes in the host's memory, without a call. */
static int appears(const unsigned char *bytes, size_t count, unsigned char seed) {
  for (int i = 0; i < 200; i++, pause_ms(1))
    if (is_filled(bytes, 0, count, seed)) return 1;
  return 0;
}

/* The bytes of a device buffer, by clEnqueueReadBuffer. */
static const unsigned char *read_device(cl_mem mem) {
  static unsigned char bytes[SIZE];
  MUST(clEnqueueReadBuffer(d.queue, mem, CL_TRUE, 0, SIZE, bytes, 0, NULL, NULL));
  return bytes;
}

static unsigned char *map(cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t offset, size_t size, cl_event after,
                          cl_event *event) {
  unsigned char *pointer;
  MADE(pointer = clEnqueueMapBuffer(d.queue, mem, blocking, flags, offset, size, after != NULL, after ? &after : NULL,
                                    event, &status));
  return pointer;
}

static void unmap(cl_mem mem, void *pointer, cl_event after, cl_event *event) {
  MUST(clEnqueueUnmapMemObject(d.queue, mem, pointer, after != NULL, after ? &after : NULL, event));
  MUST(clFlush(d.queue));
}

static cl_event gate(void) {
  cl_event event;
  MADE(event = clCreateUserEvent(d.context, &status));
  return event;
}

static void open_gate(cl_event event, cl_int status) {
  MUST(clSetUserEventStatus(event, status));
  MUST(clReleaseEvent(event));
}

/* ---- When bytes move ---- */

static void device_to_host(void) {
  unsigned char *bytes = host_bytes();
  cl_mem mem = wrap(d.context, bytes), other;
  MADE(other = clCreateBuffer(d.context, CL_MEM_READ_WRITE, SIZE, NULL, &status));
  cl_event event;

  fill(&d, mem, SIZE, 1, NULL, &event);
  await(event);
  int seen = appears(bytes, SIZE, 1);
  expect(seen == (mode == NONE || mode == KERNEL), "a finished kernel's bytes are %s without a call",
         seen ? "seen" : "not seen");

  fill(&d, other, SIZE, 9, NULL, &event);
  await(event);
  seen = appears(bytes, SIZE, 1);
  expect(seen == (mode == NONE || mode >= ENQUEUE), "after another enqueue they are %s", seen ? "seen" : "not seen");

  MUST(clFinish(d.queue));
  seen = is_filled(bytes, 0, SIZE, 1);
  expect(seen == (mode != MAP), "after clFinish they are %s", seen ? "seen" : "not seen");

  fill(&d, mem, SIZE, 2, NULL, &event);
  MUST(clWaitForEvents(1, &event));
  MUST(clReleaseEvent(event));
  seen = is_filled(bytes, 0, SIZE, 2);
  expect(seen == (mode != MAP), "after clWaitForEvents another's are %s", seen ? "seen" : "not seen");

  unsigned char *part = map(mem, CL_TRUE, CL_MAP_READ, 100, 50, NULL, NULL);
  expect(part == bytes + 100 && is_filled(bytes, 100, 150, 2), "after a map they are seen, at host_ptr + offset");
  seen = is_filled(bytes, 0, 100, 2) || is_filled(bytes, 150, SIZE, 2);
  expect(seen == (mode != MAP), "outside the mapped range they are %s", seen ? "seen" : "not seen");
  unmap(mem, part, NULL, NULL);

  MUST(clFinish(d.queue));
  MUST(clReleaseMemObject(mem));
  MUST(clReleaseMemObject(other));
  free(bytes);
}

static void host_to_device(void) {
  unsigned char *bytes = host_bytes();
  host_fill(bytes, 0, SIZE, 3);
  cl_mem mem = wrap(d.context, bytes), out;
  MADE(out = clCreateBuffer(d.context, CL_MEM_READ_WRITE, SIZE, NULL, &status));
  cl_event event;

  copy(&d, out, mem, NULL, NULL);
  expect(is_filled(read_device(out), 0, SIZE, 3), "the device has the bytes of the creation");

  host_fill(bytes, 0, SIZE, 4);
  copy(&d, out, mem, NULL, NULL);
  int seen = is_filled(read_device(out), 0, SIZE, 4);
  expect(seen == (mode == NONE || mode >= ENQUEUE), "bytes that the host writes are %s by the next kernel",
         seen ? "seen" : "not seen");

  cl_event closed = gate();
  copy(&d, out, mem, closed, &event);
  host_fill(bytes, 0, SIZE, 5);
  open_gate(closed, CL_COMPLETE);
  await(event);
  seen = is_filled(read_device(out), 0, SIZE, 5);
  expect(seen == (mode == NONE || mode == KERNEL), "bytes that it writes after the enqueue, before the start, are %s",
         seen ? "seen" : "not seen");

  unsigned char *mapped = map(mem, CL_TRUE, CL_MAP_WRITE, 0, SIZE / 2, NULL, NULL);
  host_fill(mapped, 0, SIZE / 2, 6);
  unmap(mem, mapped, NULL, NULL);
  copy(&d, out, mem, NULL, NULL);
  expect(is_filled(read_device(out), 0, SIZE / 2, 6), "bytes written to a mapped range are seen after the unmap");

  mapped = map(mem, CL_TRUE, CL_MAP_READ, 0, SIZE, NULL, NULL);
  host_fill(mapped, 0, SIZE, 7);
  copy(&d, out, mem, NULL, NULL);
  seen = is_filled(read_device(out), 0, SIZE, 7);
  expect(seen == (mode == NONE), "bytes written to a range that is mapped for reading are %s",
         seen ? "seen" : "not seen");
  unmap(mem, mapped, NULL, NULL);

  MUST(clFinish(d.queue));
  MUST(clReleaseMemObject(mem));
  MUST(clReleaseMemObject(out));
  free(bytes);
}

/* What no disguise can fake: the host and a running kernel see each other's bytes. */
static void while_running(void) {
  unsigned char *to = host_bytes(), *from = host_bytes();
  cl_mem to_mem = wrap(d.context, to), from_mem = wrap(d.context, from);
  cl_ulong turns = mode == NONE ? 20000000000 : 300000000;
  size_t one = 1;
  cl_event event;
  MUST(clSetKernelArg(d.talk, 0, sizeof to_mem, &to_mem));
  MUST(clSetKernelArg(d.talk, 1, sizeof from_mem, &from_mem));
  MUST(clSetKernelArg(d.talk, 2, sizeof turns, &turns));
  MUST(clEnqueueNDRangeKernel(d.queue, d.talk, 1, NULL, &one, NULL, 0, NULL, &event));
  MUST(clFlush(d.queue));
  int seen = 0;
  cl_int state = CL_QUEUED;
  while (!seen && state > CL_COMPLETE) {
    seen = *(volatile unsigned char *)to == 77;
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    /* Not before its byte was seen: it leaves its loop then, and may be over when its state is asked. */
    if (state == CL_RUNNING && (seen || mode != NONE)) *(volatile unsigned char *)from = 5;
  }
  seen = seen && state == CL_RUNNING;
  await(event);
  MUST(clFinish(d.queue));
  int answered = read_device(to_mem)[1] == 5;
  expect(seen == (mode == NONE), "a running kernel's bytes are %s by the host", seen ? "seen" : "not seen");
  expect(answered == (mode == NONE), "the host's are %s by the running kernel", answered ? "seen" : "not seen");
  MUST(clReleaseMemObject(to_mem));
  MUST(clReleaseMemObject(from_mem));
  free(to);
  free(from);
}

/* ---- What must hold in every mode ---- */

static void nothing_lost(void) {
  unsigned char *bytes = host_bytes(), written[SIZE];
  cl_mem mem = wrap(d.context, bytes), out;
  MADE(out = clCreateBuffer(d.context, CL_MEM_READ_WRITE, SIZE, NULL, &status));
  cl_event event;

  fill(&d, mem, SIZE / 2, 11, NULL, &event);
  await(event);
  host_fill(bytes, SIZE / 2, SIZE, 11);
  copy(&d, out, mem, NULL, NULL);
  const unsigned char *device = read_device(out);
  expect(is_filled(device, 0, SIZE / 2, 11), "results outlive the next enqueue");
  int seen = is_filled(device, SIZE / 2, SIZE, 11);
  expect(seen == (mode == NONE || mode >= ENQUEUE), "what the host wrote beside them is %s",
         seen ? "sent" : "not sent");

  host_fill(written, 0, SIZE, 12);
  MUST(clEnqueueWriteBuffer(d.queue, mem, CL_TRUE, 0, SIZE, written, 0, NULL, NULL));
  copy(&d, out, mem, NULL, NULL);
  expect(is_filled(read_device(out), 0, SIZE, 12), "bytes of clEnqueueWriteBuffer outlive the next enqueue");

  unsigned char *mapped = map(mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 1000, 2000, NULL, NULL);
  host_fill(bytes, 1000, 3000, 13);
  fill(&d, mem, 1000, 14, NULL, NULL);
  MUST(clFinish(d.queue));
  fill(&d, out, 1, 0, NULL, NULL);
  MUST(clFinish(d.queue));
  expect(is_filled(bytes, 1000, 3000, 13), "bytes in a mapped range are left alone");
  seen = is_filled(bytes, 0, 1000, 14);
  expect(seen == (mode != MAP), "results beside it are %s", seen ? "brought" : "not brought");
  unmap(mem, mapped, NULL, NULL);
  copy(&d, out, mem, NULL, NULL);
  MUST(clReleaseMemObject(mem)); /* while the commands may wait yet */
  expect(is_filled(read_device(out), 1000, 3000, 13), "an unmap, a kernel, then the release: the kernel saw the bytes");
  MUST(clReleaseMemObject(out));
  free(bytes);
}

static void gated(void) {
  unsigned char *bytes = host_bytes();
  cl_mem mem = wrap(d.context, bytes), out;
  MADE(out = clCreateBuffer(d.context, CL_MEM_READ_WRITE, SIZE, NULL, &status));
  cl_event closed = gate(), event;
  fill(&d, mem, SIZE, 21, closed, NULL);
  unsigned char *mapped = map(mem, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0, SIZE, NULL, &event);
  MUST(clFlush(d.queue));
  pause_ms(20);
  expect(mapped == bytes && !is_complete(event) && bytes[0] == 0, "a nonblocking map waits for the gated kernel");
  open_gate(closed, CL_COMPLETE);
  cl_command_type type;
  MUST(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
  await(event);
  expect(is_filled(bytes, 0, SIZE, 21), "when its event is complete, the bytes are there");

  cl_command_type unmap_type;
  host_fill(bytes, 0, SIZE, 22);
  closed = gate();
  unmap(mem, mapped, closed, &event);
  MUST(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof unmap_type, &unmap_type, NULL));
  expect(type == CL_COMMAND_MAP_BUFFER && unmap_type == CL_COMMAND_UNMAP_MEM_OBJECT, "events name their command");
  copy(&d, out, mem, NULL, NULL);
  pause_ms(20);
  expect(!is_complete(event), "an unmap waits for its gate");
  open_gate(closed, CL_COMPLETE);
  await(event);
  expect(is_filled(read_device(out), 0, SIZE, 22), "a kernel behind it sees the bytes");

  fill(&d, mem, SIZE, 23, NULL, NULL);
  mapped = map(mem, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, SIZE, NULL, NULL);
  if (mode != NONE) expect(is_spoilt(bytes), "an invalidating map shows none of the bytes");
  host_fill(bytes, 0, SIZE, 24);
  unmap(mem, mapped, NULL, NULL);
  expect(is_filled(read_device(mem), 0, SIZE, 24), "its unmap sends the bytes");

  MUST(clFinish(d.queue));
  MUST(clReleaseMemObject(mem));
  MUST(clReleaseMemObject(out));
  free(bytes);
}

/* What the layer leaves to the driver shows nothing either, where a map invalidates. */
static void spoilt(void) {
  cl_mem mem;
  MADE(mem = clCreateBuffer(d.context, CL_MEM_READ_WRITE, SIZE, NULL, &status));
  fill(&d, mem, SIZE, 25, NULL, NULL);
  unsigned char *mapped = map(mem, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, SIZE, NULL, NULL);
  expect(is_spoilt(mapped) == (mode != NONE), "an invalidating map of the driver's own buffer");
  mapped[0] = 1;
  unmap(mem, mapped, NULL, NULL);
  expect((read_device(mem)[1] == SPOILT) == (mode != NONE), "its unmap sends what was not written as well");

  cl_event closed = gate(), event;
  mapped = map(mem, CL_FALSE, CL_MAP_READ, 0, SIZE, closed, NULL);
  unmap(mem, mapped, NULL, NULL);
  mapped = map(mem, CL_FALSE, CL_MAP_WRITE_INVALIDATE_REGION, 0, SIZE, NULL, &event);
  MUST(clFlush(d.queue));
  expect(!is_complete(event), "a nonblocking one waits for its gate");
  open_gate(closed, CL_COMPLETE);
  await(event);
  unmap(mem, mapped, NULL, NULL);

  unsigned char *shared = clSVMAlloc(d.context, CL_MEM_READ_WRITE, SIZE, 0);
  const unsigned char pattern = 26;
  MUST(clEnqueueSVMMemFill(d.queue, shared, &pattern, 1, SIZE, 0, NULL, NULL));
  MUST(clEnqueueSVMMap(d.queue, CL_TRUE, CL_MAP_WRITE, shared, SIZE, 0, NULL, NULL));
  expect(shared[0] == 26 && shared[SIZE - 1] == 26, "a map of shared virtual memory for writing shows its bytes");
  MUST(clEnqueueSVMUnmap(d.queue, shared, 0, NULL, NULL));
  MUST(clEnqueueSVMMap(d.queue, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, shared, SIZE, 0, NULL, NULL));
  expect(is_spoilt(shared) == (mode != NONE), "an invalidating one");
  MUST(clEnqueueSVMUnmap(d.queue, shared, 0, NULL, NULL));
  MUST(clFinish(d.queue));
  clSVMFree(d.context, shared);
  MUST(clReleaseMemObject(mem));
}

static void failed_gate(void) {
  unsigned char *bytes = host_bytes();
  cl_mem mem = wrap(d.context, bytes);
  struct device other = {0};
  MADE(other.queue = clCreateCommandQueueWithProperties(d.context, device_id, NULL, &status));
  cl_event closed = gate(), event;
  cl_int state, status;
  clEnqueueMapBuffer(other.queue, mem, CL_FALSE, CL_MAP_READ, 0, SIZE, 1, &closed, &event, &status);
  MUST(status);
  open_gate(closed, -1);
  while (!is_complete(event)) pause_ms(1);
  MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
  expect(state < 0, "a map behind a failed gate fails");
  MUST(clReleaseEvent(event));
  MUST(clReleaseCommandQueue(other.queue));
  MUST(clReleaseMemObject(mem));
  free(bytes);
}

static void *host_pointer(cl_mem mem) {
  void *pointer;
  MUST(clGetMemObjectInfo(mem, CL_MEM_HOST_PTR, sizeof pointer, &pointer, NULL));
  return pointer;
}

static cl_uint number(cl_mem mem, cl_mem_info name) {
  cl_uint value;
  MUST(clGetMemObjectInfo(mem, name, sizeof value, &value, NULL));
  return value;
}

static void sub_buffers(void) {
  unsigned char *bytes = host_bytes();
  cl_mem mem = wrap(d.context, bytes), sub, out;
  cl_buffer_region region = {4096, 4096};
  MADE(sub = clCreateSubBuffer(mem, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
  cl_mem_flags flags;
  MUST(clGetMemObjectInfo(sub, CL_MEM_FLAGS, sizeof flags, &flags, NULL));
  expect(host_pointer(sub) == bytes + 4096 && flags == (CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR),
         "a sub-buffer has host_ptr + origin, and its parent's CL_MEM_USE_HOST_PTR");
  MUST(clReleaseMemObject(mem));
  cl_event event;
  fill(&d, sub, 4096, 31, NULL, &event);
  await(event);
  int seen = appears(bytes + 4096, 4096, 31);
  expect(seen == (mode == NONE || mode == KERNEL), "its parent released, a kernel's bytes in it are %s",
         seen ? "seen" : "not seen");
  unsigned char *mapped = map(sub, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 96, 4000, NULL, NULL);
  expect(mapped == bytes + 4096 + 96 && is_filled(bytes + 4096, 96, 4096, 31), "after a map of it they are seen");
  host_fill(bytes + 4096, 96, 4096, 32);
  unmap(sub, mapped, NULL, NULL);
  MADE(out = clCreateBuffer(d.context, CL_MEM_READ_WRITE, SIZE, NULL, &status));
  MUST(clEnqueueCopyBuffer(d.queue, sub, out, 0, 4096, 4096, 0, NULL, NULL));
  expect(is_filled(read_device(out) + 4096, 96, 4096, 32), "after the unmap the device has the host's");
  MUST(clReleaseMemObject(sub));
  MUST(clReleaseMemObject(out));
  free(bytes);
}

static void answers(void) {
  unsigned char *bytes = host_bytes();
  cl_mem mem;
  cl_mem_flags asked = CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, flags;
  MADE(mem = clCreateBufferWithProperties(d.context, NULL, asked, SIZE, bytes, &status));
  MUST(clGetMemObjectInfo(mem, CL_MEM_FLAGS, sizeof flags, &flags, NULL));
  expect(flags == asked, "the flags are the program's");
  expect(host_pointer(mem) == bytes, "the host pointer is the program's");
  expect(!number(mem, CL_MEM_USES_SVM_POINTER), "a pointer of malloc is not SVM");
  MUST(clRetainMemObject(mem));
  expect(number(mem, CL_MEM_REFERENCE_COUNT) == 2, "a retain counts");
  MUST(clReleaseMemObject(mem));
  unsigned char *mapped = map(mem, CL_TRUE, CL_MAP_READ, 0, 1, NULL, NULL);
  expect(number(mem, CL_MEM_MAP_COUNT) == 1, "a map counts");
  unmap(mem, mapped, NULL, NULL);
  MUST(clFinish(d.queue));
  expect(number(mem, CL_MEM_MAP_COUNT) == 0, "an unmap counts");
  cl_int status;
  clEnqueueMapBuffer(d.queue, mem, CL_TRUE, CL_MAP_READ, 1, SIZE, 0, NULL, NULL, &status);
  expect(status == CL_INVALID_VALUE, "a map beyond the end is refused");
  status = clEnqueueUnmapMemObject(d.queue, mem, bytes, 0, NULL, NULL);
  expect(status == CL_INVALID_VALUE, "an unmap of what is not mapped is refused");
  MUST(clReleaseMemObject(mem));
  clCreateBuffer(d.context, CL_MEM_USE_HOST_PTR, SIZE, NULL, &status);
  expect(status == CL_INVALID_HOST_PTR, "a null host pointer is refused");
  free(bytes);

  void *svm = clSVMAlloc(d.context, CL_MEM_READ_WRITE, SIZE, 0);
  mem = wrap(d.context, svm);
  expect(number(mem, CL_MEM_USES_SVM_POINTER), "an SVM pointer is SVM");
  MUST(clReleaseMemObject(mem));
  clSVMFree(d.context, svm);
}

static long resident_kib(void) {
  long total, resident;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2) exit(1);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void many_maps(void) {
  unsigned char *bytes = host_bytes();
  long before = 0;
  int right = 1;
  for (int i = 0; i < MAPS; i++) {
    if (i == MAPS / 10) before = resident_kib();
    cl_mem mem = wrap(d.context, bytes);
    unsigned char *mapped = map(mem, i % 2, CL_MAP_READ | CL_MAP_WRITE, 0, SIZE, NULL, NULL);
    if (i % 2) right &= mapped[5] == (unsigned char)(i / 2), mapped[5] = i / 2 + 1;
    unmap(mem, mapped, NULL, NULL);
    MUST(clReleaseMemObject(mem));
    if (i % 2 == 0) MUST(clFinish(d.queue));
  }
  MUST(clFinish(d.queue));
  long grown = resident_kib() - before;
  expect(right, "%d maps: every one saw the bytes before it", MAPS);
  expect(grown < 1024, "%d maps: memory grew by %ld KiB", MAPS, grown);
  free(bytes);
}

static void *rounds(void *right) {
  struct device o = open_device();
  unsigned char *bytes = host_bytes();
  for (int i = 0; i < ROUNDS; i++) {
    cl_mem mem = wrap(o.context, bytes);
    fill(&o, mem, SIZE, i, NULL, NULL);
    cl_int status;
    void *mapped = clEnqueueMapBuffer(o.queue, mem, CL_TRUE, CL_MAP_READ, 0, SIZE, 0, NULL, NULL, &status);
    MUST(status);
    *(int *)right &= is_filled(bytes, 0, SIZE, i);
    MUST(clEnqueueUnmapMemObject(o.queue, mem, mapped, 0, NULL, NULL));
    MUST(clFinish(o.queue));
    MUST(clReleaseMemObject(mem));
  }
  close_device(&o);
  free(bytes);
  return NULL;
}

static void threads(void) {
  pthread_t thread[THREADS];
  int right[THREADS], all = 1;
  for (int i = 0; i < THREADS; i++) {
    right[i] = 1;
    pthread_create(&thread[i], NULL, rounds, &right[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    all &= right[i];
  }
  expect(all, "%d threads, each with its context, %d kernels and maps", THREADS, ROUNDS);
}

static cl_device_id pocl(void) {
  cl_platform_id platforms[16];
  cl_uint count;
  char name[100];
  MUST(clGetPlatformIDs(16, platforms, &count));
  for (cl_uint i = 0; i < count; i++) {
    cl_device_id device;
    MUST(clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL));
    if (strcmp(name, "Portable Computing Language")) continue;
    MUST(clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    return device;
  }
  printf("no PoCL here\n");
  exit(2);
}

int main(int argc, char **argv) {
  for (mode = NONE; mode < MODES && !(argc == 2 && !strcmp(argv[1], modes[mode])); mode++) {}
  if (mode == MODES) {
    fprintf(stderr, "usage: check none|map|finish|enqueue|kernel\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  device_id = pocl();
  d = open_device();
  device_to_host();
  host_to_device();
  while_running();
  nothing_lost();
  gated();
  spoilt();
  failed_gate();
  sub_buffers();
  answers();
  many_maps();
  threads();
  close_device(&d);
  return failed;
}
