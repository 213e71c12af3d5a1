// An OpenCL kernel and one of CUDA's take turns on the same words, ordered by two binary semaphores of Vulkan's: the kernels
// of examples/vulkan-opencl-ring. The same by copies through pinned memory; and an import with its release.
//
// Started as `external_ring turn.cl turn.cubin UUID UUID`: OpenCL has the first GPU, and CUDA the second, which may be the
// same. On one GPU the memory is Vulkan's; between two it is CUDA's, of the first, because no driver imports Vulkan's from
// another GPU. Needs the headers of Vulkan, OpenCL 3.0 and CUDA; serve.h says what it answers.
#include "serve.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <vulkan/vulkan.h>

// NVIDIA's driver never closes the fd of memory whose number that of a semaphore once had: those are kept apart.
enum { GROUP = 256, FIRST_SEMAPHORE_FD = 500, MAX_CALLS = 100, WORDS = 256, MIB4 = 1 << 20 };

static const char *source_path, *cubin_path;
static unsigned char uuids[2][16];
static int is_apart; // two GPUs

static void check_cl(cl_int code, const char *function) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", function, code);
  exit(1);
}

static void check_cuda(cudaError_t code, const char *function) {
  if (code == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", function, cudaGetErrorName(code));
  exit(1);
}

static void check_cu(CUresult code, const char *function) {
  if (code == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", function, (int)code);
  exit(1);
}

static void check_vk(VkResult code, const char *function) {
  if (code == VK_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", function, (int)code);
  exit(1);
}

#define CL(function, ...) check_cl(function(__VA_ARGS__), #function)
#define CUDA(function, ...) check_cuda(function(__VA_ARGS__), #function)
#define VK(function, ...) check_vk(function(__VA_ARGS__), #function)

static int duplicate(int fd, int from) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, from);
  if (copy < 0) fail("fcntl(F_DUPFD_CLOEXEC) failed");
  return copy;
}

// Vulkan: memory and semaphores that go out by fds.

static VkPhysicalDevice physical;
static VkDevice vulkan;
static PFN_vkGetMemoryFdKHR get_memory_fd;
static PFN_vkGetSemaphoreFdKHR get_semaphore_fd;

static int open_vulkan(void) {
  VkInstance instance;
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
  const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  if (vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS) return 0;
  VkPhysicalDevice devices[16];
  uint32_t count = 16;
  const VkResult listed = vkEnumeratePhysicalDevices(instance, &count, devices);
  if (listed != VK_SUCCESS && listed != VK_INCOMPLETE) return 0;
  for (uint32_t i = 0; i < count && physical == NULL; i++) {
    VkPhysicalDeviceIDProperties ids = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 told = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &ids};
    vkGetPhysicalDeviceProperties2(devices[i], &told);
    if (memcmp(ids.deviceUUID, uuids[0], 16) == 0) physical = devices[i];
  }
  if (physical == NULL) return 0;
  const char *extensions[] = {"VK_KHR_external_memory_fd", "VK_KHR_external_semaphore_fd"};
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue = {
    .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  const VkDeviceCreateInfo device = {
    .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
    .queueCreateInfoCount = 1,
    .pQueueCreateInfos = &queue,
    .enabledExtensionCount = 2,
    .ppEnabledExtensionNames = extensions,
  };
  if (vkCreateDevice(physical, &device, NULL, &vulkan) != VK_SUCCESS) return 0;
  get_memory_fd = (PFN_vkGetMemoryFdKHR)vkGetDeviceProcAddr(vulkan, "vkGetMemoryFdKHR");
  get_semaphore_fd = (PFN_vkGetSemaphoreFdKHR)vkGetDeviceProcAddr(vulkan, "vkGetSemaphoreFdKHR");
  return get_memory_fd != NULL && get_semaphore_fd != NULL;
}

// Memory of the device, of which `size` becomes the whole length.
static int allocate_vulkan(size_t *size) {
  const VkExternalMemoryBufferCreateInfo external = {
    .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
    .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  const VkBufferCreateInfo wanted = {
    .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
    .pNext = &external,
    .size = *size,
    .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
  };
  VkBuffer buffer;
  VK(vkCreateBuffer, vulkan, &wanted, NULL, &buffer);
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(vulkan, buffer, &needs);
  VkPhysicalDeviceMemoryProperties types;
  vkGetPhysicalDeviceMemoryProperties(physical, &types);
  uint32_t type = 0;
  while (type < types.memoryTypeCount && !((needs.memoryTypeBits >> type & 1) &&
         (types.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT))) type++;
  if (type == types.memoryTypeCount) fail("Vulkan has no memory type for this buffer");
  const VkExportMemoryAllocateInfo exported = {
    .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
    .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  const VkMemoryAllocateInfo info = {
    .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
    .pNext = &exported,
    .allocationSize = needs.size,
    .memoryTypeIndex = type,
  };
  VkDeviceMemory memory;
  VK(vkAllocateMemory, vulkan, &info, NULL, &memory);
  VK(vkBindBufferMemory, vulkan, buffer, memory, 0);
  const VkMemoryGetFdInfoKHR get = {
    .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
    .memory = memory,
    .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  int fd;
  VK(get_memory_fd, vulkan, &get, &fd);
  *size = needs.size;
  return fd;
}

static int make_semaphore(void) {
  const VkExportSemaphoreCreateInfo exported = {
    .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
    .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &exported};
  VkSemaphore semaphore;
  VK(vkCreateSemaphore, vulkan, &info, NULL, &semaphore);
  const VkSemaphoreGetFdInfoKHR get = {
    .sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
    .semaphore = semaphore,
    .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  int fd;
  VK(get_semaphore_fd, vulkan, &get, &fd);
  return fd;
}

// OpenCL.

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem cl_wrong;
static clCreateSemaphoreWithPropertiesKHR_fn create_semaphore;
static clEnqueueWaitSemaphoresKHR_fn wait_semaphores;
static clEnqueueSignalSemaphoresKHR_fn signal_semaphores;
static clEnqueueAcquireExternalMemObjectsKHR_fn acquire_memory;
static cl_semaphore_khr cl_there, cl_back;

static int open_opencl(void) {
  cl_platform_id platforms[16], platform = NULL;
  cl_uint platform_count = 0;
  if (clGetPlatformIDs(16, platforms, &platform_count) != CL_SUCCESS) return 0;
  for (cl_uint p = 0; p < platform_count && p < 16 && device == NULL; p++) {
    cl_device_id devices[16];
    cl_uint count = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_GPU, 16, devices, &count) != CL_SUCCESS) continue;
    for (cl_uint d = 0; d < count && d < 16; d++) {
      unsigned char uuid[CL_UUID_SIZE_KHR];
      if (clGetDeviceInfo(devices[d], CL_DEVICE_UUID_KHR, sizeof uuid, uuid, NULL) != CL_SUCCESS) continue;
      if (memcmp(uuid, uuids[0], 16) != 0) continue;
      device = devices[d];
      platform = platforms[p];
    }
  }
  if (device == NULL) return 0;
#define FIND(name) clGetExtensionFunctionAddressForPlatform(platform, name)
  create_semaphore = (clCreateSemaphoreWithPropertiesKHR_fn)FIND("clCreateSemaphoreWithPropertiesKHR");
  wait_semaphores = (clEnqueueWaitSemaphoresKHR_fn)FIND("clEnqueueWaitSemaphoresKHR");
  signal_semaphores = (clEnqueueSignalSemaphoresKHR_fn)FIND("clEnqueueSignalSemaphoresKHR");
  acquire_memory = (clEnqueueAcquireExternalMemObjectsKHR_fn)FIND("clEnqueueAcquireExternalMemObjectsKHR");
#undef FIND
  if (!create_semaphore || !wait_semaphores || !signal_semaphores || !acquire_memory) return 0;
  FILE *file = fopen(source_path, "rb");
  if (file == NULL) fail("turn.cl cannot be read");
  static char text[65536];
  const size_t length = fread(text, 1, sizeof text, file);
  fclose(file);
  const char *source = text;
  cl_int code;
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check_cl(code, "clCreateContext");
  queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
  check_cl(code, "clCreateCommandQueueWithProperties");
  const cl_program program = clCreateProgramWithSource(context, 1, &source, &length, &code);
  check_cl(code, "clCreateProgramWithSource");
  CL(clBuildProgram, program, 1, &device, "", NULL, NULL);
  kernel = clCreateKernel(program, "turn", &code);
  check_cl(code, "clCreateKernel");
  const cl_uint zero = 0;
  cl_wrong = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 4, (void *)&zero, &code);
  check_cl(code, "clCreateBuffer");
  return 1;
}

static cl_mem import_cl(int fd, size_t size) {
  const cl_mem_properties properties[] = {
    CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR, (cl_mem_properties)fd, CL_DEVICE_HANDLE_LIST_KHR,
    (cl_mem_properties)device, CL_DEVICE_HANDLE_LIST_END_KHR, 0};
  cl_int code;
  const cl_mem mem = clCreateBufferWithProperties(context, properties, CL_MEM_READ_WRITE, size, NULL, &code);
  check_cl(code, "clCreateBufferWithProperties");
  return mem;
}

static cl_semaphore_khr import_cl_semaphore(int fd) {
  const cl_semaphore_properties_khr properties[] = {
    CL_SEMAPHORE_TYPE_KHR, CL_SEMAPHORE_TYPE_BINARY_KHR, CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR,
    (cl_semaphore_properties_khr)duplicate(fd, FIRST_SEMAPHORE_FD), 0};
  cl_int code;
  const cl_semaphore_khr semaphore = create_semaphore(context, properties, &code);
  check_cl(code, "clCreateSemaphoreWithPropertiesKHR");
  return semaphore;
}

// CUDA: the runtime, and the driver for memory that two GPUs reach.

static int ordinals[2] = {-1, -1};
static cudaStream_t stream;
static cudaKernel_t cuda_kernel;
static unsigned *cuda_wrong;
static cudaExternalSemaphore_t cuda_there, cuda_back;

static int open_cuda(void) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return 0;
  for (int d = 0; d < count; d++) {
    struct cudaDeviceProp told;
    CUDA(cudaGetDeviceProperties, &told, d);
    for (int i = 0; i < 2; i++) {
      if (memcmp(told.uuid.bytes, uuids[i], 16) == 0) ordinals[i] = d;
    }
  }
  if (ordinals[0] < 0 || ordinals[1] < 0) return 0;
  if (is_apart) {
    CUDA(cudaSetDevice, ordinals[0]);
    CUDA(cudaFree, NULL);
  }
  CUDA(cudaSetDevice, ordinals[1]);
  CUDA(cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking);
  cudaLibrary_t library;
  CUDA(cudaLibraryLoadFromFile, &library, cubin_path, NULL, NULL, 0, NULL, NULL, 0);
  CUDA(cudaLibraryGetKernel, &cuda_kernel, library, "turn");
  CUDA(cudaMalloc, (void **)&cuda_wrong, 4);
  CUDA(cudaMemset, cuda_wrong, 0, 4);
  return 1;
}

// Takes the fd over.
static unsigned *import_cuda(int fd, size_t size, cudaExternalMemory_t *memory) {
  const struct cudaExternalMemoryHandleDesc desc = {
    .type = cudaExternalMemoryHandleTypeOpaqueFd, .handle.fd = fd, .size = size};
  CUDA(cudaImportExternalMemory, memory, &desc);
  const struct cudaExternalMemoryBufferDesc buffer = {.size = size};
  void *pointer;
  CUDA(cudaExternalMemoryGetMappedBuffer, &pointer, *memory, &buffer);
  return (unsigned *)pointer;
}

static cudaExternalSemaphore_t import_cuda_semaphore(int fd) {
  const struct cudaExternalSemaphoreHandleDesc desc = {
    .type = cudaExternalSemaphoreHandleTypeOpaqueFd, .handle.fd = duplicate(fd, FIRST_SEMAPHORE_FD)};
  cudaExternalSemaphore_t semaphore;
  CUDA(cudaImportExternalSemaphore, &semaphore, &desc);
  return semaphore;
}

// Memory of the first GPU that both reach; `size` becomes the whole length.
static int allocate_cuda(size_t *size, unsigned **pointer) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) fail("libcuda.so.1 does not open");
#define DRIVER(function) \
  __typeof__(&function) its_##function = (__typeof__(&function))dlsym(library, #function); \
  if (its_##function == NULL) fail("libcuda.so.1 has no " #function)
  DRIVER(cuMemGetAllocationGranularity);
  DRIVER(cuMemCreate);
  DRIVER(cuMemAddressReserve);
  DRIVER(cuMemMap);
  DRIVER(cuMemSetAccess);
  DRIVER(cuMemExportToShareableHandle);
#undef DRIVER
  const CUmemAllocationProp wanted = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinals[0]},
  };
  size_t granularity;
  check_cu(its_cuMemGetAllocationGranularity(&granularity, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
           "cuMemGetAllocationGranularity");
  *size = (*size + granularity - 1) / granularity * granularity;
  CUmemGenericAllocationHandle handle;
  check_cu(its_cuMemCreate(&handle, *size, &wanted, 0), "cuMemCreate");
  CUdeviceptr address;
  check_cu(its_cuMemAddressReserve(&address, *size, 0, 0, 0), "cuMemAddressReserve");
  check_cu(its_cuMemMap(address, *size, 0, handle, 0), "cuMemMap");
  CUmemAccessDesc access[2];
  memset(access, 0, sizeof access);
  for (int i = 0; i < 2; i++) {
    access[i].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access[i].location.id = ordinals[i];
    access[i].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  check_cu(its_cuMemSetAccess(address, *size, access, 2), "cuMemSetAccess");
  int fd;
  check_cu(its_cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
           "cuMemExportToShareableHandle");
  *pointer = (unsigned *)address;
  return fd;
}

// The rings: memory of one size each.

struct ring {
  unsigned n, turn;
  int fd;
  size_t size;
  cl_mem mem;
  unsigned *words;
  void *pinned; // of those by copies: between memory of OpenCL's own and of CUDA's own
};

static struct ring rings[3] = {{.n = WORDS}, {.n = MIB4}, {.n = PIXELS}}, copies[3] = {{.n = WORDS}, {.n = MIB4}, {.n = PIXELS}};
static int is_first = 1;

static void run_cl(struct ring *ring, cl_event *event) {
  CL(clSetKernelArg, kernel, 2, sizeof ring->turn, &ring->turn);
  const size_t global = ring->n, local = GROUP;
  CL(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &global, &local, 0, NULL, event);
  ring->turn++;
}

static void run_cuda(struct ring *ring) {
  void *arguments[] = {&ring->words, &ring->n, &ring->turn, &cuda_wrong};
  const cudaLaunchConfig_t config = {
    .gridDim = {ring->n / GROUP, 1, 1}, .blockDim = {GROUP, 1, 1}, .stream = stream};
  CUDA(cudaLaunchKernelExC, &config, (const void *)cuda_kernel, arguments);
  ring->turn++;
}

// A lap's three arguments that do not change.
static void set_up_kernel(struct ring *ring) {
  CL(clSetKernelArg, kernel, 0, sizeof ring->mem, &ring->mem);
  CL(clSetKernelArg, kernel, 1, sizeof ring->n, &ring->n);
  CL(clSetKernelArg, kernel, 3, sizeof cl_wrong, &cl_wrong);
}

static void submit_laps(struct ring *ring, long count, cl_event *events) {
  const struct cudaExternalSemaphoreSignalParams signal = {0};
  const struct cudaExternalSemaphoreWaitParams wait = {0};
  set_up_kernel(ring);
  for (long i = 0; i < count; i++) {
    if (!is_first) CL(wait_semaphores, queue, 1, &cl_back, NULL, 0, NULL, NULL);
    is_first = 0;
    run_cl(ring, events == NULL ? NULL : &events[i]);
    CL(signal_semaphores, queue, 1, &cl_there, NULL, 0, NULL, NULL);
    CL(clFlush, queue);
    CUDA(cudaWaitExternalSemaphoresAsync, &cuda_there, &wait, 1, stream);
    run_cuda(ring);
    CUDA(cudaSignalExternalSemaphoresAsync, &cuda_back, &signal, 1, stream);
  }
}

static void finish(void) {
  CL(clFinish, queue);
  CUDA(cudaStreamSynchronize, stream);
}

// Not one word was wrong at any turn.
static void assert_right(void) {
  finish();
  cl_uint by_cl;
  unsigned by_cuda;
  CL(clEnqueueReadBuffer, queue, cl_wrong, CL_TRUE, 0, 4, &by_cl, 0, NULL, NULL);
  CUDA(cudaMemcpy, &by_cuda, cuda_wrong, 4, cudaMemcpyDefault);
  if (by_cl == 0 && by_cuda == 0) return;
  fprintf(stderr, "OpenCL found %u words wrong, CUDA %u\n", by_cl, by_cuda);
  exit(1);
}

static void share_semaphores(void) {
  if (cl_there != NULL) return;
  const int there = make_semaphore(), back = make_semaphore();
  cl_there = import_cl_semaphore(there);
  cl_back = import_cl_semaphore(back);
  cuda_there = import_cuda_semaphore(there);
  cuda_back = import_cuda_semaphore(back);
  close(there);
  close(back);
}

static void set_up_ring(struct ring *ring) {
  if (ring->mem != NULL) return;
  share_semaphores();
  ring->size = 4 * (size_t)ring->n;
  if (is_apart) ring->fd = allocate_cuda(&ring->size, &ring->words);
  else {
    cudaExternalMemory_t memory;
    ring->fd = allocate_vulkan(&ring->size);
    ring->words = import_cuda(duplicate(ring->fd, 0), ring->size, &memory);
  }
  ring->mem = import_cl(duplicate(ring->fd, 0), ring->size);
  CL(acquire_memory, queue, 1, &ring->mem, 0, NULL, NULL);
  CUDA(cudaMemsetAsync, ring->words, 0, 4 * (size_t)ring->n, stream);
  finish();
  // A kernel's first launch blocks where it stands behind a wait: each has one before, on words that are 0 again after it.
  set_up_kernel(ring);
  run_cl(ring, NULL);
  finish();
  run_cuda(ring);
  CUDA(cudaMemsetAsync, ring->words, 0, 4 * (size_t)ring->n, stream);
  finish();
  ring->turn = 0;
  submit_laps(ring, 4, NULL);
  assert_right();
}

static void set_up_copies(struct ring *ring) {
  if (ring->mem != NULL) return;
  ring->size = 4 * (size_t)ring->n;
  cl_int code;
  ring->mem = clCreateBuffer(context, CL_MEM_READ_WRITE, ring->size, NULL, &code);
  check_cl(code, "clCreateBuffer");
  CUDA(cudaMalloc, (void **)&ring->words, ring->size);
  CUDA(cudaHostAlloc, &ring->pinned, ring->size, cudaHostAllocPortable);
  const cl_uint zero = 0;
  CL(clEnqueueFillBuffer, queue, ring->mem, &zero, sizeof zero, 0, ring->size, 0, NULL, NULL);
  finish();
}

static void copy_laps(struct ring *ring, long count) {
  set_up_kernel(ring);
  for (long i = 0; i < count; i++) {
    run_cl(ring, NULL);
    CL(clEnqueueReadBuffer, queue, ring->mem, CL_TRUE, 0, ring->size, ring->pinned, 0, NULL, NULL);
    CUDA(cudaMemcpyAsync, ring->words, ring->pinned, ring->size, cudaMemcpyDefault, stream);
    run_cuda(ring);
    CUDA(cudaMemcpyAsync, ring->pinned, ring->words, ring->size, cudaMemcpyDefault, stream);
    CUDA(cudaStreamSynchronize, stream);
    CL(clEnqueueWriteBuffer, queue, ring->mem, CL_FALSE, 0, ring->size, ring->pinned, 0, NULL, NULL);
  }
  CL(clFinish, queue);
}

static void run_laps(struct ring *ring, long count) {
  submit_laps(ring, count, NULL);
  finish();
}

#define SIZE(i, name) \
  static void set_up_##name(void) { set_up_ring(&rings[i]); } \
  static void lap_##name(long count) { run_laps(&rings[i], count); } \
  static void set_up_copy_##name(void) { set_up_copies(&copies[i]); } \
  static void copy_##name(long count) { copy_laps(&copies[i], count); }

SIZE(0, words)
SIZE(1, mib)
SIZE(2, frame)

// What the calls of a lap take; their ends are outside of the clock.
static void calls(long count) { submit_laps(&rings[0], count, NULL); }

// The same where every kernel of OpenCL's has an event, as samepage's do: it tells when that kernel is over.
static cl_event events[MAX_CALLS];
static long event_count;

static void calls_with_events(long count) {
  submit_laps(&rings[0], count, events);
  event_count = count;
}

static void release_events(void) {
  assert_right();
  for (; event_count > 0; event_count--) CL(clReleaseEvent, events[event_count - 1]);
}

static void import_by_opencl(long count) {
  const struct ring *ring = &rings[1];
  for (long i = 0; i < count; i++) CL(clReleaseMemObject, import_cl(duplicate(ring->fd, 0), ring->size));
}

static void import_by_cuda(long count) {
  const struct ring *ring = &rings[1];
  for (long i = 0; i < count; i++) {
    cudaExternalMemory_t memory;
    unsigned *words = import_cuda(duplicate(ring->fd, 0), ring->size, &memory);
    CUDA(cudaFree, words);
    CUDA(cudaDestroyExternalMemory, memory);
  }
}

static const struct operation OPERATIONS[] = {
  {"lap_words", set_up_words, lap_words, assert_right, 0, NULL},
  {"lap_mib", set_up_mib, lap_mib, assert_right, 0, NULL},
  {"lap_frame", set_up_frame, lap_frame, assert_right, 0, NULL},
  {"copy_words", set_up_copy_words, copy_words, assert_right, 0, NULL},
  {"copy_mib", set_up_copy_mib, copy_mib, assert_right, 0, NULL},
  {"copy_frame", set_up_copy_frame, copy_frame, assert_right, 0, NULL},
  {"calls", set_up_words, calls, assert_right, MAX_CALLS, NULL},
  {"calls_with_events", set_up_words, calls_with_events, release_events, MAX_CALLS, NULL},
  {"import_opencl", set_up_mib, import_by_opencl, NULL, 0, NULL},
  {"import_cuda", set_up_mib, import_by_cuda, NULL, 0, NULL},
};

static int uuid_in(const char *text, unsigned char *uuid) {
  for (int i = 0; i < 16; i++) {
    unsigned byte;
    if (sscanf(text + 2 * i, "%2x", &byte) != 1) return 0;
    uuid[i] = (unsigned char)byte;
  }
  return text[32] == '\0';
}

int main(int argc, char **argv) {
  if (argc != 5 || strlen(argv[3]) != 32 || strlen(argv[4]) != 32 || !uuid_in(argv[3], uuids[0]) ||
      !uuid_in(argv[4], uuids[1])) {
    fprintf(stderr, "usage: %s turn.cl turn.cubin UUID UUID\n", argv[0]);
    return 2;
  }
  source_path = argv[1];
  cubin_path = argv[2];
  is_apart = memcmp(uuids[0], uuids[1], 16) != 0;
  const char *missing = !open_vulkan() ? "Vulkan's memory and semaphores by fds"
                        : !open_opencl() ? "OpenCL's external memory and semaphores"
                        : !open_cuda() ? "CUDA's device"
                                       : NULL;
  if (missing != NULL) {
    printf("missing: there is not %s on this GPU\n", missing);
    return 0;
  }
  return answer(OPERATIONS, sizeof OPERATIONS / sizeof *OPERATIONS);
}
