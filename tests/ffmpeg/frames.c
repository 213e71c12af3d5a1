// Frames as FFmpeg makes them, for the tests: every value of every component is written, and read, by FFmpeg itself.

#include <libavutil/buffer.h>
#include <libavutil/channel_layout.h>
#include <libavutil/display.h>
#include <libavutil/frame.h>
#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_drm.h>
#include <libavutil/imgutils.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/pixdesc.h>
#include <libavutil/samplefmt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** The name of the format after this one; the first for -1; NULL at the end. Unlike numbers, names are gapless. */
const char *format_name(int index) {
  const AVPixFmtDescriptor *desc = NULL;
  while ((desc = av_pix_fmt_desc_next(desc)) != NULL && index-- > 0) {}
  return desc == NULL ? NULL : desc->name;
}

/** plane, step, offset, shift, depth of a component; 0 where there is none. */
int component(const char *name, int c, int32_t *out) {
  const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(av_get_pix_fmt(name));
  if (c >= desc->nb_components) return 0;
  const AVComponentDescriptor *comp = &desc->comp[c];
  int32_t all[] = {comp->plane, comp->step, comp->offset, comp->shift, comp->depth};
  memcpy(out, all, sizeof all);
  return 1;
}

static int across(const AVPixFmtDescriptor *desc, int c, int width) {
  return c == 1 || c == 2 ? AV_CEIL_RSHIFT(width, desc->log2_chroma_w) : width;
}

static int down(const AVPixFmtDescriptor *desc, int c, int height) {
  return c == 1 || c == 2 ? AV_CEIL_RSHIFT(height, desc->log2_chroma_h) : height;
}

/** The size of a component, in its own pixels. */
void component_size(const char *name, int c, int width, int height, int32_t *out) {
  const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(av_get_pix_fmt(name));
  out[0] = across(desc, c, width);
  out[1] = down(desc, c, height);
}

/** What the test expects at a place. */
uint32_t value_at(const char *name, int c, int x, int y) {
  const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(av_get_pix_fmt(name));
  uint32_t value = 7 * x + 13 * y + 5 * c + 1;
  return desc->comp[c].depth == 32 ? value : value & ((1u << desc->comp[c].depth) - 1);
}

/** A picture with a value for each component at each place; NULL if FFmpeg does not make it. */
AVFrame *picture(const char *name, int width, int height, int align) {
  AVFrame *frame = av_frame_alloc();
  frame->format = av_get_pix_fmt(name);
  frame->width = width;
  frame->height = height;
  if (av_frame_get_buffer(frame, align) < 0) {
    av_frame_free(&frame);
    return NULL;
  }
  for (int i = 0; i < AV_NUM_DATA_POINTERS && frame->buf[i]; i++) memset(frame->buf[i]->data, 0, frame->buf[i]->size);
  const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(frame->format);
  uint32_t *line = calloc(width, sizeof *line);
  // FFmpeg's descriptor of uyyvyy411 says four bytes for each luma, which would end behind the row.
  for (int c = frame->format == AV_PIX_FMT_UYYVYY411; c < desc->nb_components; c++) {
    for (int y = 0; y < down(desc, c, height); y++) {
      int w = across(desc, c, width);
      for (int x = 0; x < w; x++) line[x] = value_at(name, c, x, y);
      av_write_image_line2(line, frame->data, frame->linesize, desc, 0, y, c, w, 4);
    }
  }
  free(line);
  return frame;
}

/** What FFmpeg reads at a place. */
uint32_t pixel(const AVFrame *frame, int c, int x, int y) {
  const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(frame->format);
  uint32_t value = 0;
  av_read_image_line2(&value, (const uint8_t **)frame->data, frame->linesize, desc, x, y, c, 1, 0, 4);
  return value;
}

/** Sound of which sample i of channel c begins with the byte 16 c + i. */
AVFrame *sound(int format, int channels, int samples, int rate) {
  AVFrame *frame = av_frame_alloc();
  frame->format = format;
  frame->nb_samples = samples;
  frame->sample_rate = rate;
  av_channel_layout_default(&frame->ch_layout, channels);
  if (frame->ch_layout.nb_channels != channels) {
    frame->ch_layout.order = AV_CHANNEL_ORDER_UNSPEC;
    frame->ch_layout.nb_channels = channels;
  }
  if (av_frame_get_buffer(frame, 0) < 0) {
    av_frame_free(&frame);
    return NULL;
  }
  int size = av_get_bytes_per_sample(format);
  for (int c = 0; c < channels; c++) {
    for (int i = 0; i < samples; i++) {
      uint8_t *at = av_sample_fmt_is_planar(format) ? frame->extended_data[c] + i * size
                                                    : frame->data[0] + (i * channels + c) * size;
      memset(at, 0, size);
      at[0] = 16 * c + i;
    }
  }
  return frame;
}

