// OpenVINO with a plugin for Intel's GPU that is none: the library that this one is linked to does all but what follows, on
// the CPU. A tensor over a cl_mem is one over the host memory behind it, and one over a surface's plane is one over the
// memory of the VA-API driver of the tests. What was asked for is kept.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <openvino/c/openvino.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <va/va.h>

enum { CL_MEM_HOST_PTR = 0x1103 };

void *cl_context, *cl_mem, *va_display;
int contexts_alive, surfaces_taken, surfaces_expected;

struct ov_remote_context { int unused; };

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static void *loaded(const char *name) { return dlsym(dlopen("libva.so.2", RTLD_NOW), name); }

static void *plane_of(VASurfaceID surface, unsigned plane, const ov_shape_t shape) {
  VAStatus (*derive)(VADisplay, VASurfaceID, VAImage *) = loaded("vaDeriveImage");
  VAStatus (*map)(VADisplay, VABufferID, void **) = loaded("vaMapBuffer"), (*unmap)(VADisplay, VABufferID) = loaded("vaUnmapBuffer");
  VAStatus (*destroy)(VADisplay, VAImageID) = loaded("vaDestroyImage");
  VAImage image;
  char *at = NULL;
  if (derive(va_display, surface, &image) != VA_STATUS_SUCCESS) return NULL;
  if (map(va_display, image.buf, (void **)&at) != VA_STATUS_SUCCESS) at = NULL;
  else unmap(va_display, image.buf); // the driver of the tests has it mapped for as long as the surface lives
  destroy(va_display, image.image_id);
  int64_t bytes = 1;
  for (int64_t i = 0; i < shape.rank; i++) bytes *= shape.dims[i];
  if (at == NULL || plane >= image.num_planes || bytes != image.pitches[plane] * (image.height >> plane)) return NULL;
  surfaces_taken++;
  return at + image.offsets[plane];
}

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
  void *handle = va_arg(list, void *);
  va_end(list);
  if (core == NULL || count != 4 || strcmp(device, "GPU") || strcmp(type, "CONTEXT_TYPE")) return INVALID_C_PARAM;
  if (!strcmp(of, "OCL") && !strcmp(key, "OCL_CONTEXT")) cl_context = handle;
  else if (!strcmp(of, "VA_SHARED") && !strcmp(key, "VA_DEVICE")) va_display = handle;
  else return INVALID_C_PARAM;
  contexts_alive++;
  *out = calloc(1, sizeof **out);
  return OK;
}

ov_status_e ov_core_get_default_context(const ov_core_t *core, const char *device, ov_remote_context_t **out) {
  if (core == NULL || strcmp(device, "GPU")) return INVALID_C_PARAM;
  contexts_alive++;
  *out = calloc(1, sizeof **out);
  return OK;
}

void ov_remote_context_free(ov_remote_context_t *context) {
  contexts_alive--;
  free(context);
}

static void *memory_of(const size_t count, const ov_shape_t shape, va_list list) {
  const char *kind = va_arg(list, const char *), *of = va_arg(list, const char *), *key = va_arg(list, const char *);
  if (strcmp(kind, "SHARED_MEM_TYPE")) return NULL;
  if (count == 4 && !strcmp(of, "OCL_BUFFER") && !strcmp(key, "MEM_HANDLE")) return host_pointer_of(cl_mem = va_arg(list, void *));
  if (count != 6 || strcmp(of, "VA_SURFACE") || strcmp(key, "DEV_OBJECT_HANDLE")) return NULL;
  const char *surface = va_arg(list, const char *), *last = va_arg(list, const char *), *plane = va_arg(list, const char *);
  return strcmp(last, "VA_PLANE") ? NULL : plane_of(strtoul(surface, NULL, 10), strtoul(plane, NULL, 10), shape);
}

ov_status_e ov_remote_context_create_tensor(const ov_remote_context_t *context, const ov_element_type_e type, const ov_shape_t shape, const size_t count, ov_tensor_t **out, ...) {
  va_list list;
  va_start(list, out);
  void *pointer = context == NULL ? NULL : memory_of(count, shape, list);
  va_end(list);
  return pointer == NULL ? INVALID_C_PARAM : ov_tensor_create_from_host_ptr(type, shape, pointer, out);
}

ov_status_e ov_core_compile_model_with_context(const ov_core_t *core, const ov_model_t *model, const ov_remote_context_t *context, const size_t count, ov_compiled_model_t **out, ...) {
  return context == NULL || count != 0 ? INVALID_C_PARAM : ov_core_compile_model(core, model, "CPU", 0, out);
}

ov_status_e ov_preprocess_input_tensor_info_set_memory_type(ov_preprocess_input_tensor_info_t *info, const char *type) {
  ov_status_e (*set)(ov_preprocess_input_tensor_info_t *, const char *) = real(__func__);
  surfaces_expected += !strcmp(type, "GPU_SURFACE");
  return set(info, type);
}
