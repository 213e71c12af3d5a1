/*
 * What every layer of the tests answers the loader: its name, and the version of the layers' interface.
 */
#ifndef INFO_H
#define INFO_H
#include <CL/cl_layer.h>
#include <string.h>

static inline cl_int layer_info(const char *layer, cl_layer_info name, size_t size, void *value, size_t *size_ret) {
  static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (name != CL_LAYER_NAME && name != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  const void *info = name == CL_LAYER_NAME ? (const void *)layer : &version;
  const size_t length = name == CL_LAYER_NAME ? strlen(layer) + 1 : sizeof version;
  if (value && size < length) return CL_INVALID_VALUE;
  if (value) memcpy(value, info, length);
  if (size_ret) *size_ret = length;
  return CL_SUCCESS;
}
#endif