/** Each plane in a buffer of its own, as decoders have it. */
AVFrame *scattered(const char *name, int width, int height) {
  AVFrame *from = picture(name, width, height, 32);
  AVFrame *frame = av_frame_alloc();
  frame->format = from->format;
  frame->width = width;
  frame->height = height;
  int planes = av_pix_fmt_count_planes(from->format);
  for (int p = 0; p < planes; p++) {
    frame->buf[p] = av_buffer_alloc(from->linesize[p] * height + 64);
    frame->data[p] = frame->buf[p]->data;
    frame->linesize[p] = from->linesize[p];
  }
  av_frame_copy(frame, from);
  av_frame_free(&from);
  return frame;
}

/** nv12 in two buffers of one block, each of one value: the planes lie in the other's, and luma begins where the first ends. */
AVFrame *adjacent(int width, int height) {
  AVFrame *frame = av_frame_alloc();
  frame->format = AV_PIX_FMT_NV12;
  frame->width = width;
  frame->height = height;
  size_t size = (size_t)width * height;
  AVBufferRef *block = av_buffer_alloc(2 * size);
  for (int i = 0; i < 2; i++) {
    frame->buf[i] = i == 0 ? block : av_buffer_ref(block);
    frame->buf[i]->data += i * size;
    frame->buf[i]->size = size;
    frame->data[1 - i] = frame->buf[i]->data;
    frame->linesize[i] = width;
    memset(frame->buf[i]->data, 1 + i, size);
  }
  return frame;
}

void set_crop(AVFrame *frame, int left, int top, int right, int bottom) {
  frame->crop_left = left;
  frame->crop_top = top;
  frame->crop_right = right;
  frame->crop_bottom = bottom;
}

/** Whether it is decoded without others. */
int is_key(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_MAJOR < 58
  return frame->key_frame;
#else
  return (frame->flags & AV_FRAME_FLAG_KEY) != 0;
#endif
}

void set_key(AVFrame *frame, int is_one) {
#if LIBAVUTIL_VERSION_MAJOR < 58
  frame->key_frame = is_one;
#else
  frame->flags = is_one ? frame->flags | AV_FRAME_FLAG_KEY : frame->flags & ~AV_FRAME_FLAG_KEY;
#endif
}

/** What a decoder knows besides. */
void set_facts(AVFrame *frame) {
  frame->pts = 123456789012345;
#if LIBAVUTIL_VERSION_MAJOR < 58
  frame->pkt_duration = 1001;
#else
  frame->duration = 1001;
#endif
  frame->time_base = (AVRational){1, 30000};
  frame->sample_aspect_ratio = (AVRational){4, 3};
  frame->color_range = AVCOL_RANGE_MPEG;
  frame->colorspace = AVCOL_SPC_BT709;
  frame->color_primaries = AVCOL_PRI_BT709;
  frame->color_trc = AVCOL_TRC_SMPTE2084;
  frame->chroma_location = AVCHROMA_LOC_LEFT;
}

/** Changes one thing that the frames of a stream have in common. */
void change(AVFrame *frame, const char *what, int value) {
  const struct { const char *name; int32_t *at; } numbers[] = {
    {"color_range", (int32_t *)&frame->color_range},
    {"colorspace", (int32_t *)&frame->colorspace},
    {"color_primaries", (int32_t *)&frame->color_primaries},
    {"color_trc", (int32_t *)&frame->color_trc},
    {"chroma_location", (int32_t *)&frame->chroma_location},
    {"sample_aspect_ratio.num", &frame->sample_aspect_ratio.num},
    {"sample_aspect_ratio.den", &frame->sample_aspect_ratio.den},
    {"time_base.num", &frame->time_base.num},
    {"time_base.den", &frame->time_base.den},
    {"sample_rate", &frame->sample_rate},
    {"nb_samples", &frame->nb_samples},
    {"linesize[1]", &frame->linesize[1]},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (strcmp(what, numbers[i].name) == 0) *numbers[i].at = value;
  }
  if (strcmp(what, "data[0]") == 0) frame->data[0] += value;
  if (strcmp(what, "data[1]") == 0) frame->data[1] += value;
  if (strcmp(what, "buf[0]->data") == 0) frame->buf[0]->data += value;
  if (strcmp(what, "buf[0]->size") == 0) frame->buf[0]->size = value;
}

