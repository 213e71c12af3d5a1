// A kernel with six arguments that does nothing.
#include "cuda.h"

enum { BYTES = 64, MOST = 200 };

static cudaKernel_t six;
static unsigned char *a, *b, *to;

static void setup(void) {
  six = get_kernel("six");
  a = make_device(BYTES);
  b = make_device(BYTES);
  to = make_device(BYTES);
}

static void launch_six(long count) {
  int n = BYTES;
  unsigned char add = 1;
  float scale = 0.5f;
  for (long i = 0; i < count; i++) {
    void *arguments[] = {&a, &b, &to, &n, &add, &scale};
    launch(six, 1, BYTES, arguments);
  }
}

static const struct operation OPERATIONS[] = {
  {"six", setup, launch_six, finish, MOST, NULL},
};

SERVE(OPERATIONS)
