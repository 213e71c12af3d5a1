/*
 * An OpenCL layer that makes a device which aliases host memory look like one that does not.
 *
 * A layer is a library that the ICD loader puts between the program and the driver (OPENCL_LAYERS=/path/to/it.so): it
 * is given the table of functions below it and returns its own, which is what the program's calls then reach.
 *
 * A buffer made with CL_MEM_USE_HOST_PTR is here given to the driver over memory of the layer's own, the private copy.
 * Kernels, reads, writes and copies see only that; the program's bytes follow by the rule of the mode, SAMEPAGE_LAYER:
 *
 *   map      Bytes move by map (device to host) and unmap (host to device, if mapped for writing), for the mapped
 *            range. This is all that OpenCL promises.
 *   finish   As map; and once clFinish or clWaitForEvents has returned, what the device changed is brought to the host.
 *   enqueue  As finish; and each clEnqueueNDRangeKernel, when called, brings what the device has changed by then, and
 *            sends what the host has changed.
 *   kernel   As finish; and each kernel is wrapped, in its queue, in two commands that bring and send likewise: results
 *            appear without any further call. Only while the kernel runs are there two memories to be seen.
 *
 * "Changed" is judged byte by byte against a third memory, `agreed`: what both sides held when they last met. So
 * neither results nor host writes are lost, in whatever order; where both changed a byte, the device wins. These
 * movements leave mapped ranges alone, from the call of the map until the unmap has been executed, and buffers that the
 * program has released.
 *
 * Work in a queue is a native kernel (a C function that the device calls), so nothing here blocks a nonblocking call.
 * A map that invalidates (CL_MAP_WRITE_INVALIDATE_REGION) shows SPOILT bytes instead, in every mode, whoever has the
 * memory: so it does of SVM and of the driver's own buffers, which otherwise pass straight through. What the program
 * does not write is then lost with the unmap, as it is on a device that moves bytes.
 *
 * That needs a driver which has native kernels and really aliases: PoCL. (Without them, what would be queued is refused
 * with CL_INVALID_OPERATION.)
 * bytes.c keeps the buffers and moves the bytes; images.c has the calls that only images have; this file all others.
 */
#include "info.h"
#include "layer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const modes[] = {"map", "finish", "enqueue", "kernel"};
static enum { MAP, FINISH, ENQUEUE, KERNEL, MODES } mode;

cl_icd_dispatch driver;       /* the functions below this layer */
static cl_icd_dispatch layer; /* the same, with ours in place */

/* ---- The events of our own commands are kept until they end: PoCL 3.1 aborts when one fails that nobody holds ---- */

struct kept {
  struct kept *next;
  cl_event event;
};
static struct kept *kept_events;

static void keep(struct kept *k) {
  pthread_mutex_lock(&mutex);
  k->next = kept_events;
  kept_events = k;
  pthread_mutex_unlock(&mutex);
}

