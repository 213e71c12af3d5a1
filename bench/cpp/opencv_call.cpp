// A function of OpenCV's that does next to nothing, and one that throws.
#include "opencv.hpp"
#include <opencv2/imgproc.hpp>

static void setup() {}

static void call(long count) {
  int major = 0;
  for (long i = 0; i < count; i++) major += cv::getVersionMajor();
  look_at(&major);
}

// A Mat of doubles is none that cvtColor takes.
static void throw_catch(long count) {
  cv::Mat doubles(16, 16, CV_64FC3), grey;
  for (long i = 0; i < count; i++) {
    try {
      cv::cvtColor(doubles, grey, cv::COLOR_BGR2GRAY);
      fail("cvtColor did not throw");
    } catch (const cv::Exception &exception) {
      look_at(&exception);
    }
  }
}

static const struct operation OPERATIONS[] = {
  {"call", setup, call, NULL, 0, NULL},
  {"throw_catch", setup, throw_catch, NULL, 0, NULL},
};

SERVE(OPERATIONS)
