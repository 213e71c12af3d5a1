// The Level Zero driver of the tests: real memory, memfds as dma-bufs (udmabufs where the kernel has them), kernels that are
// C functions, and one thread for all devices, which runs what it may in an order that no program should rely on: the newest
// command whose events are there goes first. SAMEPAGE_ZE says how it behaves: "lost", "slow", "full".
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#define EXPORT __attribute__((visibility("default")))
#define ALIGNED(size) (((size) + 4095) & ~(size_t)4095)

struct _ze_driver_handle_t { void *loader; } the_driver;
struct _ze_device_handle_t { void *loader; int index; } devices[2] = {{0, 0}, {0, 1}};
struct _ze_context_handle_t { void *loader; };
struct _ze_event_pool_handle_t { void *loader; uint32_t count, alive; };
struct _ze_event_handle_t { void *loader; ze_event_pool_handle_t pool; int is_set, commands; };
struct _ze_module_handle_t { void *loader; uint32_t *words; size_t count; };
struct _ze_module_build_log_handle_t { void *loader; char text[64]; };

struct memory {
  struct memory *next;
  ze_context_handle_t context;
  ze_device_handle_t device;
  ze_memory_type_t type;
  char *base;
  size_t size;
  int fd;
};

typedef void (*function)(char *const *arguments, uint32_t items);
struct kernel {
  const char *name;
  function run;
  int count;
  size_t sizes[4];
};

struct _ze_kernel_handle_t {
  void *loader;
  const struct kernel *kernel;
  char arguments[4][8];
  uint32_t group[3];
};

struct command {
  struct command *next;
  struct _ze_command_list_handle_t *list;
  ze_event_handle_t signal, *waits;
  uint32_t wait_count, items;
  function run;
  char *arguments[4];
  char values[4][8];
};

struct _ze_command_list_handle_t { void *loader; int commands; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct memory *memories;
static struct command *newest;
static atomic_int alive, misused, pending;

// What is alive, and what was used in a way that no driver allows: the tests ask.
EXPORT int samepage_ze_alive(void) { return alive; }
EXPORT int samepage_ze_misused(void) { return misused; }

static int behaves(const char *word) {
  const char *words = getenv("SAMEPAGE_ZE");
  return words != NULL && strstr(words, word) != NULL;
}

// A lost device has nothing in flight: what used it may end.
static void settle(void) {
  while (behaves("lost") && pending > 0) usleep(100);
}

static void *new_object(size_t size) {
  alive++;
  return calloc(1, size);
}

static void destroy(void *object) {
  alive--;
  free(object);
}

// The thread

static int is_ready(const struct command *command) {
  for (uint32_t i = 0; i < command->wait_count; i++) {
    if (!command->waits[i]->is_set) return 0;
  }
  return 1;
}

static void *work(void *unused) {
  pthread_mutex_lock(&lock);
  for (;;) {
    struct command **at = &newest;
    while (*at != NULL && !is_ready(*at)) at = &(*at)->next;
    struct command *command = *at;
    if (command == NULL) {
      pthread_cond_wait(&changed, &lock);
      continue;
    }
    *at = command->next;
    pthread_mutex_unlock(&lock);
    if (behaves("slow")) usleep(20000);
    if (command->run != NULL) command->run(command->arguments, command->items);
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < command->wait_count; i++) command->waits[i]->commands--;
    if (command->signal != NULL) {
      command->signal->is_set = 1;
      command->signal->commands--;
    }
    command->list->commands--;
    pending--;
    free(command->waits);
    free(command);
    pthread_cond_broadcast(&changed);
  }
  return unused;
}

static void start(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pthread_detach(thread);
}

