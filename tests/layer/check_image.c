/*
 * Shows what a host-pointer image of PoCL does: by itself (`check_image none`) or under the layer, in one of its modes.
 * Prints a line for each case, `ok` or `FAILED`; exits with 1 if any failed.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 61, HEIGHT = 7, PITCH = 64, SIZE = PITCH * HEIGHT };

static const char *const source =
    "kernel void fill(write_only image2d_t to, uint seed) {"
    "  int2 at = (int2)(get_global_id(0), get_global_id(1));"
    "  write_imageui(to, at, (uint4)((seed + at.x + 7 * at.y) & 255)); }";

static cl_command_queue queue;
static cl_kernel kernel;
static int failed;

static void must(cl_int status, const char *what) {
  if (status == CL_SUCCESS) return;
  printf("FAILED %s: error %d\n", what, status);
  exit(1);
}
#define MUST(call) must((call), #call)

static void expect(int holds, const char *what) {
  printf("%s %s\n", holds ? "ok" : "FAILED", what);
  if (!holds) failed = 1;
}

static unsigned char pixel(unsigned seed, int x, int y) { return seed + x + 7 * y; }

static int is_filled(const unsigned char *bytes, unsigned seed) {
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++)
      if (((volatile const unsigned char *)bytes)[y * PITCH + x] != pixel(seed, x, y)) return 0;
  return 1;
}

static int padding_is(const unsigned char *bytes, unsigned char value) {
  for (int y = 0; y < HEIGHT; y++)
    for (int x = WIDTH; x < PITCH; x++)
      if (bytes[y * PITCH + x] != value) return 0;
  return 1;
}

/* Submits the kernel, and waits as no layer can notice. */
static void fill(cl_mem image, cl_uint seed) {
  const size_t items[] = {WIDTH, HEIGHT};
  cl_event event;
  cl_int state = CL_QUEUED;
  MUST(clSetKernelArg(kernel, 0, sizeof image, &image));
  MUST(clSetKernelArg(kernel, 1, sizeof seed, &seed));
  MUST(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, items, NULL, 0, NULL, &event));
  MUST(clFlush(queue));
  while (state > CL_COMPLETE) {
    usleep(1000);
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
  }
  MUST(clReleaseEvent(event));
  usleep(50000);
}

static unsigned char *map(cl_mem image, cl_map_flags flags, size_t *pitch) {
  const size_t origin[3] = {0, 0, 0}, region[3] = {WIDTH, HEIGHT, 1};
  cl_int status;
  unsigned char *at = clEnqueueMapImage(queue, image, CL_TRUE, flags, origin, region, pitch, NULL, 0, NULL, NULL, &status);
  must(status, "clEnqueueMapImage");
  return at;
}

static void unmap(cl_mem image, void *at) {
  MUST(clEnqueueUnmapMemObject(queue, image, at, 0, NULL, NULL));
  MUST(clFinish(queue));
}

static void read_pixels(cl_mem image, unsigned char *bytes) {
  const size_t origin[3] = {0, 0, 0}, region[3] = {WIDTH, HEIGHT, 1};
  MUST(clEnqueueReadImage(queue, image, CL_TRUE, origin, region, PITCH, 0, bytes, 0, NULL, NULL));
}

int main(int count, char **words) {
  const int aliases = count < 2 || !strcmp(words[1], "none");
  const int shows = aliases || !strcmp(words[1], "kernel"); /* results appear by themselves */
  cl_platform_id platforms[8], platform = NULL;
  cl_uint found = 0;
  cl_device_id device;
  cl_int status;
  MUST(clGetPlatformIDs(8, platforms, &found));
  for (cl_uint i = 0; i < found; i++) {
    char name[64] = "";
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL);
    if (strstr(name, "Portable")) platform = platforms[i];
  }
  MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  must(status, "clCreateContext");
  queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
  must(status, "clCreateCommandQueueWithProperties");
  cl_program program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &status);
  MUST(clBuildProgram(program, 1, &device, "", NULL, NULL));
  kernel = clCreateKernel(program, "fill", &status);
  must(status, "clCreateKernel");

  unsigned char *bytes = aligned_alloc(4096, 4096), seen[SIZE];
  memset(bytes, 9, 4096);
  const cl_image_format format = {CL_R, CL_UNSIGNED_INT8};
  const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT,
                              .image_row_pitch = PITCH};
  cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, &format, &desc, bytes, &status);
  must(status, "clCreateImage");

  fill(image, 1);
  for (int tries = 0; shows && !is_filled(bytes, 1) && tries < 2000; tries++) usleep(1000);
  expect(is_filled(bytes, 1) == shows, shows ? "a kernel's pixels are seen without a call" : "they are not seen");
  memset(bytes + WIDTH, 5, PITCH - WIDTH); /* the padding is the host's */
  for (int y = 1; y < HEIGHT; y++) memset(bytes + y * PITCH + WIDTH, 5, PITCH - WIDTH);
  size_t pitch = 0;
  unsigned char *at = map(image, CL_MAP_READ | CL_MAP_WRITE, &pitch);
  expect(at == bytes && pitch == PITCH, "a map lies in the host's memory");
  expect(is_filled(bytes, 1), "a map brings the pixels");
  expect(padding_is(bytes, 5), "and leaves what lies between the rows alone");
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++) at[y * PITCH + x] = pixel(2, x, y);
  unmap(image, at);
  read_pixels(image, seen);
  expect(is_filled(seen, 2), "an unmap sends what the host wrote");

  at = map(image, CL_MAP_READ, &pitch);
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++) at[y * PITCH + x] = pixel(3, x, y);
  if (!aliases) {
    read_pixels(image, seen);
    expect(is_filled(seen, 2), "what is written to a map for reading is not the device's");
  }
  unmap(image, at);
  MUST(clReleaseMemObject(image));
  MUST(clReleaseKernel(kernel));
  MUST(clReleaseProgram(program));
  MUST(clReleaseCommandQueue(queue));
  MUST(clReleaseContext(context));
  free(bytes);
  return failed;
}
