// A clip through a Gaussian of OpenCL's: clip.h says how. One operation is a whole clip.
#include "clip.h"

static cl_kernel gaussian;

static void setup(void) {
  if (gaussian != NULL) return;
  av_log_set_level(AV_LOG_QUIET);
  gaussian = make_kernel("gaussian");
}

static void work(uint8_t *from, int stride, uint8_t *to, int to_stride, int width, int height, int plane) {
  (void)plane;
  const int numbers[4] = {stride, to_stride, width, height};
  run_plane(gaussian, from, to, numbers, 4);
}

static void clips(long count) {
  for (long i = 0; i < count; i++) one_clip();
}

static const struct operation OPERATIONS[] = {
  {"clip", setup, clips, NULL, 0, NULL},
};

SERVE(OPERATIONS)