static void release_ended_events(void) {
  pthread_mutex_lock(&mutex);
  struct kept *k = kept_events;
  kept_events = NULL;
  pthread_mutex_unlock(&mutex);
  for (struct kept *next; k; k = next) {
    next = k->next;
    cl_int state = CL_COMPLETE;
    driver.clGetEventInfo(k->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    if (state > CL_COMPLETE) {
      keep(k);
    } else {
      driver.clReleaseEvent(k->event);
      free(k);
    }
  }
}

static void release_when_ended(cl_event event) {
  release_ended_events();
  struct kept *k = malloc(sizeof *k);
  if (!k) abort();
  k->event = event;
  keep(k);
}

/* ---- What is queued: native kernels and their arguments, which the driver copies. ---- */

static void CL_CALLBACK bring_mapping(void *task_pointer) {
  const struct mapping_task *task = task_pointer;
  pthread_mutex_lock(&mutex);
  struct buffer *root = find(task->root);
  const struct mapping *m = root ? find_mapping(root, task->id) : NULL;
  if (m && m->flags & CL_MAP_WRITE_INVALIDATE_REGION) spoil(root, m);
  else if (m) bring(root, m);
  pthread_mutex_unlock(&mutex);
}

static void CL_CALLBACK send_mapping(void *task_pointer) {
  const struct mapping_task *task = task_pointer;
  pthread_mutex_lock(&mutex);
  struct buffer *root = find(task->root);
  const struct mapping *m = root ? find_mapping(root, task->id) : NULL;
  if (m && m->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) send(root, m);
  if (m) remove_mapping(root, task->id);
  pthread_mutex_unlock(&mutex);
}

static void CL_CALLBACK settle_context(void *context_pointer) { settle(*(cl_context *)context_pointer, 1); }

/* rusticl 22.3 has no native kernels, and where others refuse them, a null pointer. */
static cl_int enqueue_native(cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *task, size_t task_size,
                             cl_uint waits, const cl_event *wait_list, cl_event *event) {
  cl_device_id device = NULL;
  cl_device_exec_capabilities can = 0;
  cl_int status = driver.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
  if (status != CL_SUCCESS) return status;
  driver.clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, NULL);
  if (!(can & CL_EXEC_NATIVE_KERNEL)) return CL_INVALID_OPERATION;
  return driver.clEnqueueNativeKernel(queue, function, task, task_size, 0, NULL, NULL, waits, wait_list, event);
}

static cl_context context_of(cl_command_queue queue) {
  cl_context context = NULL;
  driver.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  return context;
}

/* ---- Creation and end ---- */

/* The driver is done with a buffer: no command uses it now. */
static void CL_CALLBACK forget(cl_mem mem, void *buffer) {
  (void)mem;
  struct buffer *b = buffer;
  remove_buffer(b);
  free(b->private);
  free(b);
}

/* Takes b, for the driver's new object, into the list. If that fails, both end. */
cl_mem remember(struct buffer *b, cl_mem mem, cl_int *error) {
  b->mem = mem;
  b->references = 1;
  *error = driver.clSetMemObjectDestructorCallback(mem, forget, b);
  if (*error == CL_SUCCESS) {
    add_buffer(b);
    return mem;
  }
  driver.clReleaseMemObject(mem);
  free(b->private);
  free(b);
  return NULL;
}

/* A buffer with memory of its own that holds what the host's does; null where there is none. */
struct buffer *private_copy_of(cl_context context, void *host, size_t size) {
  size_t room = (size + PAGE - 1) / PAGE * PAGE;
  struct buffer *b = calloc(1, sizeof *b);
  unsigned char *memory = aligned_alloc(PAGE, 2 * room);
  if (!b || !memory) {
    free(memory);
    free(b);
    return NULL;
  }
  *b = (struct buffer){.root = b, .size = size, .context = context, .host = host, .private = memory,
                       .agreed = memory + room};
  memcpy(b->private, host, size);
  memcpy(b->agreed, b->private, size);
  return b;
}

static cl_mem create_in_driver(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t size,
                               void *host, cl_int *error) {
  return properties ? driver.clCreateBufferWithProperties(context, properties, flags, size, host, error)
                    : driver.clCreateBuffer(context, flags, size, host, error);
}

static cl_mem create_private(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t size,
                             void *host, cl_int *error) {
  /* As the program asked for it: the driver judges the arguments, and says if the pointer is one of its SVM's. */
  cl_mem asked = create_in_driver(context, properties, flags, size, host, error);
  if (!asked) return NULL;
  cl_bool uses_svm = CL_FALSE;
  driver.clGetMemObjectInfo(asked, CL_MEM_USES_SVM_POINTER, sizeof uses_svm, &uses_svm, NULL);
  driver.clReleaseMemObject(asked);

  *error = CL_OUT_OF_HOST_MEMORY;
  struct buffer *b = private_copy_of(context, host, size);
  if (!b) return NULL;
  b->uses_svm = uses_svm;
  cl_mem mem = create_in_driver(context, properties, flags, size, b->private, error);
  if (mem) return remember(b, mem, error);
  free(b->private);
  free(b);
  return NULL;
}

