/*
 * A VA-API driver for the tests, which libva loads as any other: LIBVA_DRIVER_NAME=samepage, LIBVA_DRIVERS_PATH=its folder.
 * It does what no driver at hand does: surfaces of several objects, any modifier, an export that fails after it has made
 * fds, work that takes as long as a test wants. Its surfaces are memfds; where there is a /dev/udmabuf, dma-bufs of them.
 * It decodes nothing.
 *
 * The library is also a libva-drm: its vaGetDisplayDRM takes any fd, so that a machine without a GPU has a display too.
 *
 * The variable SAMEPAGE_VA tells it how to behave, word by word, and may change at any time:
 *   separate         a new surface has an object for each plane; without it, all planes lie in one
 *   offset           the first plane of an object does not begin at its beginning, but a page into it
 *   modifier=0x…     the modifier of new surfaces, unless they are asked for with one; any but 0 cannot be derived
 *   plain            new surfaces can neither be derived nor, unless they were asked for as PRIME_2, be exported
 *   private          an image that was derived is a copy, which goes back when it is unmapped
 *   busy             surfaces are being rendered to until this word is gone
 *   export-fails     an export makes its fds, and fails then
 *   export-lies      an export names an object for its last plane that it does not have
 *   no-separate, no-composed, no-prime2, no-prime, no-put, no-get: it cannot do that
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <va/va.h>
#include <va/va_backend.h>
#include <va/va_drmcommon.h>

#define PAGE 4096u
#define MOST 256
#define EXPORT __attribute__((visibility("default")))
#define DRM(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

struct plane { uint32_t step, bytes, drm; };
struct format { uint32_t fourcc, drm, bits, planes; struct plane plane[3]; };
static const struct format FORMATS[] = {
  { VA_FOURCC_NV12, DRM('N', 'V', '1', '2'), 12, 2, { { 1, 1, DRM('R', '8', ' ', ' ') }, { 2, 2, DRM('G', 'R', '8', '8') } } },
  { VA_FOURCC_P010, DRM('P', '0', '1', '0'), 24, 2, { { 1, 2, DRM('R', '1', '6', ' ') }, { 2, 4, DRM('G', 'R', '3', '2') } } },
  { VA_FOURCC_I420, DRM('Y', 'U', '1', '2'), 12, 3,
    { { 1, 1, DRM('R', '8', ' ', ' ') }, { 2, 1, DRM('R', '8', ' ', ' ') }, { 2, 1, DRM('R', '8', ' ', ' ') } } },
  { VA_FOURCC_YV12, DRM('Y', 'V', '1', '2'), 12, 3,
    { { 1, 1, DRM('R', '8', ' ', ' ') }, { 2, 1, DRM('R', '8', ' ', ' ') }, { 2, 1, DRM('R', '8', ' ', ' ') } } },
  { VA_FOURCC_YUY2, DRM('Y', 'U', 'Y', 'V'), 16, 1, { { 1, 2, DRM('Y', 'U', 'Y', 'V') } } },
  { VA_FOURCC_Y800, DRM('R', '8', ' ', ' '), 8, 1, { { 1, 1, DRM('R', '8', ' ', ' ') } } },
  { VA_FOURCC_RGBA, DRM('A', 'B', '2', '4'), 32, 1, { { 1, 4, DRM('A', 'B', '2', '4') } } },
  { VA_FOURCC_BGRA, DRM('A', 'R', '2', '4'), 32, 1, { { 1, 4, DRM('A', 'R', '2', '4') } } },
  { VA_FOURCC_BGRX, DRM('X', 'R', '2', '4'), 32, 1, { { 1, 4, DRM('X', 'R', '2', '4') } } },
  { VA_FOURCC_RGBX, DRM('X', 'B', '2', '4'), 32, 1, { { 1, 4, DRM('X', 'B', '2', '4') } } },
};
#define COUNT (sizeof FORMATS / sizeof *FORMATS)

struct object { int fd; uint32_t size; uint8_t *at; };
struct surface {
  const struct format *format;
  uint32_t width, height, objects, in[3], offset[3], pitch[3];
  uint64_t modifier;
  int exports, derives;
  struct object object[4];
};
/* An image has a buffer of the same number; one that was derived shows its surface. */
struct image { VAImage image; uint8_t *at; struct surface *of; int copied; };
static struct surface *surfaces[MOST];
static struct image *images[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is(const char *word) {
  const char *at = getenv("SAMEPAGE_VA");
  size_t length = strlen(word);
  while (at && (at = strstr(at, word))) {
    if (at[length] == 0 || at[length] == ' ') return 1;
    at += length;
  }
  return 0;
}
static uint64_t modifier(void) {
  const char *words = getenv("SAMEPAGE_VA"), *at = words ? strstr(words, "modifier=") : NULL;
  return at ? strtoull(at + 9, NULL, 16) : 0;
}
static const struct format *formatOf(uint32_t fourcc) {
  for (size_t i = 0; i < COUNT; i++) if (FORMATS[i].fourcc == fourcc) return &FORMATS[i];
  return NULL;
}
static struct surface *surfaceOf(VASurfaceID id) { return id < MOST ? surfaces[id] : NULL; }
static struct image *imageOf(VAImageID id) { return id < MOST ? images[id] : NULL; }
static int freeIn(void *const *list) {
  for (int i = 1; i < MOST; i++) if (!list[i]) return i;
  return 0;
}
static uint32_t rowOf(const struct surface *s, int p) {
  return s->width / s->format->plane[p].step * s->format->plane[p].bytes;
}
static uint32_t rowsOf(const struct surface *s, int p) { return s->height / s->format->plane[p].step; }
static uint8_t *planeAt(const struct surface *s, int p) { return s->object[s->in[p]].at + s->offset[p]; }

static int memory(struct object *object) {
  int memfd = memfd_create("va", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  if (memfd < 0 || ftruncate(memfd, object->size) < 0 || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK) < 0) return -1;
  object->at = mmap(NULL, object->size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
  object->fd = memfd;
  int node = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
  if (node < 0) return 0;
  struct udmabuf_create create = { memfd, UDMABUF_FLAGS_CLOEXEC, 0, object->size };
  object->fd = ioctl(node, UDMABUF_CREATE, &create);
  close(node);
  close(memfd);
  return object->fd < 0 ? -1 : 0;
}
static void drop(struct surface *s) {
  for (uint32_t i = 0; i < s->objects; i++) {
    if (s->object[i].at && s->object[i].at != MAP_FAILED) munmap(s->object[i].at, s->object[i].size);
    if (s->object[i].fd >= 0) close(s->object[i].fd);
  }
  free(s);
}
static VAStatus place(struct surface *s, const VADRMFormatModifierList *wanted) {
  uint32_t end = 0;
  s->objects = is("separate") ? s->format->planes : 1;
  s->modifier = wanted ? wanted->modifiers[0] : modifier();
  for (uint32_t p = 0; p < s->format->planes; p++) {
    s->in[p] = s->objects == 1 ? 0 : p;
    if (p == 0 || s->in[p] != 0) end = is("offset") ? PAGE : 0;
    s->offset[p] = end;
    s->pitch[p] = (rowOf(s, p) + 63) & ~63u;
    end += s->pitch[p] * rowsOf(s, p);
    s->object[s->in[p]].size = (end + PAGE - 1) & ~(PAGE - 1);
  }
  for (uint32_t i = 0; i < s->objects; i++) s->object[i].fd = -1;
  for (uint32_t i = 0; i < s->objects; i++) if (memory(&s->object[i]) < 0) return VA_STATUS_ERROR_ALLOCATION_FAILED;
  return VA_STATUS_SUCCESS;
}
static VAStatus take(struct surface *s, int fd, uint32_t size) {
  struct object *object = &s->object[s->objects++];
  *object = (struct object) { fcntl(fd, F_DUPFD_CLOEXEC, 0), size, NULL };
  if (!object->size) object->size = lseek(fd, 0, SEEK_END);
  if (object->fd < 0) return VA_STATUS_ERROR_INVALID_PARAMETER;
  object->at = mmap(NULL, object->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return object->at == MAP_FAILED ? VA_STATUS_ERROR_INVALID_PARAMETER : VA_STATUS_SUCCESS;
}
static VAStatus takePrime2(struct surface *s, const VADRMPRIMESurfaceDescriptor *d) {
  uint32_t p = 0;
  if (is(d->num_layers > 1 ? "no-separate" : "no-composed")) return VA_STATUS_ERROR_INVALID_PARAMETER;
  for (uint32_t l = 0; l < d->num_layers; l++) {
    for (uint32_t i = 0; i < d->layers[l].num_planes; i++, p++) {
      s->in[p] = d->layers[l].object_index[i];
      s->offset[p] = d->layers[l].offset[i];
      s->pitch[p] = d->layers[l].pitch[i];
    }
  }
  if (p != s->format->planes) return VA_STATUS_ERROR_INVALID_PARAMETER;
  s->modifier = d->objects[0].drm_format_modifier;
  for (uint32_t i = 0; i < d->num_objects; i++) {
    VAStatus status = take(s, d->objects[i].fd, d->objects[i].size);
    if (status) return status;
  }
  return VA_STATUS_SUCCESS;
}
static VAStatus takePrime(struct surface *s, const VASurfaceAttribExternalBuffers *d) {
  if (d->num_planes != s->format->planes || d->num_buffers != 1) return VA_STATUS_ERROR_INVALID_PARAMETER;
  for (uint32_t p = 0; p < d->num_planes; p++) s->offset[p] = d->offsets[p], s->pitch[p] = d->pitches[p];
  return take(s, (int)d->buffers[0], d->data_size);
}

static VAStatus createSurfaces2(VADriverContextP ctx, unsigned rt, unsigned width, unsigned height, VASurfaceID *ids,
                                unsigned count, VASurfaceAttrib *attribs, unsigned attribCount) {
  const struct format *format = formatOf(VA_FOURCC_NV12);
  uint32_t type = VA_SURFACE_ATTRIB_MEM_TYPE_VA;
  void *outside = NULL;
  const VADRMFormatModifierList *modifiers = NULL;
  (void)ctx, (void)rt;
  for (unsigned i = 0; i < attribCount; i++) {
    const VAGenericValue *value = &attribs[i].value;
    if (attribs[i].type == VASurfaceAttribPixelFormat) format = formatOf(value->value.i);
    if (attribs[i].type == VASurfaceAttribMemoryType) type = value->value.i;
    if (attribs[i].type == VASurfaceAttribExternalBufferDescriptor) outside = value->value.p;
    if (attribs[i].type == VASurfaceAttribDRMFormatModifiers) modifiers = value->value.p;
  }
  if (!format || !width || !height) return VA_STATUS_ERROR_INVALID_PARAMETER;
  if (type == VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2 && is("no-prime2")) return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
  if (type == VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME && is("no-prime")) return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
  pthread_mutex_lock(&lock);
  VAStatus status = VA_STATUS_SUCCESS;
  for (unsigned i = 0; i < count && !status; i++) {
    int id = freeIn((void **)surfaces);
    struct surface *s = calloc(1, sizeof *s);
    *s = (struct surface) { .format = format, .width = width, .height = height };
    s->exports = s->derives = 1;
    if (is("plain")) s->derives = 0, s->exports = type != VA_SURFACE_ATTRIB_MEM_TYPE_VA;
    if (!outside) status = place(s, modifiers);
    else if (type == VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2) status = takePrime2(s, outside);
    else status = takePrime(s, outside);
    if (!status && !id) status = VA_STATUS_ERROR_ALLOCATION_FAILED;
    if (status) drop(s);
    else surfaces[ids[i] = id] = s;
  }
  pthread_mutex_unlock(&lock);
  return status;
}
static VAStatus createSurfaces(VADriverContextP ctx, int width, int height, int rt, int count, VASurfaceID *ids) {
  return createSurfaces2(ctx, rt, width, height, ids, count, NULL, 0);
}
static VAStatus destroySurfaces(VADriverContextP ctx, VASurfaceID *ids, int count) {
  (void)ctx;
  for (int i = 0; i < count; i++) {
    struct surface *s = surfaceOf(ids[i]);
    if (!s) return VA_STATUS_ERROR_INVALID_SURFACE;
    surfaces[ids[i]] = NULL;
    drop(s);
  }
  return VA_STATUS_SUCCESS;
}
static VAStatus querySurfaceStatus(VADriverContextP ctx, VASurfaceID id, VASurfaceStatus *status) {
  (void)ctx;
  *status = is("busy") ? VASurfaceRendering : VASurfaceReady;
  return surfaceOf(id) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_SURFACE;
}
static VAStatus syncSurface(VADriverContextP ctx, VASurfaceID id) {
  (void)ctx;
  while (is("busy")) usleep(1000);
  return surfaceOf(id) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_SURFACE;
}

static VAStatus exportSurface(VADriverContextP ctx, VASurfaceID id, uint32_t type, uint32_t flags, void *descriptor) {
  VADRMPRIMESurfaceDescriptor *d = descriptor;
  struct surface *s = surfaceOf(id);
  int separate = flags & VA_EXPORT_SURFACE_SEPARATE_LAYERS;
  (void)ctx;
  if (!s) return VA_STATUS_ERROR_INVALID_SURFACE;
  if (type != VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2) return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
  if (!s->exports || is(separate ? "no-separate" : "no-composed")) return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
  d->fourcc = s->format->fourcc;
  d->width = s->width;
  d->height = s->height;
  d->num_objects = s->objects;
  for (uint32_t i = 0; i < s->objects; i++) {
    d->objects[i].fd = fcntl(s->object[i].fd, F_DUPFD_CLOEXEC, 0);
    d->objects[i].size = s->object[i].size;
    d->objects[i].drm_format_modifier = s->modifier;
  }
  if (is("export-fails")) return VA_STATUS_ERROR_OPERATION_FAILED;
  d->num_layers = separate ? s->format->planes : 1;
  for (uint32_t p = 0; p < s->format->planes; p++) {
    int l = separate ? p : 0, i = separate ? 0 : p;
    d->layers[l].drm_format = separate ? s->format->plane[p].drm : s->format->drm;
    d->layers[l].num_planes = i + 1;
    d->layers[l].object_index[i] = s->in[p];
    d->layers[l].offset[i] = s->offset[p];
    d->layers[l].pitch[i] = s->pitch[p];
    if (is("export-lies") && p + 1 == s->format->planes) d->layers[l].object_index[i] = s->objects;
  }
  return VA_STATUS_SUCCESS;
}

static void copyRows(uint8_t *to, uint32_t toPitch, const uint8_t *from, uint32_t fromPitch, uint32_t row, uint32_t rows) {
  for (uint32_t y = 0; y < rows; y++) memcpy(to + y * toPitch, from + y * fromPitch, row);
}
static void copy(struct surface *s, struct image *image, int toSurface) {
  struct surface both = *s; /* the pixels that both have */
  if (image->image.width < both.width) both.width = image->image.width;
  if (image->image.height < both.height) both.height = image->image.height;
  for (uint32_t p = 0; p < s->format->planes; p++) {
    uint8_t *there = image->at + image->image.offsets[p];
    uint32_t row = rowOf(&both, p), rows = rowsOf(&both, p);
    if (toSurface) copyRows(planeAt(s, p), s->pitch[p], there, image->image.pitches[p], row, rows);
    else copyRows(there, image->image.pitches[p], planeAt(s, p), s->pitch[p], row, rows);
  }
}
static VAStatus newImage(const struct format *format, int width, int height, struct surface *of, VAImage *out) {
  int id = freeIn((void **)images);
  struct image *image = calloc(1, sizeof *image);
  struct surface like = { .format = format, .width = width, .height = height };
  VAImage *at = &image->image;
  if (!id) return VA_STATUS_ERROR_ALLOCATION_FAILED;
  at->image_id = at->buf = id;
  at->format.fourcc = format->fourcc;
  at->format.bits_per_pixel = format->bits;
  at->width = width;
  at->height = height;
  at->num_planes = format->planes;
  for (uint32_t p = 0; p < format->planes; p++) {
    at->offsets[p] = of ? of->offset[p] : at->data_size;
    at->pitches[p] = of ? of->pitch[p] : (rowOf(&like, p) + 15) & ~15u;
    at->data_size = of ? of->object[0].size : at->offsets[p] + at->pitches[p] * rowsOf(&like, p);
  }
  image->of = of;
  image->copied = of && is("private");
  image->at = of && !image->copied ? of->object[0].at : malloc(at->data_size);
  images[id] = image;
  *out = *at;
  return VA_STATUS_SUCCESS;
}
static VAStatus createImage(VADriverContextP ctx, VAImageFormat *format, int width, int height, VAImage *out) {
  const struct format *known = formatOf(format->fourcc);
  (void)ctx;
  return known ? newImage(known, width, height, NULL, out) : VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
}
static VAStatus deriveImage(VADriverContextP ctx, VASurfaceID id, VAImage *out) {
  struct surface *s = surfaceOf(id);
  (void)ctx;
  if (!s) return VA_STATUS_ERROR_INVALID_SURFACE;
  if (!s->derives || s->objects > 1 || s->modifier) return VA_STATUS_ERROR_OPERATION_FAILED;
  return newImage(s->format, s->width, s->height, s, out);
}
static VAStatus destroyImage(VADriverContextP ctx, VAImageID id) {
  struct image *image = imageOf(id);
  (void)ctx;
  if (!image) return VA_STATUS_ERROR_INVALID_IMAGE;
  if (!image->of || image->copied) free(image->at);
  images[id] = NULL;
  free(image);
  return VA_STATUS_SUCCESS;
}
static VAStatus mapBuffer(VADriverContextP ctx, VABufferID id, void **at) {
  struct image *image = imageOf(id);
  (void)ctx;
  if (!image) return VA_STATUS_ERROR_INVALID_BUFFER;
  if (image->copied) copy(image->of, image, 0);
  *at = image->at;
  return VA_STATUS_SUCCESS;
}
static VAStatus unmapBuffer(VADriverContextP ctx, VABufferID id) {
  struct image *image = imageOf(id);
  (void)ctx;
  if (!image) return VA_STATUS_ERROR_INVALID_BUFFER;
  if (image->copied) copy(image->of, image, 1);
  return VA_STATUS_SUCCESS;
}
static VAStatus getImage(VADriverContextP ctx, VASurfaceID id, int x, int y, unsigned w, unsigned h, VAImageID to) {
  struct surface *s = surfaceOf(id);
  struct image *image = imageOf(to);
  (void)ctx, (void)x, (void)y, (void)w, (void)h;
  if (is("no-get")) return VA_STATUS_ERROR_UNIMPLEMENTED;
  if (!s || !image || image->image.format.fourcc != s->format->fourcc) return VA_STATUS_ERROR_INVALID_IMAGE;
  copy(s, image, 0);
  return VA_STATUS_SUCCESS;
}
static VAStatus putImage(VADriverContextP ctx, VASurfaceID id, VAImageID from, int sx, int sy, unsigned sw, unsigned sh,
                         int dx, int dy, unsigned dw, unsigned dh) {
  struct surface *s = surfaceOf(id);
  struct image *image = imageOf(from);
  (void)ctx, (void)sx, (void)sy, (void)sw, (void)sh, (void)dx, (void)dy, (void)dw, (void)dh;
  if (is("no-put")) return VA_STATUS_ERROR_UNIMPLEMENTED;
  if (!s || !image || image->image.format.fourcc != s->format->fourcc) return VA_STATUS_ERROR_INVALID_IMAGE;
  copy(s, image, 1);
  return VA_STATUS_SUCCESS;
}

static VAStatus queryProfiles(VADriverContextP ctx, VAProfile *list, int *count) {
  (void)ctx;
  list[0] = VAProfileNone;
  *count = 1;
  return VA_STATUS_SUCCESS;
}
static VAStatus queryEntrypoints(VADriverContextP ctx, VAProfile profile, VAEntrypoint *list, int *count) {
  (void)ctx;
  if (profile != VAProfileNone) return VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
  list[0] = VAEntrypointVideoProc;
  *count = 1;
  return VA_STATUS_SUCCESS;
}
static VAStatus getConfig(VADriverContextP ctx, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib *list, int count) {
  (void)ctx, (void)profile, (void)entrypoint;
  for (int i = 0; i < count; i++) {
    unsigned formats = VA_RT_FORMAT_YUV420 | VA_RT_FORMAT_YUV420_10 | VA_RT_FORMAT_YUV400 | VA_RT_FORMAT_YUV422 | VA_RT_FORMAT_RGB32;
    list[i].value = list[i].type == VAConfigAttribRTFormat ? formats : VA_ATTRIB_NOT_SUPPORTED;
  }
  return VA_STATUS_SUCCESS;
}
static VAStatus createConfig(VADriverContextP ctx, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib *list,
                             int count, VAConfigID *id) {
  (void)ctx, (void)profile, (void)entrypoint, (void)list, (void)count;
  *id = 1;
  return VA_STATUS_SUCCESS;
}
static VAStatus destroyConfig(VADriverContextP ctx, VAConfigID id) {
  (void)ctx;
  return id == 1 ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_CONFIG;
}
static VAStatus queryConfig(VADriverContextP ctx, VAConfigID id, VAProfile *profile, VAEntrypoint *entrypoint,
                            VAConfigAttrib *list, int *count) {
  (void)ctx, (void)list;
  *profile = VAProfileNone;
  *entrypoint = VAEntrypointVideoProc;
  *count = 0;
  return id == 1 ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_CONFIG;
}
static VASurfaceAttrib attribute(VASurfaceAttribType type, int value) {
  return (VASurfaceAttrib) { type, VA_SURFACE_ATTRIB_GETTABLE | VA_SURFACE_ATTRIB_SETTABLE,
                             { VAGenericValueTypeInteger, { .i = value } } };
}
static VAStatus queryAttributes(VADriverContextP ctx, VAConfigID id, VASurfaceAttrib *list, unsigned *count) {
  unsigned room = *count, at = 0;
  int types = VA_SURFACE_ATTRIB_MEM_TYPE_VA;
  (void)ctx, (void)id;
  *count = COUNT + 3;
  if (!list) return VA_STATUS_SUCCESS;
  if (room < *count) return VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
  if (!is("no-prime2")) types |= VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2;
  if (!is("no-prime")) types |= VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME;
  for (; at < COUNT; at++) list[at] = attribute(VASurfaceAttribPixelFormat, FORMATS[at].fourcc);
  list[at++] = attribute(VASurfaceAttribMemoryType, types);
  list[at++] = attribute(VASurfaceAttribMaxWidth, 4096);
  list[at++] = attribute(VASurfaceAttribMaxHeight, 4096);
  return VA_STATUS_SUCCESS;
}
static VAStatus queryImageFormats(VADriverContextP ctx, VAImageFormat *list, int *count) {
  (void)ctx;
  for (size_t i = 0; i < COUNT; i++) {
    list[i] = (VAImageFormat) { .fourcc = FORMATS[i].fourcc, .byte_order = VA_LSB_FIRST, .bits_per_pixel = FORMATS[i].bits };
  }
  *count = COUNT;
  return VA_STATUS_SUCCESS;
}
static VAStatus terminate(VADriverContextP ctx) {
  (void)ctx;
  return VA_STATUS_SUCCESS;
}
/* What libva asks of every driver, and nobody of this one. */
static VAStatus unimplemented(void) { return VA_STATUS_ERROR_UNIMPLEMENTED; }

EXPORT VAStatus __vaDriverInit_1_0(VADriverContextP ctx) {
  struct VADriverVTable *v = ctx->vtable;
  ctx->version_major = 1;
  ctx->version_minor = 0;
  ctx->max_profiles = ctx->max_entrypoints = ctx->max_attributes = 1;
  ctx->max_image_formats = COUNT;
  ctx->max_subpic_formats = ctx->max_display_attributes = 1;
  ctx->str_vendor = "samepage's test driver";
  void **all = (void **)v;
  for (void **fn = all; fn < (void **)&v->vaQueryProcessingRate; fn++) *fn = (void *)unimplemented;
  v->vaTerminate = terminate;
  v->vaQueryConfigProfiles = queryProfiles;
  v->vaQueryConfigEntrypoints = queryEntrypoints;
  v->vaGetConfigAttributes = getConfig;
  v->vaCreateConfig = createConfig;
  v->vaDestroyConfig = destroyConfig;
  v->vaQueryConfigAttributes = queryConfig;
  v->vaCreateSurfaces = createSurfaces;
  v->vaCreateSurfaces2 = createSurfaces2;
  v->vaDestroySurfaces = destroySurfaces;
  v->vaQuerySurfaceAttributes = queryAttributes;
  v->vaQuerySurfaceStatus = querySurfaceStatus;
  v->vaSyncSurface = syncSurface;
  v->vaExportSurfaceHandle = exportSurface;
  v->vaQueryImageFormats = queryImageFormats;
  v->vaCreateImage = createImage;
  v->vaDeriveImage = deriveImage;
  v->vaDestroyImage = destroyImage;
  v->vaMapBuffer = mapBuffer;
  v->vaUnmapBuffer = unmapBuffer;
  v->vaGetImage = getImage;
  v->vaPutImage = putImage;
  return VA_STATUS_SUCCESS;
}

/* libva-drm, for any fd. These are what libva's own window systems are made with. */
VADisplayContextP va_newDisplayContext(void);
VADriverContextP va_newDriverContext(VADisplayContextP);
static int isValid(VADisplayContextP display) { return display && display->pDriverContext; }
static void destroy(VADisplayContextP display) {
  free(display->pDriverContext->drm_state);
  free(display->pDriverContext);
  free(display);
}
static VAStatus candidates(VADisplayContextP display, int *count) {
  (void)display;
  *count = 1;
  return VA_STATUS_SUCCESS;
}
static VAStatus nameOf(VADisplayContextP display, char **name, int i) {
  (void)display, (void)i;
  *name = strdup("samepage");
  return VA_STATUS_SUCCESS;
}
EXPORT VADisplay vaGetDisplayDRM(int fd) {
  struct stat status;
  if (fstat(fd, &status) < 0 || !S_ISCHR(status.st_mode)) return NULL;
  VADisplayContextP display = va_newDisplayContext();
  if (!display) return NULL;
  VADriverContextP driver = va_newDriverContext(display);
  struct drm_state *state = calloc(1, sizeof *state);
  state->fd = fd;
  driver->drm_state = state;
  driver->display_type = VA_DISPLAY_DRM_RENDERNODES;
  display->vaIsValid = isValid;
  display->vaDestroy = destroy;
  display->vaGetNumCandidates = candidates;
  display->vaGetDriverNameByIndex = nameOf;
  return display;
}
