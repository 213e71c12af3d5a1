// A clip through edges by OpenCL, a detector of text by ONNX Runtime in every tenth frame, and lines around its finds: clip.h
// says how. The kernels, libonnxruntime.so and the model are SAMEPAGE_BENCH_KERNELS, _ORT and _MODEL. One operation is a
// whole clip.
#include "clip.h"
#include <dlfcn.h>
#include <onnxruntime_c_api.h>

enum { ACROSS = 640, DOWN = 352, EVERY = 10 };

static cl_kernel edges_kernel, prepare_kernel;
static const OrtApi *ort;
static OrtSession *session;
static OrtValue *model_input;
static float *model_memory;
static char *input_name, *output_name;
static long boxes_found;

static void ok(OrtStatus *status) {
  if (status != NULL) fail(ort->GetErrorMessage(status));
}

static void setup(void) {
  if (edges_kernel != NULL) return;
  av_log_set_level(AV_LOG_QUIET);
  build_program(getenv("SAMEPAGE_BENCH_KERNELS"));
  edges_kernel = make_kernel("edges");
  prepare_kernel = make_kernel("prepare");
  void *opened = dlopen(getenv("SAMEPAGE_BENCH_ORT"), RTLD_NOW);
  if (opened == NULL) fail(dlerror());
  ort = ((const OrtApiBase *(*)(void))dlsym(opened, "OrtGetApiBase"))()->GetApi(ORT_API_VERSION);
  OrtEnv *env;
  OrtSessionOptions *options;
  OrtMemoryInfo *info;
  OrtAllocator *allocator;
  ok(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "bench", &env));
  ok(ort->CreateSessionOptions(&options));
  ok(ort->SetIntraOpNumThreads(options, 2));
  ok(ort->CreateSession(env, getenv("SAMEPAGE_BENCH_MODEL"), options, &session));
  ok(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  ok(ort->GetAllocatorWithDefaultOptions(&allocator));
  ok(ort->SessionGetInputName(session, 0, allocator, &input_name));
  ok(ort->SessionGetOutputName(session, 0, allocator, &output_name));
  const int64_t shape[4] = {1, 3, DOWN, ACROSS};
  const size_t bytes = 3 * DOWN * ACROSS * sizeof *model_memory;
  model_memory = (float *)map_pages(bytes);
  ok(ort->CreateTensorWithDataAsOrtValue(info, model_memory, bytes, shape, 4, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &model_input));
}

static void line(uint8_t *luma, int stride, int left, int top, int right, int bottom) {
  for (int y = top; y < bottom; y++) memset(luma + y * stride + left, 255, (size_t)(right - left));
}

// A box around what is connected with each likely pixel of the map, which is used up.
static void draw_boxes(float *map, uint8_t *luma, int stride, int width, int height) {
  static int waiting[4 * ACROSS * DOWN];
  for (int start = 0; start < ACROSS * DOWN; start++) {
    if (map[start] < 0.3f) continue;
    int left = ACROSS, top = DOWN, right = 0, bottom = 0, size = 0, count = 1;
    waiting[0] = start;
    while (count > 0) {
      const int at = waiting[--count];
      if (at < 0 || at >= ACROSS * DOWN || map[at] < 0.3f) continue;
      map[at] = 0;
      const int x = at % ACROSS, y = at / ACROSS;
      if (x < left) left = x;
      if (y < top) top = y;
      if (x + 1 > right) right = x + 1;
      if (y + 1 > bottom) bottom = y + 1;
      size++;
      if (x > 0) waiting[count++] = at - 1;
      if (x < ACROSS - 1) waiting[count++] = at + 1;
      waiting[count++] = at - ACROSS;
      waiting[count++] = at + ACROSS;
    }
    if (size < ACROSS * DOWN / 5000) continue;
    boxes_found++;
    left = left * width / ACROSS, right = right * width / ACROSS;
    top = top * height / DOWN, bottom = bottom * height / DOWN;
    line(luma, stride, left, top, right, top + 2);
    line(luma, stride, left, bottom - 2, right, bottom);
    line(luma, stride, left, top, left + 2, bottom);
    line(luma, stride, right - 2, top, right, bottom);
  }
}

static void detect_text(uint8_t *luma, int stride, int width, int height) {
  if (frames % EVERY != 0) return;
  const size_t items[2] = {ACROSS, DOWN};
  const int numbers[3] = {stride, ACROSS, DOWN};
  run_kernel(prepare_kernel, items, luma, (size_t)stride * height, model_memory, 3 * DOWN * ACROSS * sizeof(float), numbers, 3);
  OrtValue *output = NULL;
  float *map;
  ok(ort->Run(session, NULL, (const char *const *)&input_name, (const OrtValue *const *)&model_input, 1,
              (const char *const *)&output_name, 1, &output));
  ok(ort->GetTensorMutableData(output, (void **)&map));
  draw_boxes(map, luma, stride, width, height);
  ort->ReleaseValue(output);
}

static void work(uint8_t *from, int stride, uint8_t *to, int to_stride, int width, int height, int plane) {
  const int numbers[5] = {stride, to_stride, width, height, plane};
  run_plane(edges_kernel, from, to, numbers, 5);
  if (plane == 0) detect_text(to, to_stride, width, height);
}

static void pipelines(long count) {
  for (long i = 0; i < count; i++) one_clip();
  if (boxes_found == 0) fail("no text was found");
}

static const struct operation OPERATIONS[] = {
  {"pipeline", setup, pipelines, NULL, 0, NULL},
};

SERVE(OPERATIONS)
