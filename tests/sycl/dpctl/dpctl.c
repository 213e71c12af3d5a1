/*
 * A DPCTL for the tests, which the loader takes for the real one: what samepage calls of it, over the C library's memory. Its queues
 * are threads, in order; its kernels are the functions of KERNELS, which a "program" names. It finds what is released twice,
 * or used afterwards, and ends the process then.
 *
 * The variable SAMEPAGE_SYCL says how it behaves, word by word, and may change at any time:
 *   busy        commands wait until this word is gone
 *   late        a command begins some milliseconds later
 *   work-fails  a command does nothing and fails
 *   no-device   no device is there
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <dpctl_sycl_interface.h>

#define NEW(type, ...) (type *)made(sizeof(type), &(type) { __VA_ARGS__ })
enum tag { DEVICE = 0x5c1001, PLATFORM, VECTOR, CONTEXT, QUEUE, EVENT, BUNDLE, KERNEL };
struct object { enum tag tag; };
struct device { enum tag tag; bool has_usm; };
struct context { enum tag tag; long id; bool has_usm; };
struct event { enum tag tag; struct state *state; };
struct bundle { enum tag tag; char *source; };
struct state { int owners; DPCTLSyclEventStatusType status; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_long alive, contexts;

/* How many objects and allocations there are: a test compares. */
long samepage_alive(void) { return alive; }

static void *made(size_t size, const void *from) {
  alive++;
  return memcpy(malloc(size), from, size);
}

static void *live(const void *object, enum tag tag) {
  if (object != NULL && ((struct object *)object)->tag == tag) return (void *)object;
  fprintf(stderr, "dpctl.c: %p is not a live object of kind %x\n", object, tag);
  abort();
}

static void gone(const void *object, enum tag tag) {
  struct object *dead = live(object, tag);
  dead->tag = 0;
  alive--;
  free(dead);
}

static bool behaves(const char *word) {
  const char *words = getenv("SAMEPAGE_SYCL");
  return words != NULL && strstr(words, word) != NULL;
}

/* Devices: one with all kinds of memory, and one with none, for which SYCL ends the process. */
struct vector { enum tag tag; size_t count; };