static cl_mem CL_API_CALL create_buffer_with_properties(cl_context context, const cl_mem_properties *properties,
                                                        cl_mem_flags flags, size_t size, void *host, cl_int *error) {
  cl_int status;
  cl_mem mem = (flags & CL_MEM_USE_HOST_PTR ? create_private : create_in_driver)(context, properties, flags, size, host,
                                                                                 &status);
  if (error) *error = status;
  return mem;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                                        cl_int *error) {
  return create_buffer_with_properties(context, NULL, flags, size, host, error);
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type,
                                            const void *info, cl_int *error) {
  cl_int status;
  cl_mem mem = driver.clCreateSubBuffer(parent, flags, type, info, &status);
  pthread_mutex_lock(&mutex);
  struct buffer *root = find(parent);
  pthread_mutex_unlock(&mutex);
  if (mem && root) {
    const cl_buffer_region *region = info;
    struct buffer *b = calloc(1, sizeof *b);
    if (b) {
      *b = (struct buffer){.root = root, .origin = region->origin, .size = region->size};
      mem = remember(b, mem, &status);
    } else {
      driver.clReleaseMemObject(mem);
      mem = NULL;
      status = CL_OUT_OF_HOST_MEMORY;
    }
  }
  if (error) *error = status;
  return mem;
}

static cl_int CL_API_CALL retain_mem_object(cl_mem mem) {
  pthread_mutex_lock(&mutex);
  struct buffer *b = find(mem);
  if (b) b->references++;
  pthread_mutex_unlock(&mutex);
  return driver.clRetainMemObject(mem);
}

static cl_int CL_API_CALL release_mem_object(cl_mem mem) {
  pthread_mutex_lock(&mutex);
  struct buffer *b = find(mem);
  if (b && --b->references == 0 && b->root != b) b->root->references--;
  pthread_mutex_unlock(&mutex);
  release_ended_events();
  return driver.clReleaseMemObject(mem);
}

/* The driver's answers hold, but for those about the pointer that it was not given. */
static cl_int CL_API_CALL get_mem_object_info(cl_mem mem, cl_mem_info name, size_t size, void *value,
                                              size_t *size_ret) {
  cl_int status = driver.clGetMemObjectInfo(mem, name, size, value, size_ret);
  if (status != CL_SUCCESS || !value) return status;
  pthread_mutex_lock(&mutex);
  const struct buffer *b = find(mem);
  if (b && name == CL_MEM_HOST_PTR) *(void **)value = b->root->host + b->origin;
  if (b && name == CL_MEM_USES_SVM_POINTER) *(cl_bool *)value = b->root->uses_svm;
  pthread_mutex_unlock(&mutex);
  return status;
}

/* ---- Map and unmap: the driver's own, of the private bytes, behind a native kernel that moves them ---- */

/* The driver's map, by `map`, behind a native kernel that brings or spoils the bytes. If it fails, the mapping ends. */
cl_int bring_and_map(cl_command_queue queue, struct mapping_task task, cl_uint waits, const cl_event *wait_list,
                     driver_map map, void *call) {
  cl_event brought = NULL;
  cl_int status = enqueue_native(queue, bring_mapping, &task, sizeof task, waits, wait_list, &brought);
  if (status == CL_SUCCESS) status = map(call, 1, &brought);
  if (brought) release_when_ended(brought);
  if (status == CL_SUCCESS) return status;
  pthread_mutex_lock(&mutex);
  struct buffer *root = find(task.root);
  if (root) remove_mapping(root, task.id);
  pthread_mutex_unlock(&mutex);
  return status;
}

struct range {
  unsigned char *begin;
  size_t size;
};

static void CL_CALLBACK spoil_range(void *range_pointer) {
  const struct range *range = range_pointer;
  memset(range->begin, SPOILT, range->size);
}

/* Spoils a range that the driver's own map, whose event is `mapped`, has shown; then that map counts as done. */
static cl_int spoil_behind(cl_command_queue queue, cl_bool blocking, struct range range, cl_event mapped,
                           cl_event *event) {
  cl_event spoilt = NULL;
  cl_int status = enqueue_native(queue, spoil_range, &range, sizeof range, 1, &mapped, &spoilt);
  release_when_ended(mapped);
  if (status == CL_SUCCESS && blocking) status = driver.clWaitForEvents(1, &spoilt);
  if (status == CL_SUCCESS && event)
    *event = spoilt;
  else if (spoilt)
    release_when_ended(spoilt);
  return status;
}

