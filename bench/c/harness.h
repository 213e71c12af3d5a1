// What the C and C++ programs of the bench share: the clock, OpenCL's device and kernels, and the loop that answers.
//
// A program is started as `program PLATFORM DEVICE kernels.cl`, says "ready", and then answers each line
// "NAME COUNT" of its standard input with the nanoseconds that COUNT operations took. It ends with its input.
#ifndef SAMEPAGE_BENCH_HARNESS_H
#define SAMEPAGE_BENCH_HARNESS_H

#ifndef _GNU_SOURCE // g++ defines it
#define _GNU_SOURCE
#endif
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { WIDTH = 3840, HEIGHT = 2160, PIXELS = WIDTH * HEIGHT, FRAME = PIXELS * 4 };

// One thing that is measured.
struct operation {
  const char *name;
  void (*setup)(void);       // once, before the first run
  void (*run)(long count);   // what the clock is about
  void (*settle)(void);      // after each run, outside of the clock; may be NULL
  long most;                 // operations of one run at most; 0 for any number
  void (*prepare)(void);     // before each run, outside of the clock; may be NULL
};

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static cl_program program;

static inline void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static inline void check(cl_int code, const char *function) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", function, code);
  exit(1);
}

// Zeroed pages, as host.allocate makes them.
static inline void *map_pages(size_t length) {
  void *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) fail("mmap failed");
  return pages;
}

// A frame of random bytes.
static inline unsigned char *make_frame(void) {
  unsigned char *frame = (unsigned char *)map_pages(FRAME);
  FILE *random = fopen("/dev/urandom", "rb");
  if (random == NULL || fread(frame, 1, FRAME, random) != FRAME) fail("/dev/urandom cannot be read");
  fclose(random);
  return frame;
}

// Fails unless one run makes every byte its inverse.
static inline void check_inverts(unsigned char *frame, void (*run)(long count)) {
  unsigned char *before = (unsigned char *)map_pages(FRAME);
  memcpy(before, frame, FRAME);
  run(1);
  for (size_t i = 0; i < FRAME; i++) {
    if (frame[i] != 255 - before[i]) fail("the frame is not the inverse of what it was");
  }
  munmap(before, FRAME);
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

static inline uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline uint64_t measure(const struct operation *operation, long count) {
  uint64_t spent = 0;
  while (count > 0) {
    const long n = operation->most > 0 && operation->most < count ? operation->most : count;
    if (operation->prepare != NULL) operation->prepare();
    const uint64_t start = now();
    operation->run(n);
    spent += now() - start;
    if (operation->settle != NULL) operation->settle();
    count -= n;
  }
  return spent;
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
  puts("ready");
  fflush(stdout);

  char *is_set_up = (char *)calloc(length, 1);
  char name[64];
  long count;
  while (scanf("%63s %ld", name, &count) == 2) {
    size_t i = 0;
    while (i < length && strcmp(operations[i].name, name) != 0) i++;
    if (i == length) {
      fprintf(stderr, "no operation %s\n", name);
      return 1;
    }
    if (!is_set_up[i]) operations[i].setup();
    is_set_up[i] = 1;
    printf("%llu\n", (unsigned long long)measure(&operations[i], count));
    fflush(stdout);
  }
  free(is_set_up);
  return 0;
}

#define SERVE(operations) \
  int main(int argc, char **argv) { return serve(argc, argv, operations, sizeof operations / sizeof *operations); }

#endif