DPCTLDeviceVectorRef DPCTLDeviceMgr_GetDevices(int which) {
  (void)which;
  return (DPCTLDeviceVectorRef)NEW(struct vector, VECTOR, behaves("no-device") ? 0 : 2);
}
size_t DPCTLDeviceVector_Size(DPCTLDeviceVectorRef v) { return ((struct vector *)live(v, VECTOR))->count; }
DPCTLSyclDeviceRef DPCTLDeviceVector_GetAt(DPCTLDeviceVectorRef v, size_t i) {
  live(v, VECTOR);
  return (DPCTLSyclDeviceRef)NEW(struct device, DEVICE, i == 0);
}
void DPCTLDeviceVector_Delete(DPCTLDeviceVectorRef v) { gone(v, VECTOR); }
void DPCTLDevice_Delete(DPCTLSyclDeviceRef d) { gone(d, DEVICE); }
static bool has_usm(const void *d) { return ((struct device *)live(d, DEVICE))->has_usm; }
static const char *text(const char *of) { alive++; return strdup(of); }
void DPCTLCString_Delete(const char *str) { if (str != NULL) { alive--; free((char *)str); } }
const char *DPCTLService_GetDPCPPVersion(void) { return text("samepage's"); }
const char *DPCTLDevice_GetName(const DPCTLSyclDeviceRef d) { return text(has_usm(d) ? "stand-in" : "bare stand-in"); }
const char *DPCTLDevice_GetVendor(const DPCTLSyclDeviceRef d) { live(d, DEVICE); return text("samepage"); }
const char *DPCTLDevice_GetDriverVersion(const DPCTLSyclDeviceRef d) { live(d, DEVICE); return text("1"); }
DPCTLSyclBackendType DPCTLDevice_GetBackend(const DPCTLSyclDeviceRef d) { live(d, DEVICE); return DPCTL_OPENCL; }
DPCTLSyclDeviceType DPCTLDevice_GetDeviceType(const DPCTLSyclDeviceRef d) { live(d, DEVICE); return DPCTL_CPU; }
bool DPCTLDevice_AreEq(const DPCTLSyclDeviceRef a, const DPCTLSyclDeviceRef b) { return has_usm(a) == has_usm(b); }
uint64_t DPCTLDevice_GetGlobalMemSize(const DPCTLSyclDeviceRef d) { live(d, DEVICE); return 1ull << 34; }
uint64_t DPCTLDevice_GetLocalMemSize(const DPCTLSyclDeviceRef d) { live(d, DEVICE); return 1 << 16; }
uint64_t DPCTLDevice_GetMaxMemAllocSize(const DPCTLSyclDeviceRef d) { live(d, DEVICE); return 1ull << 32; }
size_t DPCTLDevice_GetMaxWorkGroupSize(const DPCTLSyclDeviceRef d) { live(d, DEVICE); return 256; }
size_t *DPCTLDevice_GetMaxWorkItemSizes3d(const DPCTLSyclDeviceRef d) {
  live(d, DEVICE);
  alive++;
  return memcpy(malloc(3 * sizeof(size_t)), (size_t[]) { 256, 256, 64 }, 3 * sizeof(size_t));
}
void DPCTLSize_t_Array_Delete(size_t *sizes) { alive--; free(sizes); }
bool DPCTLDevice_HasAspect(const DPCTLSyclDeviceRef d, DPCTLSyclAspectType aspect) {
  return has_usm(d) && aspect >= usm_device_allocations && aspect <= usm_system_allocations;
}
DPCTLSyclPlatformRef DPCTLDevice_GetPlatform(const DPCTLSyclDeviceRef d) {
  live(d, DEVICE);
  return (DPCTLSyclPlatformRef)NEW(struct object, PLATFORM);
}
const char *DPCTLPlatform_GetName(const DPCTLSyclPlatformRef p) { live(p, PLATFORM); return text("samepage's tests"); }
const char *DPCTLPlatform_GetVersion(const DPCTLSyclPlatformRef p) { live(p, PLATFORM); return text("1"); }
/* samepage asks for the devices alone; a test compares them with the list by platforms. */
DPCTLPlatformVectorRef DPCTLPlatform_GetPlatforms(void) { return (DPCTLPlatformVectorRef)NEW(struct vector, VECTOR, 1); }
size_t DPCTLPlatformVector_Size(DPCTLPlatformVectorRef v) { return ((struct vector *)live(v, VECTOR))->count; }
DPCTLSyclPlatformRef DPCTLPlatformVector_GetAt(DPCTLPlatformVectorRef v, size_t i) {
  (void)i;
  live(v, VECTOR);
  return (DPCTLSyclPlatformRef)NEW(struct object, PLATFORM);
}
DPCTLDeviceVectorRef DPCTLPlatform_GetDevices(const DPCTLSyclPlatformRef p, DPCTLSyclDeviceType type) {
  live(p, PLATFORM);
  return DPCTLDeviceMgr_GetDevices(type);
}
void DPCTLPlatform_Delete(DPCTLSyclPlatformRef p) { gone(p, PLATFORM); }

DPCTLSyclContextRef DPCTLContext_Create(const DPCTLSyclDeviceRef d, error_handler_callback *handler, int properties) {
  (void)handler, (void)properties;
  return (DPCTLSyclContextRef)NEW(struct context, CONTEXT, ++contexts, has_usm(d));
}
DPCTLDeviceVectorRef DPCTLContext_GetDevices(const DPCTLSyclContextRef c) {
  live(c, CONTEXT);
  return (DPCTLDeviceVectorRef)NEW(struct vector, VECTOR, 1);
}
/* What libsycl and C++'s library have: sycl_native.h says what each is. It takes no reference to the context of OpenCL's. */
#define CPP(name, symbol, ...) name(__VA_ARGS__) __asm__(symbol)
void *CPP(new_memory, "_Znwm", size_t size);
void *new_memory(size_t size) {
  alive++;
  return malloc(size > sizeof(struct context) ? size : sizeof(struct context));
}
void CPP(delete_memory, "_ZdlPv", void *memory);
void delete_memory(void *memory) {
  alive--;
  free(memory);
}
void CPP(make_context, "_ZN4sycl3_V16detail12make_contextEmRKSt8functionIFvNS0_14exception_listEEENS0_7backendEbRKSt6vectorINS0_6deviceESaISA_EE", void *place, uint64_t native, const void *handler, int backend, bool keep, const void *devices);
void make_context(void *place, uint64_t native, const void *handler, int backend, bool keep, const void *devices) {
  (void)handler, (void)devices;
  if (native == 0 || backend != 1 || !keep) abort();
  *(struct context *)place = (struct context) { CONTEXT, ++contexts, true };
}
void DPCTLContext_Delete(DPCTLSyclContextRef c) { gone(c, CONTEXT); }

/* Memory. */
struct block { struct block *next; char *at; size_t size; DPCTLSyclUSMType kind; long context; };
static struct block *blocks;