static ze_result_t append(struct command *command, ze_command_list_handle_t list, ze_event_handle_t signal,
                          uint32_t wait_count, const ze_event_handle_t *waits) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
  pthread_mutex_lock(&lock);
  command->list = list;
  command->signal = signal;
  command->wait_count = wait_count;
  command->waits = malloc((wait_count + 1) * sizeof *waits);
  for (uint32_t i = 0; i < wait_count; i++) {
    command->waits[i] = waits[i];
    waits[i]->commands++;
  }
  if (signal != NULL) {
    if (signal->is_set) misused++;
    signal->commands++;
  }
  list->commands++;
  pending++;
  command->next = newest;
  newest = command;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return ZE_RESULT_SUCCESS;
}

// Drivers and devices

static ze_result_t init(ze_init_flags_t flags) { return flags > 3 ? ZE_RESULT_ERROR_INVALID_ENUMERATION : 0; }

static ze_result_t driver_get(uint32_t *count, ze_driver_handle_t *drivers) {
  if (*count > 0 && drivers != NULL) drivers[0] = &the_driver;
  *count = 1;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t get_extensions(ze_driver_handle_t driver, uint32_t *count, ze_driver_extension_properties_t *list) {
  if (driver == NULL) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (*count > 0 && list != NULL) {
    strcpy(list[0].name, ZE_PCI_PROPERTIES_EXT_NAME);
    list[0].version = ZE_PCI_PROPERTIES_EXT_VERSION_1_0;
  }
  *count = 1;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get(ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *list) {
  if (driver == NULL) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  for (uint32_t i = 0; i < 2 && i < *count && list != NULL; i++) list[i] = &devices[i];
  *count = 2;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t get_properties(ze_device_handle_t device, ze_device_properties_t *facts) {
  facts->type = ZE_DEVICE_TYPE_GPU;
  facts->vendorId = 0x8086;
  facts->maxMemAllocSize = 1 << 30;
  memcpy(facts->uuid.id, "samepage device", 16);
  facts->uuid.id[15] = (uint8_t)('0' + device->index);
  strcpy(facts->name, device->index == 0 ? "samepage's test device" : "samepage's second test device");
  return ZE_RESULT_SUCCESS;
}

static ze_result_t get_compute(ze_device_handle_t device, ze_device_compute_properties_t *facts) {
  (void)device;
  facts->maxTotalGroupSize = 256;
  facts->maxGroupSizeX = facts->maxGroupSizeY = 256;
  facts->maxGroupSizeZ = 64;
  facts->maxGroupCountX = facts->maxGroupCountY = facts->maxGroupCountZ = 65535;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t get_access(ze_device_handle_t device, ze_device_memory_access_properties_t *facts) {
  facts->hostAllocCapabilities = facts->deviceAllocCapabilities = ZE_MEMORY_ACCESS_CAP_FLAG_RW;
  if (device->index == 0) facts->sharedSingleDeviceAllocCapabilities = ZE_MEMORY_ACCESS_CAP_FLAG_RW;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t get_external(ze_device_handle_t device, ze_device_external_memory_properties_t *facts) {
  (void)device;
  facts->memoryAllocationImportTypes = facts->memoryAllocationExportTypes = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t get_pci(ze_device_handle_t device, ze_pci_ext_properties_t *facts) {
  facts->address = (ze_pci_address_ext_t){0, 3, (uint32_t)device->index, 0};
  return ZE_RESULT_SUCCESS;
}

// The first group of queues copies only.
static ze_result_t get_groups(ze_device_handle_t device, uint32_t *count, ze_command_queue_group_properties_t *list) {
  (void)device;
  for (uint32_t i = 0; i < 2 && i < *count && list != NULL; i++) {
    list[i].flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY | (i == 1 ? ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE : 0);
    list[i].numQueues = 1;
  }
  *count = 2;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t context_create(ze_driver_handle_t driver, const ze_context_desc_t *desc, ze_context_handle_t *out) {
  if (driver == NULL) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (desc == NULL || desc->stype != ZE_STRUCTURE_TYPE_CONTEXT_DESC) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *out = new_object(sizeof **out);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t context_destroy(ze_context_handle_t context) {
  pthread_mutex_lock(&lock);
  for (struct memory *one = memories; one != NULL; one = one->next) {
    if (one->context == context) misused++;
  }
  pthread_mutex_unlock(&lock);
  destroy(context);
  return ZE_RESULT_SUCCESS;
}

// Memory

static ze_result_t allocate(ze_context_handle_t context, ze_device_handle_t device, ze_memory_type_t type, size_t size,
                            size_t alignment, int imported, void **out) {
  if (size == 0) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  if ((alignment & (alignment - 1)) != 0 || alignment > 65536) return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
  if (type == ZE_MEMORY_TYPE_DEVICE && behaves("full")) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  if (imported >= 0) {
    struct stat status;
    if (fstat(imported, &status) != 0 || (size_t)status.st_size < size) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  int fd = imported >= 0 ? fcntl(imported, F_DUPFD_CLOEXEC, 3) : memfd_create("level-zero", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  if (imported < 0 && (ftruncate(fd, (off_t)ALIGNED(size)) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)) {
    close(fd);
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  size_t slack = alignment > 4096 ? alignment : 0;
  char *room = mmap(NULL, ALIGNED(size) + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *base = slack == 0 ? room : (char *)(((uintptr_t)room + slack - 1) & ~(uintptr_t)(slack - 1));
  if (mmap(base, ALIGNED(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
    close(fd);
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  if (base > room) munmap(room, (size_t)(base - room));
  if (base + ALIGNED(size) < room + ALIGNED(size) + slack) munmap(base + ALIGNED(size), (size_t)(room + slack - base));
  struct memory *memory = new_object(sizeof *memory);
  *memory = (struct memory){memories, context, device, type, base, size, fd};
  pthread_mutex_lock(&lock);
  memory->next = memories;
  memories = memory;
  pthread_mutex_unlock(&lock);
  *out = base;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t alloc_host(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc, size_t size,
                              size_t alignment, void **out) {
  if (desc == NULL) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  return allocate(context, NULL, ZE_MEMORY_TYPE_HOST, size, alignment, -1, out);
}

static ze_result_t alloc_device(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc, size_t size,
                                size_t alignment, ze_device_handle_t device, void **out) {
  if (desc == NULL) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  int imported = -1;
  const ze_external_memory_import_fd_t *from = desc->pNext;
  if (from != NULL && from->stype == ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD) {
    if (from->flags != ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF) return ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
    imported = from->fd;
  }
  return allocate(context, device, ZE_MEMORY_TYPE_DEVICE, size, alignment, imported, out);
}

static ze_result_t alloc_shared(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc,
                                const ze_host_mem_alloc_desc_t *host, size_t size, size_t alignment,
                                ze_device_handle_t device, void **out) {
  if (desc == NULL || host == NULL) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (device->index != 0) return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  return allocate(context, device, ZE_MEMORY_TYPE_SHARED, size, alignment, -1, out);
}

static struct memory *find(ze_context_handle_t context, const void *pointer) {
  for (struct memory *one = memories; one != NULL; one = one->next) {
    const char *at = pointer;
    if (one->context == context && at >= one->base && at < one->base + one->size) return one;
  }
  return NULL;
}

static ze_result_t mem_free(ze_context_handle_t context, void *pointer) {
  settle();
  pthread_mutex_lock(&lock);
  struct memory *memory = find(context, pointer), **at = &memories;
  if (memory == NULL || memory->base != pointer) {
    misused++;
    pthread_mutex_unlock(&lock);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  while (*at != memory) at = &(*at)->next;
  *at = memory->next;
  pthread_mutex_unlock(&lock);
  munmap(memory->base, ALIGNED(memory->size));
  close(memory->fd);
  destroy(memory);
  return ZE_RESULT_SUCCESS;
}

// A dma-buf of the kernel's, where it makes one of a memfd; else the memfd.
static int dma_buf_of(const struct memory *memory) {
  int udmabuf = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd = -1;
  if (udmabuf >= 0) {
    struct udmabuf_create create = {(uint32_t)memory->fd, UDMABUF_FLAGS_CLOEXEC, 0, ALIGNED(memory->size)};
    fd = ioctl(udmabuf, UDMABUF_CREATE, &create);
    close(udmabuf);
  }
  return fd >= 0 ? fd : fcntl(memory->fd, F_DUPFD, 3);
}

static ze_result_t get_alloc(ze_context_handle_t context, const void *pointer, ze_memory_allocation_properties_t *facts,
                             ze_device_handle_t *device) {
  pthread_mutex_lock(&lock);
  struct memory *memory = find(context, pointer);
  pthread_mutex_unlock(&lock);
  facts->type = memory == NULL ? ZE_MEMORY_TYPE_UNKNOWN : memory->type;
  if (device != NULL) *device = memory == NULL ? NULL : memory->device;
  ze_external_memory_export_fd_t *fd = facts->pNext;
  if (memory != NULL && fd != NULL && fd->stype == ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD) {
    fd->fd = dma_buf_of(memory);
    if (fd->fd < 0) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  return ZE_RESULT_SUCCESS;
}

static ze_result_t get_range(ze_context_handle_t context, const void *pointer, void **base, size_t *size) {
  pthread_mutex_lock(&lock);
  struct memory *memory = find(context, pointer);
  pthread_mutex_unlock(&lock);
  if (memory == NULL) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  *base = memory->base;
  *size = memory->size;
  return ZE_RESULT_SUCCESS;
}

// Command lists

static ze_result_t create_immediate(ze_context_handle_t context, ze_device_handle_t device,
                                    const ze_command_queue_desc_t *desc, ze_command_list_handle_t *out) {
  if (context == NULL || device == NULL) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (desc->mode != ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (desc->ordinal != 1) return ZE_RESULT_ERROR_INVALID_ARGUMENT; // the other group runs no kernels
  *out = new_object(sizeof **out);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t list_destroy(ze_command_list_handle_t list) {
  settle();
  if (list->commands > 0) misused++;
  destroy(list);
  return ZE_RESULT_SUCCESS;
}

static void do_copy(char *const *arguments, uint32_t items) {
  (void)items;
  memcpy(arguments[0], arguments[1], (size_t)(uintptr_t)arguments[2]);
}

static void do_fill(char *const *arguments, uint32_t items) {
  (void)items;
  size_t size = (uintptr_t)arguments[1], period = (uintptr_t)arguments[2];
  for (size_t at = 0; at < size; at++) arguments[0][at] = arguments[3][at % period];
  free(arguments[3]);
}

static ze_result_t append_barrier(ze_command_list_handle_t list, ze_event_handle_t signal, uint32_t count,
                                  ze_event_handle_t *waits) {
  return append(calloc(1, sizeof(struct command)), list, signal, count, waits);
}

static ze_result_t append_copy(ze_command_list_handle_t list, void *to, const void *from, size_t size,
                               ze_event_handle_t signal, uint32_t count, ze_event_handle_t *waits) {
  if (to == NULL || from == NULL) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  struct command *command = calloc(1, sizeof *command);
  command->run = do_copy;
  command->arguments[0] = to;
  command->arguments[1] = (char *)from;
  command->arguments[2] = (char *)size;
  return append(command, list, signal, count, waits);
}

static ze_result_t append_fill(ze_command_list_handle_t list, void *to, const void *pattern, size_t period, size_t size,
                               ze_event_handle_t signal, uint32_t count, ze_event_handle_t *waits) {
  if (period == 0 || period > 128 || size % period != 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  struct command *command = calloc(1, sizeof *command);
  command->run = do_fill;
  command->arguments[0] = to;
  command->arguments[1] = (char *)size;
  command->arguments[2] = (char *)period;
  command->arguments[3] = memcpy(malloc(period), pattern, period);
  return append(command, list, signal, count, waits);
}

// Events

static ze_result_t pool_create(ze_context_handle_t context, const ze_event_pool_desc_t *desc, uint32_t count,
                               ze_device_handle_t *of, ze_event_pool_handle_t *out) {
  (void)context, (void)count, (void)of;
  *out = new_object(sizeof **out);
  (*out)->count = desc->count;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t pool_destroy(ze_event_pool_handle_t pool) {
  if (pool->alive > 0) misused++;
  destroy(pool);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *desc, ze_event_handle_t *out) {
  if (desc->index >= pool->count) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  *out = new_object(sizeof **out);
  (*out)->pool = pool;
  pool->alive++;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t event_destroy(ze_event_handle_t event) {
  pthread_mutex_lock(&lock);
  if (event->commands > 0) misused++;
  event->pool->alive--;
  pthread_mutex_unlock(&lock);
  destroy(event);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t event_reset(ze_event_handle_t event) {
  pthread_mutex_lock(&lock);
  if (event->commands > 0) misused++;
  event->is_set = 0;
  pthread_mutex_unlock(&lock);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t event_query(ze_event_handle_t event) {
  if (behaves("lost")) return ZE_RESULT_ERROR_DEVICE_LOST;
  pthread_mutex_lock(&lock);
  int is_set = event->is_set;
  pthread_mutex_unlock(&lock);
  return is_set ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

static ze_result_t event_synchronize(ze_event_handle_t event, uint64_t timeout) {
  if (timeout == 0) return event_query(event);
  if (behaves("lost")) return ZE_RESULT_ERROR_DEVICE_LOST;
  pthread_mutex_lock(&lock);
  while (!event->is_set) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return ZE_RESULT_SUCCESS;
}

// Modules and kernels

static void twice(char *const *arguments, uint32_t items) {
  float *numbers = *(float **)arguments[0];
  for (uint32_t i = 0; i < items; i++) numbers[i] *= 2;
}

static void add(char *const *arguments, uint32_t items) {
  uint32_t *numbers = *(uint32_t **)arguments[0], n = *(uint32_t *)arguments[1];
  for (uint32_t i = 0; i < items; i++) numbers[i] += n;
}

static void invert(char *const *arguments, uint32_t items) {
  const uint8_t *from = *(const uint8_t **)arguments[0];
  uint8_t *to = *(uint8_t **)arguments[1];
  for (uint32_t i = 0; i < items; i++) to[i] = (uint8_t)~from[i];
}

static const struct kernel KERNELS[] = {
    {"twice", twice, 1, {8}},
    {"add", add, 2, {8, 4}},
    {"invert", invert, 2, {8, 8}},
};

static ze_result_t module_create(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
                                 ze_module_handle_t *out, ze_module_build_log_handle_t *log) {
  (void)context, (void)device;
  const uint32_t *words = (const uint32_t *)desc->pInputModule;
  if (desc->format != ZE_MODULE_FORMAT_IL_SPIRV) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  int is_broken = memmem(words, desc->inputSize, "broken", 6) != NULL;
  if (log != NULL) {
    *log = new_object(sizeof **log);
    strcpy((*log)->text, is_broken ? "error: the kernel is broken" : "");
  }
  if (is_broken) return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  *out = new_object(sizeof **out);
  (*out)->count = desc->inputSize;
  (*out)->words = memcpy(malloc(desc->inputSize), words, desc->inputSize);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t module_destroy(ze_module_handle_t module) {
  free(module->words);
  destroy(module);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t log_string(ze_module_build_log_handle_t log, size_t *size, char *text) {
  *size = strlen(log->text) + 1;
  if (text != NULL) strcpy(text, log->text);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t log_destroy(ze_module_build_log_handle_t log) {
  destroy(log);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_create(ze_module_handle_t module, const ze_kernel_desc_t *desc, ze_kernel_handle_t *out) {
  if (memmem(module->words, module->count, desc->pKernelName, strlen(desc->pKernelName)) != NULL) {
    for (size_t i = 0; i < sizeof KERNELS / sizeof *KERNELS; i++) {
      if (strcmp(KERNELS[i].name, desc->pKernelName) != 0) continue;
      *out = new_object(sizeof **out);
      (*out)->kernel = &KERNELS[i];
      return ZE_RESULT_SUCCESS;
    }
  }
  return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
}

static ze_result_t kernel_destroy(ze_kernel_handle_t kernel) {
  destroy(kernel);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t set_group(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z) {
  if (x * y * z > 256 || x * y * z == 0) return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
  memcpy(kernel->group, (uint32_t[]){x, y, z}, sizeof kernel->group);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t set_argument(ze_kernel_handle_t kernel, uint32_t index, size_t size, const void *value) {
  if (index >= (uint32_t)kernel->kernel->count) return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
  if (size != kernel->kernel->sizes[index]) return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
  memcpy(kernel->arguments[index], value, size);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t append_kernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t *groups,
                                 ze_event_handle_t signal, uint32_t count, ze_event_handle_t *waits) {
  struct command *command = calloc(1, sizeof *command);
  command->run = kernel->kernel->run;
  memcpy(command->values, kernel->arguments, sizeof command->values);
  for (int i = 0; i < 4; i++) command->arguments[i] = command->values[i];
  command->items = groups->groupCountX * groups->groupCountY * groups->groupCountZ * kernel->group[0] * kernel->group[1] *
                   kernel->group[2];
  return append(command, list, signal, count, waits);
}

// The tables by which the loader finds all this

#define TABLE(name, type, ...)                                                \
  EXPORT ze_result_t name(ze_api_version_t version, type *table) {            \
    (void)version;                                                            \
    *table = (type){__VA_ARGS__};                                             \
    return ZE_RESULT_SUCCESS;                                                 \
  }

TABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t, .pfnInit = init)
TABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t, .pfnGet = driver_get, .pfnGetExtensionProperties = get_extensions)
TABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t, .pfnGet = device_get, .pfnGetProperties = get_properties,
      .pfnGetComputeProperties = get_compute, .pfnGetCommandQueueGroupProperties = get_groups,
      .pfnGetMemoryAccessProperties = get_access, .pfnGetExternalMemoryProperties = get_external,
      .pfnPciGetPropertiesExt = get_pci)
TABLE(zeGetContextProcAddrTable, ze_context_dditable_t, .pfnCreate = context_create, .pfnDestroy = context_destroy)
TABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t, .pfnCreateImmediate = create_immediate,
      .pfnDestroy = list_destroy, .pfnAppendBarrier = append_barrier, .pfnAppendMemoryCopy = append_copy,
      .pfnAppendMemoryFill = append_fill, .pfnAppendLaunchKernel = append_kernel)
TABLE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t, .pfnCreate = pool_create, .pfnDestroy = pool_destroy)
TABLE(zeGetEventProcAddrTable, ze_event_dditable_t, .pfnCreate = event_create, .pfnDestroy = event_destroy,
      .pfnHostSynchronize = event_synchronize, .pfnQueryStatus = event_query, .pfnHostReset = event_reset)
TABLE(zeGetModuleProcAddrTable, ze_module_dditable_t, .pfnCreate = module_create, .pfnDestroy = module_destroy)
TABLE(zeGetModuleBuildLogProcAddrTable, ze_module_build_log_dditable_t, .pfnGetString = log_string,
      .pfnDestroy = log_destroy)
TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t, .pfnCreate = kernel_create, .pfnDestroy = kernel_destroy,
      .pfnSetGroupSize = set_group, .pfnSetArgumentValue = set_argument)
TABLE(zeGetMemProcAddrTable, ze_mem_dditable_t, .pfnAllocShared = alloc_shared, .pfnAllocDevice = alloc_device,
      .pfnAllocHost = alloc_host, .pfnFree = mem_free, .pfnGetAllocProperties = get_alloc, .pfnGetAddressRange = get_range)

// What has nothing: the loader asks for each, and takes a driver that lacks one for no driver.
#define EMPTY(name, type) TABLE(name, type, 0)

EMPTY(zeGetDeviceExpProcAddrTable, ze_device_exp_dditable_t)
EMPTY(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t)
EMPTY(zeGetImageProcAddrTable, ze_image_dditable_t)
EMPTY(zeGetImageExpProcAddrTable, ze_image_exp_dditable_t)
EMPTY(zeGetFenceProcAddrTable, ze_fence_dditable_t)
EMPTY(zeGetEventExpProcAddrTable, ze_event_exp_dditable_t)
EMPTY(zeGetKernelExpProcAddrTable, ze_kernel_exp_dditable_t)
EMPTY(zeGetSamplerProcAddrTable, ze_sampler_dditable_t)
EMPTY(zeGetPhysicalMemProcAddrTable, ze_physical_mem_dditable_t)
EMPTY(zeGetVirtualMemProcAddrTable, ze_virtual_mem_dditable_t)
EMPTY(zeGetFabricVertexExpProcAddrTable, ze_fabric_vertex_exp_dditable_t)
EMPTY(zeGetFabricEdgeExpProcAddrTable, ze_fabric_edge_exp_dditable_t)
EMPTY(zetGetDeviceProcAddrTable, zet_device_dditable_t)
EMPTY(zetGetContextProcAddrTable, zet_context_dditable_t)
EMPTY(zetGetCommandListProcAddrTable, zet_command_list_dditable_t)
EMPTY(zetGetModuleProcAddrTable, zet_module_dditable_t)
EMPTY(zetGetKernelProcAddrTable, zet_kernel_dditable_t)
EMPTY(zetGetMetricGroupProcAddrTable, zet_metric_group_dditable_t)
EMPTY(zetGetMetricGroupExpProcAddrTable, zet_metric_group_exp_dditable_t)
EMPTY(zetGetMetricProcAddrTable, zet_metric_dditable_t)
EMPTY(zetGetMetricStreamerProcAddrTable, zet_metric_streamer_dditable_t)
EMPTY(zetGetMetricQueryPoolProcAddrTable, zet_metric_query_pool_dditable_t)
EMPTY(zetGetMetricQueryProcAddrTable, zet_metric_query_dditable_t)
EMPTY(zetGetTracerExpProcAddrTable, zet_tracer_exp_dditable_t)
EMPTY(zetGetDebugProcAddrTable, zet_debug_dditable_t)
EMPTY(zesGetDriverProcAddrTable, zes_driver_dditable_t)
EMPTY(zesGetDeviceProcAddrTable, zes_device_dditable_t)
EMPTY(zesGetSchedulerProcAddrTable, zes_scheduler_dditable_t)
EMPTY(zesGetPerformanceFactorProcAddrTable, zes_performance_factor_dditable_t)
EMPTY(zesGetPowerProcAddrTable, zes_power_dditable_t)
EMPTY(zesGetFrequencyProcAddrTable, zes_frequency_dditable_t)
EMPTY(zesGetEngineProcAddrTable, zes_engine_dditable_t)
EMPTY(zesGetStandbyProcAddrTable, zes_standby_dditable_t)
EMPTY(zesGetFirmwareProcAddrTable, zes_firmware_dditable_t)
EMPTY(zesGetMemoryProcAddrTable, zes_memory_dditable_t)
EMPTY(zesGetFabricPortProcAddrTable, zes_fabric_port_dditable_t)
EMPTY(zesGetTemperatureProcAddrTable, zes_temperature_dditable_t)
EMPTY(zesGetPsuProcAddrTable, zes_psu_dditable_t)
EMPTY(zesGetFanProcAddrTable, zes_fan_dditable_t)
EMPTY(zesGetLedProcAddrTable, zes_led_dditable_t)
EMPTY(zesGetRasProcAddrTable, zes_ras_dditable_t)
EMPTY(zesGetDiagnosticsProcAddrTable, zes_diagnostics_dditable_t)
