/* A surface exported, imported by another display, and given back, by libva alone: nanoseconds of the best of ten laps. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <va/va.h>
#include <va/va_drm.h>
#include <va/va_drmcommon.h>

static VADisplay opened(const char *node) {
  int major, minor;
  VADisplay display = vaGetDisplayDRM(open(node, O_RDWR | O_CLOEXEC));
  vaSetInfoCallback(display, NULL, NULL);
  if (vaInitialize(display, &major, &minor) != VA_STATUS_SUCCESS) exit(1);
  return display;
}
static VASurfaceAttrib attribute(VASurfaceAttribType type, int value) {
  return (VASurfaceAttrib) { type, VA_SURFACE_ATTRIB_SETTABLE, { VAGenericValueTypeInteger, { .i = value } } };
}
static int share(VADisplay from, VADisplay to, VASurfaceID surface) {
  VADRMPRIMESurfaceDescriptor d;
  VASurfaceID imported;
  const unsigned flags = VA_EXPORT_SURFACE_COMPOSED_LAYERS | VA_EXPORT_SURFACE_READ_ONLY;
  if (vaSyncSurface(from, surface)) return 1;
  if (vaExportSurfaceHandle(from, surface, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2, flags, &d)) return 1;
  VASurfaceAttrib list[] = {
    attribute(VASurfaceAttribPixelFormat, VA_FOURCC_NV12),
    attribute(VASurfaceAttribMemoryType, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2),
    { VASurfaceAttribExternalBufferDescriptor, VA_SURFACE_ATTRIB_SETTABLE, { VAGenericValueTypePointer, { .p = &d } } },
  };
  int failed = vaCreateSurfaces(to, VA_RT_FORMAT_YUV420, d.width, d.height, &imported, 1, list, 3);
  for (unsigned i = 0; i < d.num_objects; i++) close(d.objects[i].fd);
  return failed || vaDestroySurfaces(to, &imported, 1);
}
int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const int rounds = atoi(argv[2]);
  VADisplay from = opened(argv[1]), to = opened(argv[1]);
  VASurfaceAttrib list[] = {
    attribute(VASurfaceAttribPixelFormat, VA_FOURCC_NV12),
    attribute(VASurfaceAttribMemoryType, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2),
  };
  VASurfaceID surface;
  if (vaCreateSurfaces(from, VA_RT_FORMAT_YUV420, 1920, 1080, &surface, 1, list, 2)) return 1;
  double least = 1e18;
  for (int lap = 0; lap < 10; lap++) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < rounds; i++) if (share(from, to, surface)) return 1;
    clock_gettime(CLOCK_MONOTONIC, &b);
    double each = ((b.tv_sec - a.tv_sec) * 1e9 + b.tv_nsec - a.tv_nsec) / rounds;
    if (each < least) least = each;
  }
  printf("%.0f\n", least);
  return 0;
}
