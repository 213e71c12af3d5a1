/*
 * The buffers that the layer knows and the movement of their bytes. Nothing here calls the driver.
 */
#ifndef BYTES_H
#define BYTES_H
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>

enum {
  PAGE = 4096,
  SPOILT = 0xa5, /* what a map that invalidates shows */
};

/* The bytes of a box: so many rows of so many bytes, in so many slices. What lies between them belongs to others. */
struct box {
  size_t row, rows, row_pitch, slices, slice_pitch;
};

/* A mapped range of a buffer, as offsets in its root, from the call of the map until the unmap has been executed. */
struct mapping {
  struct mapping *next;
  cl_ulong id;
  cl_mem mem; /* what was mapped: the root or a sub-buffer */
  size_t from, to;
  struct box box; /* what of it moves */
  cl_map_flags flags;
  int unmapping; /* an unmap was enqueued */
};

/* A host-pointer buffer or image, or a sub-buffer. Known from its creation until the driver destroys it. */
struct buffer {
  struct buffer *next;
  cl_mem mem;
  struct buffer *root; /* of a sub-buffer, the buffer that it is a part of; else itself */
  size_t origin, size; /* in the root */
  size_t references;   /* the program's own and, in a root, one for each sub-buffer that the program has */
  size_t element, row_pitch, slice_pitch; /* of an image; else 0 */
  /* A root's only: */
  cl_context context;
  cl_bool uses_svm;
  unsigned char *host, *private, *agreed; /* the program's bytes, the device's, those they last agreed on */
  struct mapping *mappings;
};

#pragma GCC visibility push(hidden)

/*
 * Guards the buffers and all in them. Never held over a call of the driver, which may run a callback or a native kernel
 * that takes it.
 */
extern pthread_mutex_t mutex;

/* With the mutex held: */
struct buffer *find(cl_mem mem);
struct mapping *add_mapping(struct buffer *b, size_t offset, struct box box, cl_map_flags flags);
struct mapping *find_mapping(struct buffer *root, cl_ulong id);
struct mapping *find_mapped(struct buffer *b, const void *pointer);
void remove_mapping(struct buffer *root, cl_ulong id);
void bring(struct buffer *root, const struct mapping *m);
void spoil(struct buffer *root, const struct mapping *m);
void send(struct buffer *root, const struct mapping *m);

/* Without it: */
void add_buffer(struct buffer *b);
void remove_buffer(struct buffer *b);
void settle(cl_context context, int send_too);

#pragma GCC visibility pop
#endif
