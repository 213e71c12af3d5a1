// Pages of the host as CUDA's: registered, asked for their address, unregistered; and those that stay registered.
#include "cuda.h"

static unsigned char *frame;

static void setup(void) { frame = make_frame(); }

static void register_unregister(long count) {
  for (long i = 0; i < count; i++) {
    check(cudaHostRegister(frame, FRAME, cudaHostRegisterPortable | cudaHostRegisterMapped), "cudaHostRegister");
    if (alias_of(frame) == NULL) fail("the pages have no address");
    check(cudaHostUnregister(frame), "cudaHostUnregister");
  }
}

static unsigned char *kept;

static void setup_kept(void) {
  kept = make_frame();
  check(cudaHostRegister(kept, FRAME, cudaHostRegisterPortable | cudaHostRegisterMapped), "cudaHostRegister");
}

static void alias(long count) {
  for (long i = 0; i < count; i++) {
    if (alias_of(kept) == NULL) fail("the pages have no address");
  }
}

static const struct operation OPERATIONS[] = {
  {"register_unregister", setup, register_unregister, NULL, 0, NULL},
  {"alias", setup_kept, alias, NULL, 0, NULL},
};

SERVE(OPERATIONS)