/** Side data of each type that samepage knows, one that it does not know, and one that is too short. */
void add_side_data(AVFrame *frame) {
  AVFrameSideData *turned = av_frame_new_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX, 9 * sizeof(int32_t));
  av_display_rotation_set((int32_t *)turned->data, 90);
  memcpy(av_frame_new_side_data(frame, AV_FRAME_DATA_A53_CC, 6)->data, "\xfc\x01\x02\xfd\x80\x80", 6);
  memset(av_frame_new_side_data(frame, AV_FRAME_DATA_GOP_TIMECODE, 8)->data, 1, 8);
  AVContentLightMetadata *light = av_content_light_metadata_create_side_data(frame);
  light->MaxCLL = 4000000000u;
  light->MaxFALL = 400;
  AVMasteringDisplayMetadata *display = av_mastering_display_metadata_create_side_data(frame);
  for (int i = 0; i < 6; i++) display->display_primaries[i / 2][i % 2] = (AVRational){1000 + i, 50000};
  for (int i = 0; i < 2; i++) display->white_point[i] = (AVRational){15635 + i, 50000};
  display->min_luminance = (AVRational){50, 10000};
  display->max_luminance = (AVRational){10000000, 10000};
  display->has_primaries = display->has_luminance = 1;
}

void add_short_matrix(AVFrame *frame) {
  memset(av_frame_new_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX, 35)->data, 1, 35);
}

/** A byte of the side data of a type; -1 behind its end. */
int side_byte(const AVFrame *frame, int type, int at) {
  const AVFrameSideData *data = av_frame_get_side_data(frame, type);
  return data == NULL || (size_t)at >= data->size ? -1 : data->data[at];
}

/** The same picture with its rows from the last to the first. */
void flip(AVFrame *frame) {
  for (int p = 0; p < av_pix_fmt_count_planes(frame->format); p++) {
    frame->data[p] += frame->linesize[p] * (frame->height - 1);
    frame->linesize[p] = -frame->linesize[p];
  }
}

/** Claims more pixels than there is memory for. */
void stretch(AVFrame *frame, int height) { frame->height = height; }

void set_format(AVFrame *frame, int format) { frame->format = format; }

/** Memory of the frame's that nobody counts. */
void forget_buffers(AVFrame *frame) { memset(frame->buf, 0, sizeof frame->buf); }

/** A plane that points to memory outside of the frame's buffers. */
void misplace(AVFrame *frame, int plane, uint8_t *to) { frame->extended_data[plane] = to; }

/** A buffer that may not be written, though there is no other reference to it. */
void lock_buffer(AVFrame *frame) {
  AVBufferRef *old = frame->buf[0];
  frame->buf[0] = av_buffer_create(old->data, old->size, NULL, NULL, AV_BUFFER_FLAG_READONLY);
}

AVFrame *empty(void) { return av_frame_alloc(); }
AVFrame *cloned(const AVFrame *frame) { return av_frame_clone(frame); }
void unreferenced(AVFrame *frame) { av_frame_unref(frame); }
void freed(AVFrame *frame) { av_frame_free(&frame); }
int references(const AVFrame *frame) { return frame->buf[0] == NULL ? 0 : av_buffer_get_ref_count(frame->buf[0]); }
int is_writable(AVFrame *frame) { return av_frame_is_writable(frame); }
int format_of(const char *name) { return av_get_pix_fmt(name); }
uint8_t *plane_of(const AVFrame *frame, int plane) { return frame->extended_data[plane]; }
int linesize_of(const AVFrame *frame, int plane) { return frame->linesize[plane]; }

static void *free_slowly(void *frame) {
  usleep(20000);
  freed(frame);
  return NULL;
}

/** Frees it on a thread of C's, some milliseconds later. */
void freed_later(AVFrame *frame) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, free_slowly, frame) == 0) pthread_detach(thread);
}

void put(AVFrame *frame, int plane, int at, int value) { frame->data[plane][at] = value; }

/** A frame of a device's, in a frames context of its own; NULL if FFmpeg does not make it. */
AVFrame *hardware(AVBufferRef *device, const char *format, const char *stored, int width, int height) {
  AVBufferRef *ref = av_hwframe_ctx_alloc(device);
  if (ref == NULL) return NULL;
  AVHWFramesContext *frames = (AVHWFramesContext *)ref->data;
  frames->format = av_get_pix_fmt(format);
  frames->sw_format = av_get_pix_fmt(stored);
  frames->width = width;
  frames->height = height;
  AVFrame *frame = av_frame_alloc();
  if (av_hwframe_ctx_init(ref) < 0 || av_hwframe_get_buffer(ref, frame, 0) < 0) av_frame_free(&frame);
  av_buffer_unref(&ref);
  return frame;
}

