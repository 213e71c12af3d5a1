// OpenVINO's own API in C: a tensor over memory of the program's, and runs of a sigmoid of 64 x 64 numbers in it.
//
// A program is started as `program MODEL.xml`: its input is "x", its output "y".
#include "serve.h"
#include <openvino/c/openvino.h>
#include <semaphore.h>

enum { FEW = 64 * 64 };

static const char *path;
static ov_infer_request_t *request;
static float *memory;
static sem_t over;
static ov_callback_t callback;

static void check(ov_status_e status) {
  if (status != OK) fail(ov_get_last_err_msg());
}

static ov_tensor_t *tensor_over(float *numbers) {
  int64_t dims[2] = {64, 64};
  ov_shape_t shape = {2, dims};
  ov_tensor_t *tensor;
  check(ov_tensor_create_from_host_ptr(F32, shape, numbers, &tensor));
  return tensor;
}

static void setup(void) {
  if (request != NULL) return;
  ov_core_t *core;
  ov_compiled_model_t *model;
  check(ov_core_create(&core));
  check(ov_core_compile_model_from_file(core, path, "CPU", 0, &model));
  check(ov_compiled_model_create_infer_request(model, &request));
  memory = (float *)map_pages(2 * FEW * sizeof *memory);
  check(ov_infer_request_set_input_tensor_by_index(request, 0, tensor_over(memory)));
  check(ov_infer_request_set_output_tensor_by_index(request, 0, tensor_over(memory + FEW)));
}

static void ended(void *semaphore) { sem_post((sem_t *)semaphore); }

static void setup_async(void) {
  setup();
  if (callback.callback_func != NULL) return;
  sem_init(&over, 0, 0);
  callback = (ov_callback_t){ended, &over};
  check(ov_infer_request_set_callback(request, &callback));
}

// A tensor over memory of the program's.
static void value(long count) {
  for (long i = 0; i < count; i++) ov_tensor_free(tensor_over(memory));
}

// Input and output are new tensors each time, and the output is read.
static void map_and_run(long count) {
  volatile float sum = 0;
  for (long i = 0; i < count; i++) {
    ov_tensor_t *input = tensor_over(memory), *output = tensor_over(memory + FEW);
    check(ov_infer_request_set_input_tensor_by_index(request, 0, input));
    check(ov_infer_request_set_output_tensor_by_index(request, 0, output));
    check(ov_infer_request_infer(request));
    sum += memory[FEW];
    ov_tensor_free(input);
    ov_tensor_free(output);
  }
}

// The input is one of two tensors, by turns.
static void set_and_run(long count) {
  static ov_tensor_t *inputs[2];
  for (int i = 0; i < 2; i++) if (inputs[i] == NULL) inputs[i] = tensor_over(memory);
  for (long i = 0; i < count; i++) {
    check(ov_infer_request_set_input_tensor_by_index(request, 0, inputs[i & 1]));
    check(ov_infer_request_infer(request));
  }
}

static void run(long count) {
  for (long i = 0; i < count; i++) check(ov_infer_request_infer(request));
}

// On a thread of OpenVINO's, and the wait for it.
static void run_async(long count) {
  for (long i = 0; i < count; i++) {
    check(ov_infer_request_start_async(request));
    while (sem_wait(&over) != 0) continue;
    check(ov_infer_request_wait(request));
  }
}

static const struct operation OPERATIONS[] = {
    {"value", setup, value, NULL, 0, NULL},
    {"map_and_run", setup, map_and_run, NULL, 0, NULL},
    {"set_and_run", setup, set_and_run, NULL, 0, NULL},
    {"run", setup, run, NULL, 0, NULL},
    {"run_async", setup_async, run_async, NULL, 0, NULL},
};

int main(int argc, char **argv) {
  if (argc < 2) fail("a model is missing");
  path = argv[1];
  return answer(OPERATIONS, sizeof OPERATIONS / sizeof *OPERATIONS);
}
