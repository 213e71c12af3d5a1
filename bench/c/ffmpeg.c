// A 1080p NV12 frame of FFmpeg's: a reference to it, and an AVFrame over memory of the program's.
//
// A program is started without arguments; serve.h says what it answers.
#include "serve.h"
#include <libavutil/buffer.h>
#include <libavutil/frame.h>

enum { ACROSS = 1920, DOWN = 1080, LUMA = ACROSS * DOWN };

static AVFrame *decoded, *kept;
static unsigned char *memory;

static void setup(void) {
  if (decoded != NULL) return;
  memory = map_pages(LUMA * 3 / 2);
  decoded = av_frame_alloc();
  kept = av_frame_alloc();
  if (decoded == NULL || kept == NULL) fail("av_frame_alloc failed");
  decoded->format = AV_PIX_FMT_NV12;
  decoded->width = ACROSS;
  decoded->height = DOWN;
  if (av_frame_get_buffer(decoded, 0) < 0) fail("av_frame_get_buffer failed");
}

// FFmpeg's to the program: a reference, and no more.
static void reference(long count) {
  for (long i = 0; i < count; i++) {
    if (av_frame_ref(kept, decoded) < 0) fail("av_frame_ref failed");
    av_frame_unref(kept);
  }
}

static void leave(void *opaque, uint8_t *data) {
  (void)opaque;
  (void)data;
}

// The program's to FFmpeg.
static void hand_over(long count) {
  for (long i = 0; i < count; i++) {
    AVFrame *frame = av_frame_alloc();
    if (frame == NULL) fail("av_frame_alloc failed");
    frame->format = AV_PIX_FMT_NV12;
    frame->width = ACROSS;
    frame->height = DOWN;
    frame->data[0] = memory;
    frame->data[1] = memory + LUMA;
    frame->linesize[0] = frame->linesize[1] = ACROSS;
    frame->buf[0] = av_buffer_create(memory, LUMA * 3 / 2, leave, NULL, 0);
    if (frame->buf[0] == NULL) fail("av_buffer_create failed");
    av_frame_free(&frame);
  }
}

static const struct operation OPERATIONS[] = {
  {"reference", setup, reference, NULL, 0, NULL},
  {"hand_over", setup, hand_over, NULL, 0, NULL},
};

int main(int argc, char **argv) {
  (void)argc;
  (void)argv;
  return answer(OPERATIONS, sizeof OPERATIONS / sizeof *OPERATIONS);
}
