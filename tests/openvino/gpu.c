// OpenVINO with a plugin for Intel's GPU that is none: the library that this one is linked to does all but what follows, on
// the CPU. A tensor over a cl_mem is one over the host memory behind it. What was asked for is kept.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <openvino/c/openvino.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CL_MEM_HOST_PTR = 0x1103 };

void *cl_context, *cl_mem;
int contexts_alive;

struct ov_remote_context { int unused; };

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static void *host_pointer_of(void *mem) {
  static int (*info)(void *, unsigned, size_t, void *, size_t *);
  if (info == NULL) info = (int (*)(void *, unsigned, size_t, void *, size_t *))dlsym(dlopen("libOpenCL.so.1", RTLD_NOW), "clGetMemObjectInfo");
  void *pointer = NULL;
  return info(mem, CL_MEM_HOST_PTR, sizeof pointer, &pointer, NULL) == 0 ? pointer : NULL;
}

ov_status_e ov_core_get_property(const ov_core_t *core, const char *device, const char *key, char **value) {
  ov_status_e (*get)(const ov_core_t *, const char *, const char *, char **) = real(__func__);
  return get(core, strcmp(device, "GPU") == 0 ? "CPU" : device, key, value);
}

ov_status_e ov_core_create_context(const ov_core_t *core, const char *device, const size_t count, ov_remote_context_t **out, ...) {
  va_list list;
  va_start(list, out);
  const char *type = va_arg(list, const char *), *of = va_arg(list, const char *), *key = va_arg(list, const char *);
  cl_context = va_arg(list, void *);
  va_end(list);
  if (core == NULL || count != 4 || strcmp(device, "GPU") || strcmp(type, "CONTEXT_TYPE") || strcmp(of, "OCL") || strcmp(key, "OCL_CONTEXT")) return INVALID_C_PARAM;
  contexts_alive++;
  *out = calloc(1, sizeof **out);
  return OK;
}

void ov_remote_context_free(ov_remote_context_t *context) {
  contexts_alive--;
  free(context);
}

ov_status_e ov_remote_context_create_tensor(const ov_remote_context_t *context, const ov_element_type_e type, const ov_shape_t shape, const size_t count, ov_tensor_t **out, ...) {
  va_list list;
  va_start(list, out);
  const char *kind = va_arg(list, const char *), *of = va_arg(list, const char *), *key = va_arg(list, const char *);
  cl_mem = va_arg(list, void *);
  va_end(list);
  if (context == NULL || count != 4 || strcmp(kind, "SHARED_MEM_TYPE") || strcmp(of, "OCL_BUFFER") || strcmp(key, "MEM_HANDLE")) return INVALID_C_PARAM;
  void *pointer = host_pointer_of(cl_mem);
  return pointer == NULL ? INVALID_C_PARAM : ov_tensor_create_from_host_ptr(type, shape, pointer, out);
}

ov_status_e ov_core_compile_model_with_context(const ov_core_t *core, const ov_model_t *model, const ov_remote_context_t *context, const size_t count, ov_compiled_model_t **out, ...) {
  return context == NULL || count != 0 ? INVALID_C_PARAM : ov_core_compile_model(core, model, "CPU", 0, out);
}
