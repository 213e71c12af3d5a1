/*
 * What private_copy.c and images.c have in common: the driver below, and the steps of a private copy's life.
 */
#ifndef LAYER_H
#define LAYER_H
#include "bytes.h"
#include <CL/cl_layer.h>

/* A mapping, as a native kernel that moves its bytes is told of it. */
struct mapping_task {
  cl_mem root;
  cl_ulong id;
};

/* The driver's own map, whatever is mapped. */
typedef cl_int (*driver_map)(void *call, cl_uint waits, const cl_event *wait_list);

#pragma GCC visibility push(hidden)

extern cl_icd_dispatch driver;

struct buffer *private_copy_of(cl_context context, void *host, size_t size);
cl_mem remember(struct buffer *b, cl_mem mem, cl_int *error);
cl_int bring_and_map(cl_command_queue queue, struct mapping_task task, cl_uint waits, const cl_event *wait_list,
                     driver_map map, void *call);

cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                                const cl_image_desc *desc, void *host, cl_int *error);
void *CL_API_CALL enqueue_map_image(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                                    const size_t *origin, const size_t *region, size_t *row_pitch, size_t *slice_pitch,
                                    cl_uint waits, const cl_event *wait_list, cl_event *event, cl_int *error);

#pragma GCC visibility pop
#endif