/* A map of memory that the layer leaves to the driver. */
static void *map_in_driver(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t offset,
                           size_t size, cl_uint waits, const cl_event *wait_list, cl_event *event, cl_int *error) {
  if (!(flags & CL_MAP_WRITE_INVALIDATE_REGION))
    return driver.clEnqueueMapBuffer(queue, mem, blocking, flags, offset, size, waits, wait_list, event, error);
  cl_event mapped;
  cl_int status;
  void *pointer = driver.clEnqueueMapBuffer(queue, mem, CL_FALSE, flags, offset, size, waits, wait_list, &mapped, &status);
  if (status == CL_SUCCESS) status = spoil_behind(queue, blocking, (struct range){pointer, size}, mapped, event);
  if (error) *error = status;
  return status == CL_SUCCESS ? pointer : NULL;
}

static cl_int CL_API_CALL enqueue_svm_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *pointer,
                                          size_t size, cl_uint waits, const cl_event *wait_list, cl_event *event) {
  if (!(flags & CL_MAP_WRITE_INVALIDATE_REGION))
    return driver.clEnqueueSVMMap(queue, blocking, flags, pointer, size, waits, wait_list, event);
  cl_event mapped;
  cl_int status = driver.clEnqueueSVMMap(queue, CL_FALSE, flags, pointer, size, waits, wait_list, &mapped);
  return status == CL_SUCCESS ? spoil_behind(queue, blocking, (struct range){pointer, size}, mapped, event) : status;
}

struct buffer_map {
  cl_command_queue queue;
  cl_mem mem;
  cl_bool blocking;
  cl_map_flags flags;
  size_t offset, size;
  cl_event *event;
};

static cl_int map_buffer(void *call, cl_uint waits, const cl_event *wait_list) {
  const struct buffer_map *c = call;
  cl_int status;
  driver.clEnqueueMapBuffer(c->queue, c->mem, c->blocking, c->flags, c->offset, c->size, waits, wait_list, c->event,
                            &status);
  return status;
}

static void *CL_API_CALL enqueue_map_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags,
                                            size_t offset, size_t size, cl_uint waits, const cl_event *wait_list,
                                            cl_event *event, cl_int *error) {
  pthread_mutex_lock(&mutex);
  struct buffer *b = find(mem);
  struct box box = {.row = size, .rows = 1, .slices = 1};
  struct mapping *m = b ? add_mapping(b, offset, box, flags) : NULL;
  if (!m) {
    pthread_mutex_unlock(&mutex);
    return map_in_driver(queue, mem, blocking, flags, offset, size, waits, wait_list, event, error);
  }
  struct mapping_task task = {b->root->mem, m->id};
  unsigned char *pointer = b->root->host + m->from;
  pthread_mutex_unlock(&mutex);

  struct buffer_map call = {queue, mem, blocking, flags, offset, size, event};
  cl_int status = bring_and_map(queue, task, waits, wait_list, map_buffer, &call);
  if (error) *error = status;
  return status == CL_SUCCESS ? pointer : NULL;
}

static cl_int CL_API_CALL enqueue_unmap_mem_object(cl_command_queue queue, cl_mem mem, void *pointer, cl_uint waits,
                                                   const cl_event *wait_list, cl_event *event) {
  pthread_mutex_lock(&mutex);
  struct buffer *b = find(mem);
  struct mapping *m = b ? find_mapped(b, pointer) : NULL;
  if (!m) {
    pthread_mutex_unlock(&mutex);
    return driver.clEnqueueUnmapMemObject(queue, mem, pointer, waits, wait_list, event);
  }
  m->unmapping = 1;
  struct mapping_task task = {b->root->mem, m->id};
  pointer = b->root->private + m->from;
  pthread_mutex_unlock(&mutex);

  cl_event sent;
  cl_int status = enqueue_native(queue, send_mapping, &task, sizeof task, waits, wait_list, &sent);
  if (status != CL_SUCCESS) {
    pthread_mutex_lock(&mutex);
    m->unmapping = 0;
    pthread_mutex_unlock(&mutex);
    return status;
  }
  status = driver.clEnqueueUnmapMemObject(queue, mem, pointer, 1, &sent, event);
  release_when_ended(sent);
  return status;
}

