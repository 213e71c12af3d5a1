// A 1080p NV12 frame of GStreamer's: mapped and unmapped, and a GstBuffer over memory of the program's.
//
// A program is started without arguments; serve.h says what it answers.
#include "serve.h"
#include <gst/gst.h>
#include <gst/video/video.h>

enum { ACROSS = 1920, DOWN = 1080, LUMA = ACROSS * DOWN };

static GstBuffer *made;
static GstVideoInfo info;
static unsigned char *memory;
static gsize offsets[GST_VIDEO_MAX_PLANES] = {0, LUMA};
static gint strides[GST_VIDEO_MAX_PLANES] = {ACROSS, ACROSS};

static void setup(void) {
  if (made != NULL) return;
  gst_init(NULL, NULL);
  memory = map_pages(LUMA * 3 / 2);
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_NV12, ACROSS, DOWN);
  made = gst_buffer_new_allocate(NULL, LUMA * 3 / 2, NULL);
  if (made == NULL) fail("gst_buffer_new_allocate failed");
  gst_buffer_add_video_meta_full(made, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, ACROSS, DOWN, 2, offsets,
                                 strides);
}

// GStreamer's to the program.
static void map_frame(long count) {
  for (long i = 0; i < count; i++) {
    GstVideoFrame frame;
    if (!gst_video_frame_map(&frame, &info, made, GST_MAP_READ)) fail("gst_video_frame_map failed");
    gst_video_frame_unmap(&frame);
  }
}

static void leave(gpointer data) { (void)data; }

// The program's to GStreamer.
static void hand_over(long count) {
  for (long i = 0; i < count; i++) {
    GstBuffer *buffer = gst_buffer_new();
    gst_buffer_append_memory(
      buffer, gst_memory_new_wrapped(0, memory, LUMA * 3 / 2, 0, LUMA * 3 / 2, NULL, leave));
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, ACROSS, DOWN, 2, offsets,
                                   strides);
    gst_buffer_unref(buffer);
  }
}

static const struct operation OPERATIONS[] = {
  {"map_frame", setup, map_frame, NULL, 0, NULL},
  {"hand_over", setup, hand_over, NULL, 0, NULL},
};

int main(int argc, char **argv) {
  (void)argc;
  (void)argv;
  return answer(OPERATIONS, sizeof OPERATIONS / sizeof *OPERATIONS);
}
