// A frame through one kernel and back: in mapped pinned memory, in pages that are registered for it, and by copies from
// and to pinned and pageable memory.
#include "cuda.h"

static cudaKernel_t invert;
static unsigned char *pinned, *mapped, *pageable, *device;

static void setup(void) {
  if (pinned != NULL) return;
  invert = get_kernel("invert");
  pinned = make_pinned_frame();
  mapped = alias_of(pinned);
  pageable = make_frame();
  device = make_device(FRAME);
}

static void run_invert(unsigned char *bytes) {
  unsigned n = PIECES;
  void *arguments[] = {&bytes, &n};
  launch(invert, GRID, BLOCK, arguments);
}

// The host looks at one byte.
static void look(const unsigned char *frame, unsigned char before) {
  if (((const volatile unsigned char *)frame)[FRAME - 1] != 255 - before) fail("the frame was not inverted");
}

static void in_mapped(long count) {
  for (long i = 0; i < count; i++) {
    const unsigned char before = pinned[FRAME - 1];
    run_invert(mapped);
    finish();
    look(pinned, before);
  }
}

static void in_registered(long count) {
  for (long i = 0; i < count; i++) {
    const unsigned char before = pageable[FRAME - 1];
    check(cudaHostRegister(pageable, FRAME, cudaHostRegisterPortable | cudaHostRegisterMapped), "cudaHostRegister");
    run_invert(alias_of(pageable));
    finish();
    check(cudaHostUnregister(pageable), "cudaHostUnregister");
    look(pageable, before);
  }
}

static void copy(void *to, const void *from) {
  check(cudaMemcpyAsync(to, from, FRAME, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
}

static void by_pinned_copies(long count) {
  for (long i = 0; i < count; i++) {
    const unsigned char before = pinned[FRAME - 1];
    copy(device, pinned);
    run_invert(device);
    copy(pinned, device);
    finish();
    look(pinned, before);
  }
}

static void by_pageable_copies(long count) {
  for (long i = 0; i < count; i++) {
    const unsigned char before = pageable[FRAME - 1];
    copy(device, pageable);
    run_invert(device);
    copy(pageable, device);
    finish();
    look(pageable, before);
  }
}

static void setup_mapped(void) { setup(); check_inverts(pinned, in_mapped); }
static void setup_registered(void) { setup(); check_inverts(pageable, in_registered); }
static void setup_pinned(void) { setup(); check_inverts(pinned, by_pinned_copies); }
static void setup_pageable(void) { setup(); check_inverts(pageable, by_pageable_copies); }

static const struct operation OPERATIONS[] = {
  {"mapped", setup_mapped, in_mapped, NULL, 0, NULL},
  {"registered", setup_registered, in_registered, NULL, 0, NULL},
  {"pinned", setup_pinned, by_pinned_copies, NULL, 0, NULL},
  {"pageable", setup_pageable, by_pageable_copies, NULL, 0, NULL},
};

SERVE(OPERATIONS)
