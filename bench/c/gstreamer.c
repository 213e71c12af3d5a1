// A 1080p NV12 buffer of GStreamer's: mapped, made over memory of the program's, and through pipelines and OpenCL.
//
// What is mapped has a GstVideoMeta. One run of "frames" is SAMEPAGE_BENCH_FRAMES frames through both pipelines.
#include "harness.h"
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <gst/video/video.h>

enum { ACROSS = 1920, DOWN = 1080, LUMA = ACROSS * DOWN, PICTURE = LUMA * 3 / 2 };

static const gsize OFFSETS[GST_VIDEO_MAX_PLANES] = {0, LUMA};
static const gint STRIDES[GST_VIDEO_MAX_PLANES] = {ACROSS, ACROSS};

static GstVideoInfo info;
static GstBuffer *decoded;
static unsigned char *memory;

static void setup(void) {
  if (decoded != NULL) return;
  gst_init(NULL, NULL);
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_NV12, ACROSS, DOWN);
  decoded = gst_buffer_new_allocate(NULL, PICTURE, NULL);
  if (decoded == NULL) fail("gst_buffer_new_allocate failed");
  gst_buffer_add_video_meta_full(decoded, 0, GST_VIDEO_FORMAT_NV12, ACROSS, DOWN, 2, OFFSETS, STRIDES);
  memory = map_pages(PICTURE);
}

// GStreamer's to the program.
static void map(long count) {
  for (long i = 0; i < count; i++) {
    GstVideoFrame frame;
    if (!gst_video_frame_map(&frame, &info, decoded, GST_MAP_READ)) fail("gst_video_frame_map failed");
    gst_video_frame_unmap(&frame);
  }
}

static void leave(gpointer data) { (void)data; }

// The program's to GStreamer, as memory alone.
static void wrap(long count) {
  for (long i = 0; i < count; i++) {
    gst_memory_unref(gst_memory_new_wrapped(0, memory, PICTURE, 0, PICTURE, NULL, leave));
  }
}

// The same as a buffer that elements understand.
static void wrap_buffer(long count) {
  for (long i = 0; i < count; i++) {
    GstBuffer *buffer = gst_buffer_new();
    gst_buffer_append_memory(buffer, gst_memory_new_wrapped(0, memory, PICTURE, 0, PICTURE, NULL, leave));
    gst_buffer_add_video_meta_full(buffer, 0, GST_VIDEO_FORMAT_NV12, ACROSS, DOWN, 2, OFFSETS, STRIDES);
    gst_buffer_unref(buffer);
  }
}

// Pictures that the other pipeline may have at a time: in its queue, on the way, and one that it is through with.
enum { SLOTS = 8 };

static cl_kernel invert_to;
static struct {
  unsigned char *memory;
  gint lent;
} slots[SLOTS];

static void setup_frames(void) {
  setup();
  if (invert_to != NULL) return;
  invert_to = make_kernel("invert_to");
  for (int i = 0; i < SLOTS; i++) slots[i].memory = map_pages(PICTURE);
}

// A plane, inverted into memory of the program's: four bytes a work-item. The host sees it once it is mapped.
static void invert_plane(void *from, void *to, size_t length) {
  const size_t items = length / 4;
  cl_int code;
  cl_mem source = make_buffer(CL_MEM_USE_HOST_PTR, length, from), target = make_buffer(CL_MEM_USE_HOST_PTR, length, to);
  check(clSetKernelArg(invert_to, 0, sizeof source, &source), "clSetKernelArg");
  check(clSetKernelArg(invert_to, 1, sizeof target, &target), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(queue, invert_to, 1, NULL, &items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  void *seen = clEnqueueMapBuffer(queue, target, CL_TRUE, CL_MAP_READ, 0, length, 0, NULL, NULL, &code);
  check(code, "clEnqueueMapBuffer");
  check(clEnqueueUnmapMemObject(queue, target, seen, 0, NULL, NULL), "clEnqueueUnmapMemObject");
  check(clFinish(queue), "clFinish");
  check(clReleaseMemObject(source) | clReleaseMemObject(target), "clReleaseMemObject");
}

static void give_back(gpointer lent) { g_atomic_int_set((gint *)lent, 0); }

// A picture of one pipeline's, as one for the other.
static GstBuffer *inverted(GstBuffer *buffer, long number) {
  GstVideoFrame frame;
  unsigned char *to = slots[number % SLOTS].memory;
  gint *lent = &slots[number % SLOTS].lent;
  while (g_atomic_int_get(lent)) g_usleep(100);
  if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ)) fail("gst_video_frame_map failed");
  invert_plane(frame.data[0], to, LUMA);
  invert_plane(frame.data[1], to + LUMA, LUMA / 2);
  gst_video_frame_unmap(&frame);
  GstBuffer *made = gst_buffer_new();
  g_atomic_int_set(lent, 1);
  gst_buffer_append_memory(made, gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, to, PICTURE, 0, PICTURE, lent, give_back));
  gst_buffer_add_video_meta_full(made, 0, GST_VIDEO_FORMAT_NV12, ACROSS, DOWN, 2, OFFSETS, STRIDES);
  GST_BUFFER_PTS(made) = GST_BUFFER_PTS(buffer);
  GST_BUFFER_DURATION(made) = GST_BUFFER_DURATION(buffer);
  return made;
}

