// ONNX Runtime with a provider for CUDA that is none: the library at REAL, whose sessions take a GPU's memory for the CPU's.
// What it was asked for is kept: no library of the tests has that provider.
#include <dlfcn.h>
#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static OrtApi api;
static const OrtApi *real;
static OrtApiBase base;
static const OrtApiBase *real_base;

int has_cuda = 1;
// The GPU's number and stream, as text; the number of the memory.
char device_id[32], stream[32];
int memory_device = -1, appended, options_alive;

struct OrtCUDAProviderOptionsV2 { int unused; };

static char *both[] = {"CUDAExecutionProvider", "CPUExecutionProvider"};

static OrtStatus *available(char ***out, int *count) {
  *out = has_cuda ? both : both + 1;
  *count = has_cuda ? 2 : 1;
  return NULL;
}

static OrtStatus *release_available(char **list, int count) { return (void)list, (void)count, NULL; }

static OrtStatus *create_options(OrtCUDAProviderOptionsV2 **out) {
  options_alive++;
  *out = calloc(1, sizeof **out);
  return NULL;
}

static void release_options(OrtCUDAProviderOptionsV2 *options) {
  options_alive--;
  free(options);
}

static OrtStatus *update_options(OrtCUDAProviderOptionsV2 *options, const char *const *keys, const char *const *values, size_t count) {
  (void)options;
  for (size_t i = 0; i < count; i++) {
    char *to = strcmp(keys[i], "device_id") == 0 ? device_id : strcmp(keys[i], "user_compute_stream") == 0 ? stream : NULL;
    if (to == NULL) return real->CreateStatus(ORT_INVALID_ARGUMENT, "an option that CUDA's provider has not");
    snprintf(to, sizeof device_id, "%s", values[i]);
  }
  return NULL;
}

static OrtStatus *append(OrtSessionOptions *session, const OrtCUDAProviderOptionsV2 *options) {
  appended++;
  return (void)session, (void)options, NULL;
}

static OrtStatus *memory_info(const char *name, enum OrtAllocatorType type, int id, enum OrtMemType memory, OrtMemoryInfo **out) {
  if (strcmp(name, "Cuda") != 0) return real->CreateMemoryInfo(name, type, id, memory, out);
  memory_device = id;
  return real->CreateCpuMemoryInfo(type, memory, out);
}

static const OrtApi *get_api(uint32_t version) {
  real = real_base->GetApi(version);
  api = *real;
  api.GetAvailableProviders = available;
  api.ReleaseAvailableProviders = release_available;
  api.CreateCUDAProviderOptions = create_options;
  api.ReleaseCUDAProviderOptions = release_options;
  api.UpdateCUDAProviderOptions = update_options;
  api.SessionOptionsAppendExecutionProvider_CUDA_V2 = append;
  api.CreateMemoryInfo = memory_info;
  return &api;
}

const OrtApiBase *OrtGetApiBase(void) {
  void *opened = dlopen(REAL, RTLD_NOW);
  if (opened == NULL) return NULL;
  real_base = ((const OrtApiBase *(*)(void))dlsym(opened, "OrtGetApiBase"))();
  base = *real_base;
  base.GetApi = get_api;
  return &base;
}
