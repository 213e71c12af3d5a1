// An event recorded and waited for: alone, and behind a kernel of one thread.
#include "cuda.h"

static cudaEvent_t sleeping, spinning;
static cudaKernel_t touch;
static unsigned char *byte;

static void setup(void) {
  if (byte != NULL) return;
  sleeping = make_event(cudaEventBlockingSync);
  spinning = make_event(0);
  touch = get_kernel("touch");
  byte = make_device(1);
}

static void record_wait(long count) {
  for (long i = 0; i < count; i++) wait_for(sleeping);
}

static void record_spin(long count) {
  for (long i = 0; i < count; i++) wait_for(spinning);
}

static void launch_and_wait(cudaEvent_t event, long count) {
  for (long i = 0; i < count; i++) {
    void *arguments[] = {&byte};
    launch(touch, 1, 1, arguments);
    wait_for(event);
  }
}

static void launch_wait(long count) { launch_and_wait(sleeping, count); }
static void launch_spin(long count) { launch_and_wait(spinning, count); }

static const struct operation OPERATIONS[] = {
  {"record_wait", setup, record_wait, NULL, 0, NULL},
  {"record_spin", setup, record_spin, NULL, 0, NULL},
  {"launch_wait", setup, launch_wait, NULL, 0, NULL},
  {"launch_spin", setup, launch_spin, NULL, 0, NULL},
};

SERVE(OPERATIONS)
