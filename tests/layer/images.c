/* Images over host pointers: like buffers, but that a map moves a box of bytes. Images over buffers pass through. */
#include "layer.h"
#include <stdlib.h>

static size_t image_info(cl_mem image, cl_image_info name) {
  size_t value = 0;
  driver.clGetImageInfo(image, name, sizeof value, &value, NULL);
  return value;
}

/* By how much a coordinate along y moves: the layers of a 1D array are slices. */
static size_t step_y(const struct buffer *b) { return b->row_pitch ? b->row_pitch : b->slice_pitch; }

static size_t size_of(const cl_image_desc *d, size_t row_pitch, size_t slice_pitch) {
  switch (d->image_type) {
    case CL_MEM_OBJECT_IMAGE1D: return row_pitch;
    case CL_MEM_OBJECT_IMAGE2D: return row_pitch * d->image_height;
    case CL_MEM_OBJECT_IMAGE3D: return slice_pitch * d->image_depth;
    default: return slice_pitch * d->image_array_size;
  }
}

cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                                const cl_image_desc *desc, void *host, cl_int *error) {
  cl_int status;
  /* As the program asked for it: the driver judges the arguments. */
  cl_mem mem = driver.clCreateImage(context, flags, format, desc, host, &status);
  if (mem && flags & CL_MEM_USE_HOST_PTR) {
    size_t row_pitch = image_info(mem, CL_IMAGE_ROW_PITCH), slice_pitch = image_info(mem, CL_IMAGE_SLICE_PITCH);
    size_t element = image_info(mem, CL_IMAGE_ELEMENT_SIZE);
    driver.clReleaseMemObject(mem);
    status = CL_OUT_OF_HOST_MEMORY;
    struct buffer *b = private_copy_of(context, host, size_of(desc, row_pitch, slice_pitch));
    mem = b ? driver.clCreateImage(context, flags, format, desc, b->private, &status) : NULL;
    if (mem) {
      b->element = element;
      b->row_pitch = desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 0 : row_pitch;
      b->slice_pitch = slice_pitch;
      mem = remember(b, mem, &status);
    } else if (b) {
      free(b->private);
      free(b);
    }
  }
  if (error) *error = status;
  return mem;
}

struct image_map {
  cl_command_queue queue;
  cl_mem image;
  cl_bool blocking;
  cl_map_flags flags;
  const size_t *origin, *region;
  size_t *row_pitch, *slice_pitch;
  cl_event *event;
};

static cl_int map_image(void *call, cl_uint waits, const cl_event *wait_list) {
  const struct image_map *c = call;
  cl_int status;
  driver.clEnqueueMapImage(c->queue, c->image, c->blocking, c->flags, c->origin, c->region, c->row_pitch,
                           c->slice_pitch, waits, wait_list, c->event, &status);
  return status;
}

void *CL_API_CALL enqueue_map_image(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                                    const size_t *origin, const size_t *region, size_t *row_pitch, size_t *slice_pitch,
                                    cl_uint waits, const cl_event *wait_list, cl_event *event, cl_int *error) {
  struct image_map call = {queue, image, blocking, flags, origin, region, row_pitch, slice_pitch, event};
  pthread_mutex_lock(&mutex);
  struct buffer *b = find(image);
  struct mapping *m = NULL;
  if (b) {
    struct box box = {region[0] * b->element, region[1], step_y(b), region[2], b->slice_pitch};
    size_t offset = origin[2] * b->slice_pitch + origin[1] * step_y(b) + origin[0] * b->element;
    m = add_mapping(b, offset, box, flags);
  }
  if (!m) {
    pthread_mutex_unlock(&mutex);
    return driver.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row_pitch, slice_pitch, waits,
                                    wait_list, event, error);
  }
  struct mapping_task task = {b->root->mem, m->id};
  unsigned char *pointer = b->root->host + m->from;
  pthread_mutex_unlock(&mutex);

  cl_int status = bring_and_map(queue, task, waits, wait_list, map_image, &call);
  if (error) *error = status;
  return status == CL_SUCCESS ? pointer : NULL;
}
