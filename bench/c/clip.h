// A clip of H.264 through FFmpeg's decoder, a kernel of OpenCL's over each plane, and libx264, into a file of Matroska's:
// without a copy. The clip is SAMEPAGE_BENCH_CLIP, and the file SAMEPAGE_BENCH_OUT. Who includes this says what the work is.
#include "harness.h"
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

static unsigned char *memory;

// The work on a plane of the decoder's: it writes a plane of ours, which the encoder reads.
static void work(uint8_t *from, int stride, uint8_t *to, int to_stride, int width, int height, int plane);

static void must(int code, const char *what) {
  if (code >= 0) return;
  fprintf(stderr, "%s: %d\n", what, code);
  exit(1);
}

// A kernel from host memory into host memory, which the host sees once it is mapped. Its arguments are the source, its
// stride, the target, and the other numbers.
static void run_kernel(cl_kernel kernel, const size_t items[2], void *from, size_t from_length, void *to, size_t to_length,
                       const int *numbers, cl_uint count) {
  cl_int code;
  cl_mem source = make_buffer(CL_MEM_USE_HOST_PTR, from_length, from);
  cl_mem target = make_buffer(CL_MEM_USE_HOST_PTR, to_length, to);
  check(clSetKernelArg(kernel, 0, sizeof source, &source), "clSetKernelArg");
  check(clSetKernelArg(kernel, 2, sizeof target, &target), "clSetKernelArg");
  for (cl_uint i = 0; i < count; i++) {
    check(clSetKernelArg(kernel, i == 0 ? 1 : i + 2, sizeof *numbers, &numbers[i]), "clSetKernelArg");
  }
  check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  void *seen = clEnqueueMapBuffer(queue, target, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &code);
  check(code, "clEnqueueMapBuffer");
  check(clEnqueueUnmapMemObject(queue, target, seen, 0, NULL, NULL), "clEnqueueUnmapMemObject");
  check(clFinish(queue), "clFinish");
  check(clReleaseMemObject(source) | clReleaseMemObject(target), "clReleaseMemObject");
}

// The same from a plane into another.
static void run_plane(cl_kernel kernel, uint8_t *from, uint8_t *to, const int *numbers, cl_uint count) {
  const int stride = numbers[0], to_stride = numbers[1], width = numbers[2], height = numbers[3];
  const size_t items[2] = {(size_t)width, (size_t)height};
  const size_t before = (size_t)height - 1;
  run_kernel(kernel, items, from, stride * before + width, to, to_stride * before + width, numbers, count);
}

static void leave(void *opaque, uint8_t *data) {
  (void)opaque;
  (void)data;
}

static AVFormatContext *in, *out;
static AVCodecContext *decoder, *encoder;
static AVStream *stream;
static AVPacket *written;
static int64_t frames;

static void open_encoder(const AVFrame *first, AVRational rate) {
  const AVCodec *codec = avcodec_find_encoder_by_name("libx264");
  if (codec == NULL) fail("there is no libx264");
  must(avformat_alloc_output_context2(&out, NULL, NULL, getenv("SAMEPAGE_BENCH_OUT")), "avformat_alloc_output_context2");
  encoder = avcodec_alloc_context3(codec);
  encoder->width = first->width;
  encoder->height = first->height;
  encoder->pix_fmt = first->format;
  encoder->framerate = rate;
  encoder->time_base = av_inv_q(rate);
  encoder->thread_count = 0;
  encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  AVDictionary *options = NULL;
  must(av_dict_set(&options, "preset", "ultrafast", 0), "av_dict_set");
  must(avcodec_open2(encoder, codec, &options), "avcodec_open2");
  av_dict_free(&options);
  stream = avformat_new_stream(out, NULL);
  stream->time_base = encoder->time_base;
  must(avcodec_parameters_from_context(stream->codecpar, encoder), "avcodec_parameters_from_context");
  must(avio_open(&out->pb, getenv("SAMEPAGE_BENCH_OUT"), AVIO_FLAG_WRITE), "avio_open");
  must(avformat_write_header(out, NULL), "avformat_write_header");
}

static void encode(AVFrame *frame) {
  must(avcodec_send_frame(encoder, frame), "avcodec_send_frame");
  while (avcodec_receive_packet(encoder, written) == 0) {
    av_packet_rescale_ts(written, encoder->time_base, stream->time_base);
    must(av_interleaved_write_frame(out, written), "av_interleaved_write_frame");
  }
}

static void through(AVFrame *from, AVRational rate) {
  const int strides[3] = {from->width, from->width / 2, from->width / 2};
  const int rows[3] = {from->height, from->height / 2, from->height / 2};
  const size_t length = (size_t)from->width * from->height * 3 / 2;
  if (memory == NULL) memory = map_pages(length + 64);
  if (encoder == NULL) open_encoder(from, rate);
  AVFrame *to = av_frame_alloc();
  uint8_t *at = memory;
  for (int i = 0; i < 3; i++) {
    work(from->data[i], from->linesize[i], at, strides[i], strides[i], rows[i], i);
    to->data[i] = at;
    to->linesize[i] = strides[i];
    at += (size_t)strides[i] * rows[i];
  }
  to->buf[0] = av_buffer_create(memory, length, leave, NULL, AV_BUFFER_FLAG_READONLY);
  to->width = from->width;
  to->height = from->height;
  to->format = from->format;
  to->pts = frames++;
  encode(to);
  av_frame_free(&to);
}

static void one_clip(void) {
  const AVCodec *codec;
  must(avformat_open_input(&in, getenv("SAMEPAGE_BENCH_CLIP"), NULL, NULL), "avformat_open_input");
  must(avformat_find_stream_info(in, NULL), "avformat_find_stream_info");
  const int index = av_find_best_stream(in, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
  must(index, "av_find_best_stream");
  decoder = avcodec_alloc_context3(codec);
  must(avcodec_parameters_to_context(decoder, in->streams[index]->codecpar), "avcodec_parameters_to_context");
  decoder->thread_count = 0;
  must(avcodec_open2(decoder, codec, NULL), "avcodec_open2");
  AVPacket *packet = av_packet_alloc();
  AVFrame *frame = av_frame_alloc();
  written = av_packet_alloc();
  frames = 0;
  for (int reading = 1; reading;) {
    reading = av_read_frame(in, packet) >= 0;
    if (!reading || packet->stream_index == index) must(avcodec_send_packet(decoder, reading ? packet : NULL), "avcodec_send_packet");
    av_packet_unref(packet);
    while (avcodec_receive_frame(decoder, frame) == 0) through(frame, in->streams[index]->avg_frame_rate);
  }
  encode(NULL);
  must(av_write_trailer(out), "av_write_trailer");
  avcodec_free_context(&encoder);
  avcodec_free_context(&decoder);
  must(avio_closep(&out->pb), "avio_closep");
  avformat_free_context(out);
  avformat_close_input(&in);
  av_frame_free(&frame);
  av_packet_free(&packet);
  av_packet_free(&written);
}
