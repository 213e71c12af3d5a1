// A 1080p NV12 surface on the libva driver of the tests: its memory to another display and back, and its pixels for the CPU.
//
// A program is started as `vaapi samepage_drv_video.so NODE`; serve.h says what it answers.
#include "serve.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <unistd.h>
#include <va/va.h>
#include <va/va_drmcommon.h>

enum { ACROSS = 1920, DOWN = 1080 };

static VADisplay one, other;
static VASurfaceID surface;
static unsigned char *frame;

static void check(VAStatus status, const char *function) {
  if (status == VA_STATUS_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", function, vaErrorStr(status));
  exit(1);
}

static VADisplay open_display(void *driver, const char *node) {
  VADisplay (*get)(int) = (VADisplay(*)(int))dlsym(driver, "vaGetDisplayDRM");
  int fd = open(node, O_RDWR | O_CLOEXEC), major, minor;
  if (get == NULL || fd < 0) fail("the driver or the node is not there");
  VADisplay display = get(fd);
  vaSetInfoCallback(display, NULL, NULL);
  check(vaInitialize(display, &major, &minor), "vaInitialize");
  return display;
}

static VASurfaceAttrib integer(VASurfaceAttribType type, int value) {
  return (VASurfaceAttrib){type, VA_SURFACE_ATTRIB_SETTABLE, {VAGenericValueTypeInteger, {.i = value}}};
}

static void setup(void) {
  if (frame != NULL) return;
  frame = map_pages(ACROSS * DOWN * 3 / 2);
  VASurfaceAttrib list[] = {integer(VASurfaceAttribPixelFormat, VA_FOURCC_NV12),
                            integer(VASurfaceAttribMemoryType, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2)};
  check(vaCreateSurfaces(one, VA_RT_FORMAT_YUV420, ACROSS, DOWN, &surface, 1, list, 2), "vaCreateSurfaces");
}

// Export, import, release.
static void share(long count) {
  for (long i = 0; i < count; i++) {
    VADRMPRIMESurfaceDescriptor memory;
    VASurfaceID imported;
    check(vaSyncSurface(one, surface), "vaSyncSurface");
    check(vaExportSurfaceHandle(one, surface, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
                                VA_EXPORT_SURFACE_READ_WRITE | VA_EXPORT_SURFACE_COMPOSED_LAYERS, &memory),
          "vaExportSurfaceHandle");
    VASurfaceAttrib list[] = {
        integer(VASurfaceAttribPixelFormat, VA_FOURCC_NV12),
        integer(VASurfaceAttribMemoryType, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2),
        {VASurfaceAttribExternalBufferDescriptor, VA_SURFACE_ATTRIB_SETTABLE,
         {VAGenericValueTypePointer, {.p = &memory}}},
    };
    check(vaCreateSurfaces(other, VA_RT_FORMAT_YUV420, ACROSS, DOWN, &imported, 1, list, 3), "vaCreateSurfaces");
    for (uint32_t o = 0; o < memory.num_objects; o++) close(memory.objects[o].fd);
    check(vaDestroySurfaces(other, &imported, 1), "vaDestroySurfaces");
  }
}

// The pixels where they are.
static void derive(long count) {
  for (long i = 0; i < count; i++) {
    VAImage image;
    void *pixels;
    check(vaSyncSurface(one, surface), "vaSyncSurface");
    check(vaDeriveImage(one, surface, &image), "vaDeriveImage");
    check(vaMapBuffer(one, image.buf, &pixels), "vaMapBuffer");
    frame[0] = ((unsigned char *)pixels)[image.offsets[1]];
    check(vaUnmapBuffer(one, image.buf), "vaUnmapBuffer");
    check(vaDestroyImage(one, image.image_id), "vaDestroyImage");
  }
}

// The pixels as most programs get them: into an image that is kept, and from there into memory of their own.
static void get(long count) {
  static VAImage image;
  VAImageFormat nv12 = {.fourcc = VA_FOURCC_NV12, .byte_order = VA_LSB_FIRST, .bits_per_pixel = 12};
  if (image.data_size == 0) check(vaCreateImage(one, &nv12, ACROSS, DOWN, &image), "vaCreateImage");
  for (long i = 0; i < count; i++) {
    void *pixels;
    check(vaSyncSurface(one, surface), "vaSyncSurface");
    check(vaGetImage(one, surface, 0, 0, ACROSS, DOWN, image.image_id), "vaGetImage");
    check(vaMapBuffer(one, image.buf, &pixels), "vaMapBuffer");
    memcpy(frame, pixels, ACROSS * DOWN * 3 / 2);
    check(vaUnmapBuffer(one, image.buf), "vaUnmapBuffer");
  }
}

static const struct operation OPERATIONS[] = {
  {"share", setup, share, NULL, 0, NULL},
  {"derive", setup, derive, NULL, 0, NULL},
  {"get", setup, get, NULL, 0, NULL},
};

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s samepage_drv_video.so NODE\n", argv[0]);
    return 2;
  }
  void *driver = dlopen(argv[1], RTLD_NOW);
  setenv("LIBVA_DRIVER_NAME", "samepage", 1);
  setenv("LIBVA_DRIVERS_PATH", dirname(strdup(argv[1])), 1);
  if (driver == NULL) {
    printf("missing: %s\n", dlerror());
    return 0;
  }
  one = open_display(driver, argv[2]);
  other = open_display(driver, argv[2]);
  return answer(OPERATIONS, sizeof OPERATIONS / sizeof *OPERATIONS);
}
