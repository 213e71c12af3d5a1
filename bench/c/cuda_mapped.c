// A frame of mapped pinned memory that a kernel reads, and one that it writes; and the copies of the same bytes. The
// clock sees the end of the last.
#include "cuda.h"

enum { WORD = 0x5a5aa5a5 };

static unsigned char *frame, *mapped, *device, *sum;
static cudaKernel_t read_all, write_all;

static void setup(void) {
  if (frame != NULL) return;
  frame = make_pinned_frame();
  mapped = alias_of(frame);
  device = make_device(FRAME);
  sum = make_device(4);
  read_all = get_kernel("read_all");
  write_all = get_kernel("write_all");
}

static void read_mapped(long count) {
  unsigned n = PIECES;
  for (long i = 0; i < count; i++) {
    void *arguments[] = {&mapped, &n, &sum};
    launch(read_all, GRID, BLOCK, arguments);
  }
  finish();
}

static void write_mapped(long count) {
  unsigned n = PIECES, word = WORD;
  for (long i = 0; i < count; i++) {
    void *arguments[] = {&mapped, &n, &word};
    launch(write_all, GRID, BLOCK, arguments);
  }
  finish();
}

static void copy_in(long count) {
  for (long i = 0; i < count; i++) {
    check(cudaMemcpyAsync(device, frame, FRAME, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
  }
  finish();
}

static void copy_out(long count) {
  for (long i = 0; i < count; i++) {
    check(cudaMemcpyAsync(frame, device, FRAME, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
  }
  finish();
}

static void setup_read(void) {
  setup();
  uint32_t expected = 0, found = 0;
  for (size_t i = 0; i < FRAME / 4; i++) expected ^= ((const uint32_t *)frame)[i];
  check(cudaMemsetAsync(sum, 0, 4, stream), "cudaMemsetAsync");
  read_mapped(1);
  check(cudaMemcpy(&found, sum, 4, cudaMemcpyDefault), "cudaMemcpy");
  if (found != expected) fail("the kernel has read something else");
}

static void setup_write(void) {
  setup();
  write_mapped(1);
  for (size_t i = 0; i < FRAME / 4; i++) {
    if (((const uint32_t *)frame)[i] != WORD) fail("the kernel has not written every word");
  }
}

static const struct operation OPERATIONS[] = {
  {"read", setup_read, read_mapped, NULL, 0, NULL},
  {"write", setup_write, write_mapped, NULL, 0, NULL},
  {"copy_in", setup, copy_in, NULL, 0, NULL},
  {"copy_out", setup, copy_out, NULL, 0, NULL},
};

SERVE(OPERATIONS)
