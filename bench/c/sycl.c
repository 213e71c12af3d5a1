// SYCL by DPCTL, its C API: unified shared memory, and a kernel that is waited for.
//
// A program is started as `program LIBRARY INDEX`: DPCTL, and the device's place in its list.
#include "serve.h"
#include <dlfcn.h>
#include <dpctl_sycl_interface.h>
#include <sched.h>

enum { FEW = 1024, MANY = 1 << 16 };

// What is called of DPCTL, by its declarations.
#define FUNCTIONS(each) \
  each(DPCTLDeviceMgr_GetDevices) \
  each(DPCTLDeviceVector_GetAt) \
  each(DPCTLContext_Create) \
  each(DPCTLQueue_Create) \
  each(DPCTLaligned_alloc_host) \
  each(DPCTLaligned_alloc_shared) \
  each(DPCTLfree_with_context) \
  each(DPCTLKernelBundle_CreateFromOCLSource) \
  each(DPCTLKernelBundle_GetKernel) \
  each(DPCTLQueue_SubmitRange) \
  each(DPCTLEvent_WaitAndThrow) \
  each(DPCTLEvent_GetCommandExecutionStatus) \
  each(DPCTLEvent_Delete)
#define DECLARE(name) static __typeof__(name) *name##_;
FUNCTIONS(DECLARE)

static const char *library;
static int place;
static DPCTLSyclContextRef context;
static DPCTLSyclQueueRef queue;
static DPCTLSyclKernelRef kernel;
static float *numbers;

static void *found(void *opened, const char *name) {
  void *function = dlsym(opened, name);
  if (function == NULL) fail(dlerror());
  return function;
}

static void *made(void *object, const char *fn) {
  if (object == NULL) fail(fn);
  return object;
}

static void setup(void) {
  if (context != NULL) return;
  if (dlopen("libOpenCL.so.1", RTLD_NOW) == NULL) fail(dlerror()); // before the one that SYCL's wheels have
  void *opened = dlopen(library, RTLD_NOW);
  if (opened == NULL) fail(dlerror());
#define FIND(name) name##_ = (__typeof__(name) *)found(opened, #name);
  FUNCTIONS(FIND)
  const DPCTLDeviceVectorRef devices = DPCTLDeviceMgr_GetDevices_(DPCTL_ALL_BACKENDS | DPCTL_ALL);
  const DPCTLSyclDeviceRef device = made(DPCTLDeviceVector_GetAt_(devices, (size_t)place), "DPCTLDeviceVector_GetAt");
  context = made(DPCTLContext_Create_(device, NULL, DPCTL_DEFAULT_PROPERTY), "DPCTLContext_Create");
  queue = made(DPCTLQueue_Create_(context, device, NULL, DPCTL_IN_ORDER), "DPCTLQueue_Create");
  const char *source = "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }";
  const DPCTLSyclKernelBundleRef bundle =
      made(DPCTLKernelBundle_CreateFromOCLSource_(context, device, source, ""), "DPCTLKernelBundle_CreateFromOCLSource");
  kernel = made(DPCTLKernelBundle_GetKernel_(bundle, "twice"), "DPCTLKernelBundle_GetKernel");
  numbers = made(DPCTLaligned_alloc_shared_(0, MANY * sizeof *numbers, queue), "DPCTLaligned_alloc_shared");
  memset(numbers, 0, MANY * sizeof *numbers);
}

static void allocate(long count) {
  for (long i = 0; i < count; i++) {
    DPCTLSyclUSMRef memory = made(DPCTLaligned_alloc_host_(0, FEW * sizeof *numbers, queue), "DPCTLaligned_alloc_host");
    DPCTLfree_with_context_(memory, context);
  }
}

// The host reads it where it lies.
static void read_one(long count) {
  for (long i = 0; i < count; i++) (void)((volatile float *)numbers)[i % FEW];
}

static DPCTLSyclEventRef submit(size_t items) {
  const DPCTLKernelArgType types[] = {DPCTL_VOID_PTR};
  void *arguments[] = {numbers};
  return made(DPCTLQueue_SubmitRange_(kernel, queue, arguments, types, 1, &items, 1, NULL, 0), "DPCTLQueue_SubmitRange");
}

static void wait_for(DPCTLSyclEventRef event) { DPCTLEvent_WaitAndThrow_(event); }

// As samepage waits for short work.
static void poll_for(DPCTLSyclEventRef event) {
  while (DPCTLEvent_GetCommandExecutionStatus_(event) != DPCTL_COMPLETE) sched_yield();
}

static void run_items(size_t items, void (*wait)(DPCTLSyclEventRef), long count) {
  for (long i = 0; i < count; i++) {
    DPCTLSyclEventRef event = submit(items);
    wait(event);
    DPCTLEvent_Delete_(event);
  }
}

static void run(long count) { run_items(1, wait_for, count); }

static void run_polled(long count) { run_items(1, poll_for, count); }

static void run_many(long count) { run_items(MANY, wait_for, count); }

static void run_many_polled(long count) { run_items(MANY, poll_for, count); }

static void check_twice(void (*run)(long count)) {
  numbers[0] = 21;
  run(1);
  if (numbers[0] != 42) fail("the kernel was not over");
  numbers[0] = 0;
}

static void setup_run(void) {
  setup();
  check_twice(run);
  check_twice(run_polled);
}

static void setup_many(void) {
  setup();
  check_twice(run_many);
  check_twice(run_many_polled);
}

static const struct operation OPERATIONS[] = {
    {"allocate", setup, allocate, NULL, 0, NULL},
    {"read", setup, read_one, NULL, 0, NULL},
    {"run", setup_run, run, NULL, 0, NULL},
    {"run_polled", setup_run, run_polled, NULL, 0, NULL},
    {"run_many", setup_many, run_many, NULL, 0, NULL},
    {"run_many_polled", setup_many, run_many_polled, NULL, 0, NULL},
};

int main(int argc, char **argv) {
  if (argc < 3) fail("the library or the device is missing");
  library = argv[1];
  place = atoi(argv[2]);
  return answer(OPERATIONS, sizeof OPERATIONS / sizeof *OPERATIONS);
}
