// Zeroed pages and back; nothing touches them.
#include "harness.h"

static void setup(void) {}

static void map_unmap(size_t length, long count) {
  for (long i = 0; i < count; i++) {
    void *pages = map_pages(length);
    if (munmap(pages, length) != 0) fail("munmap failed");
  }
}

static void page(long count) { map_unmap(4096, count); }
static void whole_frame(long count) { map_unmap(FRAME, count); }

static const struct operation OPERATIONS[] = {
  {"page", setup, page, NULL, 0, NULL},
  {"frame", setup, whole_frame, NULL, 0, NULL},
};

SERVE(OPERATIONS)
