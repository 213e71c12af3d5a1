// ONNX Runtime's own API: an OrtValue, and runs of a sigmoid in memory of the program's.
//
// A program is started as `program LIBRARY SMALL.onnx LARGE.onnx`: a sigmoid of 1,024 numbers, and one of 1,048,576.
#include "serve.h"
#include <dlfcn.h>
#include <onnxruntime_c_api.h>
#include <semaphore.h>

enum { FEW = 1024, MANY = 1 << 20 };

static const OrtApi *ort;
static OrtMemoryInfo *info;
static const char *library, *path[2];
static const int64_t length[2] = {FEW, MANY};
static OrtSession *session[2];
static OrtValue *input[2], *output[2];
static float *memory;

static void check(OrtStatus *status) {
  if (status != NULL) fail(ort->GetErrorMessage(status));
}

static OrtValue *value_over(float *numbers, int64_t count) {
  OrtValue *value;
  const size_t bytes = (size_t)count * sizeof *numbers;
  check(ort->CreateTensorWithDataAsOrtValue(info, numbers, bytes, &count, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  return value;
}

static void setup(void) {
  if (ort != NULL) return;
  void *opened = dlopen(library, RTLD_NOW);
  if (opened == NULL) fail(dlerror());
  const OrtApiBase *(*base)(void) = (const OrtApiBase *(*)(void))dlsym(opened, "OrtGetApiBase");
  ort = base()->GetApi(ORT_API_VERSION);
  OrtEnv *env;
  OrtSessionOptions *options;
  check(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "bench", &env));
  check(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  check(ort->CreateSessionOptions(&options));
  check(ort->SetIntraOpNumThreads(options, 2));
  memory = (float *)map_pages(2 * MANY * sizeof *memory);
  for (int i = 0; i < 2; i++) {
    check(ort->CreateSession(env, path[i], options, &session[i]));
    input[i] = value_over(memory, length[i]);
    output[i] = value_over(memory + MANY, length[i]);
  }
}

// An OrtValue over memory of the program's.
static void value(long count) {
  for (long i = 0; i < count; i++) ort->ReleaseValue(value_over(memory, FEW));
}

static void run_on(int which, long count) {
  const char *in = "x", *out = "y";
  for (long i = 0; i < count; i++) {
    check(ort->Run(session[which], NULL, &in, (const OrtValue *const *)&input[which], 1, &out, 1, &output[which]));
  }
}

static void run(long count) { run_on(0, count); }

static void run_large(long count) { run_on(1, count); }

static void ended(void *semaphore, OrtValue **values, size_t count, OrtStatusPtr status) {
  (void)values;
  (void)count;
  check(status);
  sem_post((sem_t *)semaphore);
}

// On a thread of ONNX Runtime's, and the wait for it.
static void run_async_on(int which, long count) {
  const char *in = "x", *out = "y";
  sem_t over;
  sem_init(&over, 0, 0);
  for (long i = 0; i < count; i++) {
    const OrtValue *const *values = (const OrtValue *const *)&input[which];
    check(ort->RunAsync(session[which], NULL, &in, values, 1, &out, 1, &output[which], ended, &over));
    while (sem_wait(&over) != 0) continue;
  }
  sem_destroy(&over);
}

static void run_async(long count) { run_async_on(0, count); }

static void run_large_async(long count) { run_async_on(1, count); }

// The same values, bound once: what OrtApi offers for memory of devices.
static void run_bound(long count) {
  static OrtIoBinding *binding;
  if (binding == NULL) {
    check(ort->CreateIoBinding(session[0], &binding));
    check(ort->BindInput(binding, "x", input[0]));
    check(ort->BindOutput(binding, "y", output[0]));
  }
  for (long i = 0; i < count; i++) check(ort->RunWithBinding(session[0], NULL, binding));
}

static const struct operation OPERATIONS[] = {
    {"value", setup, value, NULL, 0, NULL},
    {"run", setup, run, NULL, 0, NULL},
    {"run_async", setup, run_async, NULL, 0, NULL},
    {"run_bound", setup, run_bound, NULL, 0, NULL},
    {"run_large", setup, run_large, NULL, 0, NULL},
    {"run_large_async", setup, run_large_async, NULL, 0, NULL},
};

int main(int argc, char **argv) {
  if (argc < 4) fail("a library or a model is missing");
  library = argv[1];
  path[0] = argv[2];
  path[1] = argv[3];
  return answer(OPERATIONS, sizeof OPERATIONS / sizeof *OPERATIONS);
}
