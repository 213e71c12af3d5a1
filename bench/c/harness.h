// What the OpenCL programs of the bench share: the device and its kernels.
//
// A program is started as `program PLATFORM DEVICE kernels.cl`; serve.h says what it answers.
#ifndef SAMEPAGE_BENCH_HARNESS_H
#define SAMEPAGE_BENCH_HARNESS_H

#include "serve.h"
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static cl_program program;

static inline void check(cl_int code, const char *function) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", function, code);
  exit(1);
}

// The device of exactly these names.
static inline void find_device(const char *platform_name, const char *device_name) {
  cl_platform_id platforms[16];
  cl_uint platform_count = 0;
  check(clGetPlatformIDs(16, platforms, &platform_count), "clGetPlatformIDs");
  for (cl_uint p = 0; p < platform_count && p < 16; p++) {
    char name[1024];
    check(clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof name, name, NULL), "clGetPlatformInfo");
    if (strcmp(name, platform_name) != 0) continue;
    cl_device_id devices[16];
    cl_uint device_count = 0;
    check(clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, devices, &device_count), "clGetDeviceIDs");
    for (cl_uint d = 0; d < device_count && d < 16; d++) {
      check(clGetDeviceInfo(devices[d], CL_DEVICE_NAME, sizeof name, name, NULL), "clGetDeviceInfo");
      if (strcmp(name, device_name) != 0) continue;
      device = devices[d];
      return;
    }
  }
  fail("no such device");
}

static inline void build_program(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) fail("kernels.cl cannot be read");
  static char text[65536];
  const size_t length = fread(text, 1, sizeof text, file);
  fclose(file);
  const char *source = text;
  cl_int code;
  program = clCreateProgramWithSource(context, 1, &source, &length, &code);
  check(code, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
}

static inline cl_kernel make_kernel(const char *name) {
  cl_int code;
  cl_kernel kernel = clCreateKernel(program, name, &code);
  check(code, "clCreateKernel");
  return kernel;
}

static inline cl_mem make_buffer(cl_mem_flags flags, size_t length, void *host) {
  cl_int code;
  cl_mem mem = clCreateBuffer(context, flags | CL_MEM_READ_WRITE, length, host, &code);
  check(code, "clCreateBuffer");
  return mem;
}

static inline int serve(int argc, char **argv, const struct operation *operations, size_t length) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s PLATFORM DEVICE kernels.cl\n", argv[0]);
    return 2;
  }
  find_device(argv[1], argv[2]);
  cl_int code;
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "clCreateContext");
  queue = clCreateCommandQueue(context, device, 0, &code);
  check(code, "clCreateCommandQueue");
  build_program(argv[3]);
  return answer(operations, length);
}

#define SERVE(operations) \
  int main(int argc, char **argv) { return serve(argc, argv, operations, sizeof operations / sizeof *operations); }

#endif
