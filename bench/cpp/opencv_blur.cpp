// Images in host memory as UMats: over the same bytes, and by copying; alone, and blurred by OpenCV's OpenCL kernels.
#include "opencv.hpp"
#include <opencv2/imgproc.hpp>

// The queue that OpenCV submits to.
static cl_command_queue opencv_queue() { return (cl_command_queue)cv::ocl::Queue::getDefault().ptr(); }

// One size: an image, and another one for the result.
template <int COLUMNS, int ROWS, int CHANNELS>
struct Images {
  static constexpr size_t STEP = (size_t)COLUMNS * CHANNELS, BYTES = STEP * ROWS;
  static constexpr int TYPE = CV_8UC(CHANNELS);

  static inline unsigned char *src, *dst;
  // What a program that copies makes once.
  static inline cv::UMat src_copy, dst_copy;

  // A buffer over host memory, and a UMat over that.
  struct Shared {
    cl_mem mem;
    cv::UMat umat;
    unsigned char *host;

    explicit Shared(unsigned char *host) : mem(make_buffer(CL_MEM_USE_HOST_PTR, BYTES, host)), host(host) {
      cv::ocl::convertFromBuffer(mem, STEP, ROWS, COLUMNS, TYPE, umat);
    }

    // The host sees what was written by OpenCL's own rule: once it is mapped.
    void publish() {
      cl_int code;
      cl_event unmapped;
      void *pixels = clEnqueueMapBuffer(opencv_queue(), mem, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &code);
      check(code, "clEnqueueMapBuffer");
      check(clEnqueueUnmapMemObject(opencv_queue(), mem, pixels, 0, NULL, &unmapped), "clEnqueueUnmapMemObject");
      check(clWaitForEvents(1, &unmapped), "clWaitForEvents");
      check(clReleaseEvent(unmapped), "clReleaseEvent");
    }

    ~Shared() {
      umat.release();
      check(clReleaseMemObject(mem), "clReleaseMemObject");
    }
  };

  static cv::Mat over(unsigned char *bytes) { return cv::Mat(ROWS, COLUMNS, TYPE, bytes, STEP); }

  static void setup() {
    if (src != NULL) return;
    attach();
    src = (unsigned char *)map_pages(BYTES);
    dst = (unsigned char *)map_pages(BYTES);
    cv::randu(over(src), 0, 256);
    over(src).copyTo(src_copy);
    dst_copy.create(ROWS, COLUMNS, TYPE);
  }

  static void share(long count) {
    for (long i = 0; i < count; i++) Shared(src).publish();
  }

  static void copy(long count) {
    for (long i = 0; i < count; i++) {
      over(src).copyTo(src_copy);
      cv::Mat back = over(dst);
      src_copy.copyTo(back);
    }
  }

  static void share_blur(long count) {
    for (long i = 0; i < count; i++) {
      Shared from(src), to(dst);
      cv::GaussianBlur(from.umat, to.umat, cv::Size(5, 5), 0);
      to.publish();
      look_at(dst);
    }
  }

  static void copy_blur(long count) {
    for (long i = 0; i < count; i++) {
      over(src).copyTo(src_copy);
      cv::GaussianBlur(src_copy, dst_copy, cv::Size(5, 5), 0);
      cv::Mat back = over(dst);
      dst_copy.copyTo(back);
      look_at(dst);
    }
  }

  // Its kernels round otherwise than the CPU's code: by one at most.
  static void check_blurs(void (*run)(long count)) {
    setup();
    cv::Mat expected;
    cv::GaussianBlur(over(src), expected, cv::Size(5, 5), 0);
    over(dst).setTo(0);
    run(1);
    if (cv::norm(expected, over(dst), cv::NORM_INF) > 1) fail("the image is not blurred");
  }

  static void setup_share_blur() { check_blurs(share_blur); }
  static void setup_copy_blur() { check_blurs(copy_blur); }
};

#define SIZE(name, ...)                                                                       \
  {"share_" name, Images<__VA_ARGS__>::setup, Images<__VA_ARGS__>::share, NULL, 0, NULL},     \
  {"copy_" name, Images<__VA_ARGS__>::setup, Images<__VA_ARGS__>::copy, NULL, 0, NULL},       \
  {"share_blur_" name, Images<__VA_ARGS__>::setup_share_blur, Images<__VA_ARGS__>::share_blur, NULL, 0, NULL}, \
  {"copy_blur_" name, Images<__VA_ARGS__>::setup_copy_blur, Images<__VA_ARGS__>::copy_blur, NULL, 0, NULL}

static const struct operation OPERATIONS[] = {
  SIZE("seed", 512, 400, 1),
  SIZE("1080p", 1920, 1080, 3),
  SIZE("4k", 3840, 2160, 4),
};

SERVE(OPERATIONS)