/* ---- What the stronger modes add ---- */

static cl_int CL_API_CALL finish(cl_command_queue queue) {
  cl_int status = driver.clFinish(queue);
  if (status == CL_SUCCESS) settle(context_of(queue), 0);
  return status;
}

static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *events) {
  cl_int status = driver.clWaitForEvents(count, events);
  cl_context context;
  if (status == CL_SUCCESS &&
      driver.clGetEventInfo(events[0], CL_EVENT_CONTEXT, sizeof context, &context, NULL) == CL_SUCCESS)
    settle(context, 0);
  return status;
}

static cl_int CL_API_CALL settle_and_enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                                    const size_t *offset, const size_t *global, const size_t *local,
                                                    cl_uint waits, const cl_event *wait_list, cl_event *event) {
  settle(context_of(queue), 1);
  return driver.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits, wait_list, event);
}

static cl_int CL_API_CALL enqueue_wrapped_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                                 const size_t *offset, const size_t *global, const size_t *local,
                                                 cl_uint waits, const cl_event *wait_list, cl_event *event) {
  cl_context context = context_of(queue);
  cl_event before, done, after;
  cl_int status = enqueue_native(queue, settle_context, &context, sizeof context, waits, wait_list, &before);
  if (status != CL_SUCCESS) return status;
  status = driver.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, 1, &before, &done);
  release_when_ended(before);
  if (status != CL_SUCCESS) return status;
  status = enqueue_native(queue, settle_context, &context, sizeof context, 1, &done, &after);
  if (status == CL_SUCCESS) release_when_ended(after);
  if (event && status == CL_SUCCESS)
    *event = done;
  else
    release_when_ended(done);
  return status;
}

/* ---- The layer's two entry points ---- */

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *size_ret) {
  return layer_info("samepage private copy", name, size, value, size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *entries_ret,
                                            const cl_icd_dispatch **layer_ret) {
  const char *word = getenv("SAMEPAGE_LAYER");
  for (mode = MAP; mode < MODES && !(word && !strcmp(word, modes[mode])); mode++) {}
  if (mode == MODES || entries < sizeof driver / sizeof(void *)) {
    fprintf(stderr, "private_copy: %s\n", mode == MODES ? "SAMEPAGE_LAYER must be map, finish, enqueue or kernel"
                                                        : "the ICD loader's table is too short");
    return CL_INVALID_VALUE;
  }
  driver = layer = *target;
  layer.clCreateBuffer = create_buffer;
  layer.clCreateBufferWithProperties = create_buffer_with_properties;
  layer.clCreateSubBuffer = create_sub_buffer;
  layer.clRetainMemObject = retain_mem_object;
  layer.clReleaseMemObject = release_mem_object;
  layer.clGetMemObjectInfo = get_mem_object_info;
  layer.clCreateImage = create_image;
  layer.clEnqueueMapBuffer = enqueue_map_buffer;
  layer.clEnqueueMapImage = enqueue_map_image;
  layer.clEnqueueSVMMap = enqueue_svm_map;
  layer.clEnqueueUnmapMemObject = enqueue_unmap_mem_object;
  if (mode >= FINISH) layer.clFinish = finish;
  if (mode >= FINISH) layer.clWaitForEvents = wait_for_events;
  if (mode == ENQUEUE) layer.clEnqueueNDRangeKernel = settle_and_enqueue_kernel;
  if (mode == KERNEL) layer.clEnqueueNDRangeKernel = enqueue_wrapped_kernel;
  *layer_ret = &layer;
  *entries_ret = sizeof layer / sizeof(void *);
  return CL_SUCCESS;
}