static GstElement *launched(const char *description) {
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch(description, &error);
  if (pipeline == NULL || error != NULL) fail("gst_parse_launch failed");
  return pipeline;
}

static void play(GstElement *pipeline) {
  if (gst_element_set_state(pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) fail("no state");
}

static void stop(GstElement *pipeline) {
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

static void wait_for_end(GstElement *pipeline) {
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *end = gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  if (GST_MESSAGE_TYPE(end) != GST_MESSAGE_EOS) fail("the pipeline failed");
  gst_message_unref(end);
  gst_object_unref(bus);
}

static void through_pipelines(long frames) {
  char description[1024];
  snprintf(description, sizeof description, getenv("SAMEPAGE_BENCH_FROM"), frames);
  GstElement *from = launched(description), *to = launched(getenv("SAMEPAGE_BENCH_TO"));
  GstElement *sink = gst_bin_get_by_name(GST_BIN(from), "out"), *source = gst_bin_get_by_name(GST_BIN(to), "in");
  GstCaps *caps = NULL;
  g_object_set(sink, "enable-last-sample", FALSE, NULL);
  g_object_set(source, "format", GST_FORMAT_TIME, "block", TRUE, NULL);
  play(from);
  play(to);
  long taken = 0;
  GstSample *sample;
  while ((sample = gst_app_sink_pull_sample(GST_APP_SINK(sink))) != NULL) {
    if (caps == NULL) gst_app_src_set_caps(GST_APP_SRC(source), caps = gst_caps_ref(gst_sample_get_caps(sample)));
    GstBuffer *made = inverted(gst_sample_get_buffer(sample), taken);
    gst_sample_unref(sample);
    if (gst_app_src_push_buffer(GST_APP_SRC(source), made) != GST_FLOW_OK) fail("gst_app_src_push_buffer failed");
    taken++;
  }
  if (taken != frames) fail("frames are missing");
  gst_app_src_end_of_stream(GST_APP_SRC(source));
  wait_for_end(to);
  gst_caps_unref(caps);
  gst_object_unref(sink);
  gst_object_unref(source);
  stop(from);
  stop(to);
}

static void frames(long count) {
  for (long i = 0; i < count; i++) through_pipelines(atol(getenv("SAMEPAGE_BENCH_FRAMES")));
}

// A pipeline of GStreamer's own elements, SAMEPAGE_BENCH_ELEMENTS, as gst-launch-1.0 runs it.
static void elements(long count) {
  for (long i = 0; i < count; i++) {
    GstElement *pipeline = launched(getenv("SAMEPAGE_BENCH_ELEMENTS"));
    play(pipeline);
    wait_for_end(pipeline);
    stop(pipeline);
  }
}

static const struct operation OPERATIONS[] = {
  {"elements", setup, elements, NULL, 0, NULL},
  {"map", setup, map, NULL, 0, NULL},
  {"wrap", setup, wrap, NULL, 0, NULL},
  {"wrap_buffer", setup, wrap_buffer, NULL, 0, NULL},
  {"frames", setup_frames, frames, NULL, 0, NULL},
};

SERVE(OPERATIONS)
