// A frame as a Mat, and a buffer as a UMat: made and destroyed.
#include "opencv.hpp"

static unsigned char *frame;
static cl_mem mem;

static void setup_mat() { frame = make_frame(); }

static void mat(long count) {
  for (long i = 0; i < count; i++) {
    cv::Mat over(HEIGHT, WIDTH, CV_8UC4, frame, (size_t)WIDTH * 4);
    look_at(&over);
  }
}

static void setup_umat() {
  attach();
  mem = make_buffer(0, FRAME, NULL);
}

static void umat(long count) {
  for (long i = 0; i < count; i++) {
    cv::UMat over;
    cv::ocl::convertFromBuffer(mem, (size_t)WIDTH * 4, HEIGHT, WIDTH, CV_8UC4, over);
    look_at(&over);
  }
}

static const struct operation OPERATIONS[] = {
  {"mat", setup_mat, mat, NULL, 0, NULL},
  {"umat", setup_umat, umat, NULL, 0, NULL},
};

SERVE(OPERATIONS)
