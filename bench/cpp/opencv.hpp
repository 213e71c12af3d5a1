// What the OpenCV programs of the bench share: OpenCV told of the harness's OpenCL context, and buffers over host memory.
#ifndef SAMEPAGE_BENCH_OPENCV_HPP
#define SAMEPAGE_BENCH_OPENCV_HPP

#include "../c/harness.h"
#include <opencv2/core.hpp>
#include <opencv2/core/ocl.hpp>

// Keeps the compiler from leaving out what no code reads.
static inline void look_at(const void *object) { asm volatile("" : : "r"(object) : "memory"); }

// OpenCV uses the harness's context from now on, in this thread.
static inline void attach() {
  static bool is_attached = false;
  if (is_attached) return;
  is_attached = true;
  cl_platform_id platform;
  char name[1024];
  check(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL), "clGetDeviceInfo");
  check(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL), "clGetPlatformInfo");
  check(clRetainContext(context), "clRetainContext"); // attachContext takes a share over
  check(clRetainDevice(device), "clRetainDevice");
  cv::ocl::attachContext(name, platform, context, device);
}

#endif
