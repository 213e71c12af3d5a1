#include "bytes.h"
#include <stdlib.h>
#include <string.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct buffer *buffers;
static cl_ulong mappings_made;

struct buffer *find(cl_mem mem) {
  struct buffer *b = buffers;
  while (b && b->mem != mem) b = b->next;
  return b;
}

void add_buffer(struct buffer *b) {
  pthread_mutex_lock(&mutex);
  b->next = buffers;
  buffers = b;
  if (b->root != b) b->root->references++;
  pthread_mutex_unlock(&mutex);
}

void remove_buffer(struct buffer *gone) {
  struct buffer **b = &buffers;
  pthread_mutex_lock(&mutex);
  while (*b != gone) b = &(*b)->next;
  *b = gone->next;
  while (gone->mappings) remove_mapping(gone, gone->mappings->id);
  pthread_mutex_unlock(&mutex);
}

/* Null if the box is not inside the buffer. */
struct mapping *add_mapping(struct buffer *b, size_t offset, struct box box, cl_map_flags flags) {
  size_t size = (box.slices - 1) * box.slice_pitch + (box.rows - 1) * box.row_pitch + box.row;
  if (offset > b->size || size > b->size - offset) return NULL;
  struct mapping *m = malloc(sizeof *m);
  if (!m) abort();
  size_t from = b->origin + offset;
  *m = (struct mapping){b->root->mappings, ++mappings_made, b->mem, from, from + size, box, flags, 0};
  return b->root->mappings = m;
}

struct mapping *find_mapping(struct buffer *root, cl_ulong id) {
  struct mapping *m = root->mappings;
  while (m && m->id != id) m = m->next;
  return m;
}

/* The mapping of this buffer that the program knows by its pointer. */
struct mapping *find_mapped(struct buffer *b, const void *pointer) {
  struct mapping *m = b->root->mappings;
  while (m && (m->mem != b->mem || b->root->host + m->from != pointer || m->unmapping)) m = m->next;
  return m;
}

void remove_mapping(struct buffer *root, cl_ulong id) {
  struct mapping **m = &root->mappings, *removed;
  while (*m && (*m)->id != id) m = &(*m)->next;
  if (!(removed = *m)) return;
  *m = removed->next;
  free(removed);
}

/* Where a row of the mapped box begins in the root. */
static size_t row_of(const struct mapping *m, size_t slice, size_t row) {
  return m->from + slice * m->box.slice_pitch + row * m->box.row_pitch;
}

static void move_row(struct buffer *root, size_t begin, size_t end, unsigned char *to, const unsigned char *from) {
  for (size_t i = begin; i < end; i++) {
    if (to[i] != from[i]) to[i] = from[i];
    root->agreed[i] = from[i];
  }
}

/* Makes the mapped box of one side, and `agreed`, what the other's is. The host's memory may be read-only. */
static void move(struct buffer *root, const struct mapping *m, unsigned char *to, const unsigned char *from) {
  for (size_t slice = 0; slice < m->box.slices; slice++)
    for (size_t row = 0; row < m->box.rows; row++) {
      size_t begin = row_of(m, slice, row);
      move_row(root, begin, begin + m->box.row, to, from);
    }
}

void spoil(struct buffer *root, const struct mapping *m) {
  for (size_t slice = 0; slice < m->box.slices; slice++)
    for (size_t row = 0; row < m->box.rows; row++) memset(root->host + row_of(m, slice, row), SPOILT, m->box.row);
}

void bring(struct buffer *root, const struct mapping *m) { move(root, m, root->host, root->private); }

void send(struct buffer *root, const struct mapping *m) { move(root, m, root->private, root->host); }

/* Brings what the device changed in [from, to) and, if asked, sends what the host changed. */
static void settle_range(struct buffer *root, size_t from, size_t to, int send_too) {
  for (size_t end; from < to; from = end) {
    end = to - from > PAGE ? from + PAGE : to;
    if (!memcmp(root->private + from, root->agreed + from, end - from) &&
        !(send_too && memcmp(root->host + from, root->agreed + from, end - from)))
      continue;
    for (size_t i = from; i < end; i++) {
      /* Read once: a kernel may be writing it. */
      unsigned char device = *(volatile unsigned char *)(root->private + i);
      if (device != root->agreed[i])
        root->host[i] = root->agreed[i] = device;
      else if (send_too && root->host[i] != device)
        root->private[i] = root->agreed[i] = root->host[i];
    }
  }
}

/* The same for those parts of [from, to) that none of the mappings covers. */
static void settle_unmapped(struct buffer *root, const struct mapping *m, size_t from, size_t to, int send_too) {
  for (; m; m = m->next) {
    if (m->to <= from || to <= m->from) continue;
    if (from < m->from) settle_unmapped(root, m->next, from, m->from, send_too);
    from = m->to;
  }
  settle_range(root, from, to, send_too);
}

/* The same for every buffer that the program has in a context. */
void settle(cl_context context, int send_too) {
  pthread_mutex_lock(&mutex);
  for (struct buffer *b = buffers; b; b = b->next)
    if (b->root == b && b->context == context && b->references) settle_unmapped(b, b->mappings, 0, b->size, send_too);
  pthread_mutex_unlock(&mutex);
}
