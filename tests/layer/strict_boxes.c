/*
 * An OpenCL layer with NVIDIA's rule for boxes of buffers (580.159): the gap behind the last row, and behind the last slice,
 * counts as part of a box. A box that ends beyond the buffer is refused with CL_INVALID_VALUE.
 */
#include "info.h"

static cl_icd_dispatch driver, layer;

static size_t or_else(size_t pitch, size_t tight) { return pitch ? pitch : tight; }

/* True if the box, with all its gaps, lies in the buffer. */
static int lies_in(cl_mem mem, const size_t *origin, const size_t *region, size_t row_pitch, size_t slice_pitch) {
  size_t size, row = or_else(row_pitch, region[0]), slice = or_else(slice_pitch, region[1] * row);
  size_t begin = origin[0] + origin[1] * row + origin[2] * slice;
  size_t rows = region[1] == 1 && region[2] == 1 ? region[0] : region[1] * row;
  if (driver.clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof size, &size, NULL) != CL_SUCCESS) return 1;
  return begin + (region[2] == 1 ? rows : region[2] * slice) <= size;
}

static cl_int CL_API_CALL copy_rect(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                                    const size_t *to_origin, const size_t *region, size_t from_row, size_t from_slice,
                                    size_t to_row, size_t to_slice, cl_uint waits, const cl_event *wait_list,
                                    cl_event *event) {
  if (!lies_in(from, from_origin, region, from_row, from_slice)) return CL_INVALID_VALUE;
  if (!lies_in(to, to_origin, region, to_row, to_slice)) return CL_INVALID_VALUE;
  return driver.clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin, region, from_row, from_slice, to_row,
                                        to_slice, waits, wait_list, event);
}

static cl_int CL_API_CALL read_rect(cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *origin,
                                    const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                                    size_t host_row, size_t host_slice, void *host, cl_uint waits,
                                    const cl_event *wait_list, cl_event *event) {
  if (!lies_in(mem, origin, region, row, slice)) return CL_INVALID_VALUE;
  return driver.clEnqueueReadBufferRect(queue, mem, blocking, origin, host_origin, region, row, slice, host_row,
                                        host_slice, host, waits, wait_list, event);
}

static cl_int CL_API_CALL write_rect(cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *origin,
                                     const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                                     size_t host_row, size_t host_slice, const void *host, cl_uint waits,
                                     const cl_event *wait_list, cl_event *event) {
  if (!lies_in(mem, origin, region, row, slice)) return CL_INVALID_VALUE;
  return driver.clEnqueueWriteBufferRect(queue, mem, blocking, origin, host_origin, region, row, slice, host_row,
                                         host_slice, host, waits, wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *size_ret) {
  return layer_info("samepage strict boxes", name, size, value, size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *entries_ret,
                                            const cl_icd_dispatch **layer_ret) {
  if (entries < sizeof driver / sizeof(void *)) return CL_INVALID_VALUE;
  driver = layer = *target;
  layer.clEnqueueCopyBufferRect = copy_rect;
  layer.clEnqueueReadBufferRect = read_rect;
  layer.clEnqueueWriteBufferRect = write_rect;
  *layer_ret = &layer;
  *entries_ret = sizeof layer / sizeof(void *);
  return CL_SUCCESS;
}