/* Queues: each is a thread. */
struct job {
  struct job *next;
  struct state *state, *after;
  void (*run)(struct job *);
  char *to;
  const char *from;
  size_t length, items;
  char pattern[16];
  void *args[8];
  uint64_t values[8];
};
struct queue { enum tag tag; struct context context; pthread_t thread; struct job *first, **end; bool ending; };

static struct state *kept(struct state *state) { state->owners++; return state; }
static void dropped(struct state *state) { if (--state->owners == 0) free(state); }

static void *work(void *of) {
  struct queue *queue = of;
  pthread_mutex_lock(&lock);
  while (!queue->ending || queue->first != NULL) {
    struct job *job = queue->first;
    if (job == NULL || (job->after != NULL && job->after->status < DPCTL_COMPLETE && job->after->status != DPCTL_UNKNOWN_STATUS)) {
      pthread_cond_wait(&changed, &lock);
      continue;
    }
    pthread_mutex_unlock(&lock);
    if (behaves("late")) usleep(5000);
    while (behaves("busy")) usleep(1000);
    bool fails = behaves("work-fails");
    if (!fails && job->run != NULL) job->run(job);
    pthread_mutex_lock(&lock);
    job->state->status = fails ? DPCTL_UNKNOWN_STATUS : DPCTL_COMPLETE;
    if ((queue->first = job->next) == NULL) queue->end = &queue->first;
    dropped(job->state);
    if (job->after != NULL) dropped(job->after);
    free(job);
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

DPCTLSyclQueueRef DPCTLQueue_Create(const DPCTLSyclContextRef c, const DPCTLSyclDeviceRef d, error_handler_callback *handler, int properties) {
  (void)handler;
  live(d, DEVICE);
  if (properties != DPCTL_IN_ORDER) return NULL;
  struct queue *queue = NEW(struct queue, QUEUE, *(struct context *)live(c, CONTEXT));
  queue->end = &queue->first;
  pthread_create(&queue->thread, NULL, work, queue);
  return (DPCTLSyclQueueRef)queue;
}
void DPCTLQueue_Delete(DPCTLSyclQueueRef q) {
  struct queue *queue = live(q, QUEUE);
  pthread_mutex_lock(&lock);
  queue->ending = true;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  pthread_join(queue->thread, NULL);
  gone(queue, QUEUE);
}

static DPCTLSyclEventRef submit(const void *q, struct job like) {
  struct queue *queue = live(q, QUEUE);
  struct job *job = memcpy(malloc(sizeof like), &like, sizeof like);
  for (int i = 0; i < 8; i++) if (job->args[i] == NULL) job->args[i] = &job->values[i];
  pthread_mutex_lock(&lock);
  job->state = memcpy(malloc(sizeof(struct state)), &(struct state) { 2, DPCTL_SUBMITTED }, sizeof(struct state));
  struct event *event = NEW(struct event, EVENT, job->state);
  *queue->end = job;
  queue->end = &job->next;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return (DPCTLSyclEventRef)event;
}

static struct state *state_of(const void *e) { return ((struct event *)live(e, EVENT))->state; }

DPCTLSyclEventStatusType DPCTLEvent_GetCommandExecutionStatus(DPCTLSyclEventRef e) {
  pthread_mutex_lock(&lock);
  DPCTLSyclEventStatusType status = state_of(e)->status;
  pthread_mutex_unlock(&lock);
  return status;
}
void DPCTLEvent_WaitAndThrow(DPCTLSyclEventRef e) {
  pthread_mutex_lock(&lock);
  while (state_of(e)->status == DPCTL_SUBMITTED) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}
DPCTLSyclEventRef DPCTLEvent_Copy(const DPCTLSyclEventRef e) {
  pthread_mutex_lock(&lock);
  struct event *event = NEW(struct event, EVENT, kept(state_of(e)));
  pthread_mutex_unlock(&lock);
  return (DPCTLSyclEventRef)event;
}
void DPCTLEvent_Delete(DPCTLSyclEventRef e) {
  pthread_mutex_lock(&lock);
  dropped(state_of(e));
  gone(e, EVENT);
  pthread_mutex_unlock(&lock);
}

static DPCTLSyclUSMRef allocated(size_t align, size_t size, const void *q, DPCTLSyclUSMType kind) {
  struct queue *queue = live(q, QUEUE);
  if (!queue->context.has_usm) abort(); /* as SYCL does */
  if (size == 0 || size > 1ull << 32) return NULL;
  struct block block = { blocks, NULL, size, kind, queue->context.id };
  if (posix_memalign((void **)&block.at, align < 64 ? 64 : align, size) != 0) return NULL;
  memset(block.at, 0xa5, size);
  pthread_mutex_lock(&lock);
  block.next = blocks;
  blocks = made(sizeof block, &block);
  pthread_mutex_unlock(&lock);
  return (DPCTLSyclUSMRef)block.at;
}
DPCTLSyclUSMRef DPCTLaligned_alloc_host(size_t align, size_t size, const DPCTLSyclQueueRef q) { return allocated(align, size, q, DPCTL_USM_HOST); }
DPCTLSyclUSMRef DPCTLaligned_alloc_device(size_t align, size_t size, const DPCTLSyclQueueRef q) { return allocated(align, size, q, DPCTL_USM_DEVICE); }
DPCTLSyclUSMRef DPCTLaligned_alloc_shared(size_t align, size_t size, const DPCTLSyclQueueRef q) { return allocated(align, size, q, DPCTL_USM_SHARED); }

void DPCTLfree_with_context(DPCTLSyclUSMRef at, const DPCTLSyclContextRef c) {
  long id = ((struct context *)live(c, CONTEXT))->id;
  pthread_mutex_lock(&lock);
  struct block **place = &blocks;
  while (*place != NULL && (*place)->at != (char *)at) place = &(*place)->next;
  struct block *block = *place;
  if (block == NULL || block->context != id) abort();
  *place = block->next;
  pthread_mutex_unlock(&lock);
  alive--;
  free(block->at);
  free(block);
}
static struct block *block_at(const void *at, const void *c) {
  struct context *context = live(c, CONTEXT);
  if (!context->has_usm) abort(); /* as SYCL does */
  pthread_mutex_lock(&lock);
  struct block *block = blocks;
  while (block != NULL && !(block->context == context->id && block->at <= (char *)at && (char *)at < block->at + block->size)) block = block->next;
  pthread_mutex_unlock(&lock);
  return block;
}
DPCTLSyclUSMType DPCTLUSM_GetPointerType(const DPCTLSyclUSMRef at, const DPCTLSyclContextRef c) {
  struct block *block = block_at(at, c);
  return block == NULL ? DPCTL_USM_UNKNOWN : block->kind;
}
DPCTLSyclDeviceRef DPCTLUSM_GetPointerDevice(const DPCTLSyclUSMRef at, const DPCTLSyclContextRef c) {
  return block_at(at, c) == NULL ? NULL : (DPCTLSyclDeviceRef)NEW(struct device, DEVICE, true);
}

static void copy(struct job *job) { memmove(job->to, job->from, job->length); }
static void fill(struct job *job) {
  for (size_t i = 0; i < job->items; i++) memcpy(job->to + i * job->length, job->pattern, job->length);
}
DPCTLSyclEventRef DPCTLQueue_Memcpy(const DPCTLSyclQueueRef q, void *to, const void *from, size_t length) {
  return submit(q, (struct job) { .run = copy, .to = to, .from = from, .length = length });
}
#define FILL(bits, type, from) \
  DPCTLSyclEventRef DPCTLQueue_Fill##bits(const DPCTLSyclQueueRef q, void *to, type value, size_t count) { \
    struct job job = { .run = fill, .to = to, .length = bits / 8, .items = count }; \
    memcpy(job.pattern, from, bits / 8); \
    return submit(q, job); \
  }
FILL(8, uint8_t, &value)
FILL(16, uint16_t, &value)
FILL(32, uint32_t, &value)
FILL(64, uint64_t, &value)
FILL(128, uint64_t *, value)
DPCTLSyclEventRef DPCTLQueue_SubmitBarrier(const DPCTLSyclQueueRef q) { return submit(q, (struct job) { 0 }); }
DPCTLSyclEventRef DPCTLQueue_SubmitBarrierForEvents(const DPCTLSyclQueueRef q, const DPCTLSyclEventRef *events, size_t count) {
  if (count != 1) return NULL;
  pthread_mutex_lock(&lock);
  struct state *after = kept(state_of(events[0]));
  pthread_mutex_unlock(&lock);
  return submit(q, (struct job) { .after = after });
}

/* Kernels. */
static void twice(struct job *job) { for (size_t i = 0; i < job->items; i++) ((float *)job->args[0])[i] *= 2; }
static void scale(struct job *job) {
  for (size_t i = 0; i < job->items; i++) ((float *)job->args[0])[i] *= *(float *)job->args[1];
}
static void bytes(struct job *job) { memcpy((char *)job->args[0] + *(uint64_t *)job->args[1], (char *)job->args[2] + *(uint64_t *)job->args[3], job->items); }
static const struct named { const char *name; size_t count; void (*run)(struct job *); } KERNELS[] = {
  { "twice", 1, twice }, { "scale", 2, scale }, { "copy", 4, bytes },
};
struct kernel { enum tag tag; const struct named *is; };

DPCTLSyclKernelBundleRef DPCTLKernelBundle_CreateFromOCLSource(const DPCTLSyclContextRef c, const DPCTLSyclDeviceRef d, const char *source, const char *options) {
  (void)options;
  live(c, CONTEXT), live(d, DEVICE);
  return strchr(source, '}') == NULL ? NULL : (DPCTLSyclKernelBundleRef)NEW(struct bundle, BUNDLE, strdup(source));
}
DPCTLSyclKernelBundleRef DPCTLKernelBundle_CreateFromSpirv(const DPCTLSyclContextRef c, const DPCTLSyclDeviceRef d, const void *il, size_t length, const char *options) {
  (void)options, (void)il;
  live(c, CONTEXT), live(d, DEVICE);
  return length < 24 ? NULL : (DPCTLSyclKernelBundleRef)NEW(struct bundle, BUNDLE, strdup("twice(scale(copy(}"));
}
void DPCTLKernelBundle_Delete(DPCTLSyclKernelBundleRef b) { free(((struct bundle *)live(b, BUNDLE))->source); gone(b, BUNDLE); }
static const struct named *named(const void *b, const char *name) {
  struct bundle *bundle = live(b, BUNDLE);
  char call[64];
  snprintf(call, sizeof call, "%s(", name);
  for (size_t i = 0; i < sizeof KERNELS / sizeof *KERNELS; i++)
    if (strcmp(KERNELS[i].name, name) == 0 && strstr(bundle->source, call) != NULL) return &KERNELS[i];
  return NULL;
}
bool DPCTLKernelBundle_HasKernel(DPCTLSyclKernelBundleRef b, const char *name) { return named(b, name) != NULL; }
DPCTLSyclKernelRef DPCTLKernelBundle_GetKernel(DPCTLSyclKernelBundleRef b, const char *name) {
  const struct named *is = named(b, name);
  return is == NULL ? NULL : (DPCTLSyclKernelRef)NEW(struct kernel, KERNEL, is);
}
size_t DPCTLKernel_GetNumArgs(const DPCTLSyclKernelRef k) { return ((struct kernel *)live(k, KERNEL))->is->count; }
size_t DPCTLKernel_GetWorkGroupSize(const DPCTLSyclKernelRef k) { live(k, KERNEL); return 256; }
void DPCTLKernel_Delete(DPCTLSyclKernelRef k) { gone(k, KERNEL); }

static const size_t SIZES[] = {
  [DPCTL_INT8_T] = 1, [DPCTL_UINT8_T] = 1, [DPCTL_INT16_T] = 2, [DPCTL_UINT16_T] = 2, [DPCTL_INT32_T] = 4,
  [DPCTL_UINT32_T] = 4, [DPCTL_INT64_T] = 8, [DPCTL_UINT64_T] = 8, [DPCTL_FLOAT32_T] = 4, [DPCTL_FLOAT64_T] = 8,
};
DPCTLSyclEventRef DPCTLQueue_SubmitRange(const DPCTLSyclKernelRef k, const DPCTLSyclQueueRef q, void **args, const DPCTLKernelArgType *types, size_t count, const size_t range[3], size_t dimensions, const DPCTLSyclEventRef *events, size_t waits) {
  const struct named *is = ((struct kernel *)live(k, KERNEL))->is;
  if (count != is->count || waits != 0 || events != NULL) return NULL;
  struct job job = { .run = is->run, .items = 1 };
  for (size_t i = 0; i < dimensions; i++) job.items *= range[i];
  for (size_t i = 0; i < count; i++) {
    if (types[i] == DPCTL_VOID_PTR) job.args[i] = args[i];
    else if (types[i] < DPCTL_VOID_PTR) memcpy(&job.values[i], args[i], SIZES[types[i]]);
    else return NULL;
  }
  return submit(q, job);
}
DPCTLSyclEventRef DPCTLQueue_SubmitNDRange(const DPCTLSyclKernelRef k, const DPCTLSyclQueueRef q, void **args, const DPCTLKernelArgType *types, size_t count, const size_t range[3], const size_t group[3], size_t dimensions, const DPCTLSyclEventRef *events, size_t waits) {
  for (size_t i = 0; i < dimensions; i++) if (group[i] == 0 || range[i] % group[i] != 0) return NULL;
  return DPCTLQueue_SubmitRange(k, q, args, types, count, range, dimensions, events, waits);
}