/** A device that FFmpeg opens by itself; NULL if it does not. */
AVBufferRef *own_device(const char *name) {
  AVBufferRef *ref = NULL;
  return av_hwdevice_ctx_create(&ref, av_hwdevice_find_type_by_name(name), NULL, NULL, 0) < 0 ? NULL : ref;
}

/** Another frame of the same frames context. */
AVFrame *beside(const AVFrame *other) {
  AVFrame *frame = av_frame_alloc();
  if (av_hwframe_get_buffer(other->hw_frames_ctx, frame, 0) < 0) av_frame_free(&frame);
  return frame;
}

/** Copies pixels between a device's frame and one in memory. */
int transfer(AVFrame *to, const AVFrame *from) { return av_hwframe_transfer_data(to, from, 0); }

/** The same picture in another format, in place; NULL if FFmpeg cannot. */
AVFrame *mapped(const AVFrame *from, const char *format, int flags) {
  AVFrame *frame = av_frame_alloc();
  frame->format = av_get_pix_fmt(format);
  if (av_hwframe_map(frame, from, flags) < 0) av_frame_free(&frame);
  return frame;
}

int buffer_references(const AVBufferRef *ref) { return av_buffer_get_ref_count(ref); }
void unreference(AVBufferRef *ref) { av_buffer_unref(&ref); }

/** Sets the frames context of a frame, and returns the one before. The surface needs that for its end. */
AVBufferRef *swap_frames_context(AVFrame *frame, AVBufferRef *to) {
  AVBufferRef *before = frame->hw_frames_ctx;
  frame->hw_frames_ctx = to;
  return before;
}

/** A frame of DRM's, as a camera or a decoder of the kernel's has it: a layer for each format, a plane in each. */
AVFrame *drm_frame(int width, int height, int objects, const int32_t *fds, uint64_t size, uint64_t modifier, int layers,
                   const uint32_t *formats, const int64_t *places) {
  AVFrame *frame = av_frame_alloc();
  frame->format = AV_PIX_FMT_DRM_PRIME;
  frame->width = width;
  frame->height = height;
  frame->buf[0] = av_buffer_allocz(sizeof(AVDRMFrameDescriptor));
  AVDRMFrameDescriptor *drm = (AVDRMFrameDescriptor *)frame->buf[0]->data;
  frame->data[0] = frame->buf[0]->data;
  drm->nb_objects = objects;
  for (int i = 0; i < objects && i < AV_DRM_MAX_PLANES; i++) {
    drm->objects[i] = (AVDRMObjectDescriptor){fds[i], size, modifier};
  }
  drm->nb_layers = layers;
  for (int i = 0; i < layers && i < AV_DRM_MAX_PLANES; i++) {
    drm->layers[i].format = formats[i];
    drm->layers[i].nb_planes = 1;
    drm->layers[i].planes[0] = (AVDRMPlaneDescriptor){places[3 * i], places[3 * i + 1], places[3 * i + 2]};
  }
  return frame;
}

/** The second object of a DRM frame gets another modifier. */
void set_modifier(AVFrame *frame, int object, uint64_t modifier) {
  ((AVDRMFrameDescriptor *)frame->data[0])->objects[object].format_modifier = modifier;
}

/** What a DRM frame says: objects, layers, planes of the first layer, its format, and modifier, offset and pitch. */
void drm_facts(const AVFrame *frame, int64_t *out) {
  const AVDRMFrameDescriptor *drm = (const AVDRMFrameDescriptor *)frame->data[0];
  int64_t all[] = {drm->nb_objects, drm->nb_layers, drm->layers[0].nb_planes, drm->layers[0].format,
                   drm->objects[0].size, drm->objects[0].format_modifier, drm->layers[0].planes[1].offset,
                   drm->layers[0].planes[1].pitch};
  memcpy(out, all, sizeof all);
}

/** The handles of a CUDA device: context and stream. */
static void **cuda_of(const AVFrame *frame) {
  return ((AVHWFramesContext *)frame->hw_frames_ctx->data)->device_ctx->hwctx;
}

void set_cuda_context(AVFrame *frame, void *context) { cuda_of(frame)[0] = context; }
void set_cuda_stream(AVFrame *frame, void *stream) { cuda_of(frame)[1] = stream; }
