// A clip of H.264 through FFmpeg's decoder, edges by OpenCL, a detector of text by ONNX Runtime in every tenth frame, lines
// around its finds, and libx264 into a file of Matroska's: without a copy.
//
// The clip is SAMEPAGE_BENCH_CLIP, and the file SAMEPAGE_BENCH_OUT; pipeline.cl, libonnxruntime.so and the model are
// SAMEPAGE_BENCH_KERNELS, _ORT and _MODEL. One operation is a whole clip.
#include "harness.h"
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <dlfcn.h>
#include <onnxruntime_c_api.h>

static unsigned char *memory;

static void must(int code, const char *what) {
  if (code >= 0) return;
  fprintf(stderr, "%s: %d\n", what, code);
  exit(1);
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

enum { ACROSS = 640, DOWN = 352, EVERY = 10 };

static cl_kernel edges_kernel, prepare_kernel;
static const OrtApi *ort;
static OrtSession *session;
static OrtValue *model_input;
static float *model_memory;
static char *input_name, *output_name;
static long boxes_found;

static void ok(OrtStatus *status) {
  if (status != NULL) fail(ort->GetErrorMessage(status));
}

static void setup(void) {
  if (edges_kernel != NULL) return;
  av_log_set_level(AV_LOG_QUIET);
  build_program(getenv("SAMEPAGE_BENCH_KERNELS"));
  edges_kernel = make_kernel("edges");
  prepare_kernel = make_kernel("prepare");
  void *opened = dlopen(getenv("SAMEPAGE_BENCH_ORT"), RTLD_NOW);
  if (opened == NULL) fail(dlerror());
  ort = ((const OrtApiBase *(*)(void))dlsym(opened, "OrtGetApiBase"))()->GetApi(ORT_API_VERSION);
  OrtEnv *env;
  OrtSessionOptions *options;
  OrtMemoryInfo *info;
  OrtAllocator *allocator;
  ok(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "bench", &env));
  ok(ort->CreateSessionOptions(&options));
  ok(ort->SetIntraOpNumThreads(options, 2));
  ok(ort->CreateSession(env, getenv("SAMEPAGE_BENCH_MODEL"), options, &session));
  ok(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  ok(ort->GetAllocatorWithDefaultOptions(&allocator));
  ok(ort->SessionGetInputName(session, 0, allocator, &input_name));
  ok(ort->SessionGetOutputName(session, 0, allocator, &output_name));
  const int64_t shape[4] = {1, 3, DOWN, ACROSS};
  const size_t bytes = 3 * DOWN * ACROSS * sizeof *model_memory;
  model_memory = (float *)map_pages(bytes);
  ok(ort->CreateTensorWithDataAsOrtValue(info, model_memory, bytes, shape, 4, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &model_input));
}

static void edges(uint8_t *from, int stride, uint8_t *to, int to_stride, int width, int height, int plane) {
  const size_t items[2] = {(size_t)width, (size_t)height};
  cl_int code;
  cl_mem source = make_buffer(CL_MEM_USE_HOST_PTR, (size_t)stride * (height - 1) + width, from);
  cl_mem target = make_buffer(CL_MEM_USE_HOST_PTR, (size_t)to_stride * (height - 1) + width, to);
  check(clSetKernelArg(edges_kernel, 0, sizeof source, &source), "clSetKernelArg");
  check(clSetKernelArg(edges_kernel, 1, sizeof stride, &stride), "clSetKernelArg");
  check(clSetKernelArg(edges_kernel, 2, sizeof target, &target), "clSetKernelArg");
  check(clSetKernelArg(edges_kernel, 3, sizeof to_stride, &to_stride), "clSetKernelArg");
  check(clSetKernelArg(edges_kernel, 4, sizeof width, &width), "clSetKernelArg");
  check(clSetKernelArg(edges_kernel, 5, sizeof height, &height), "clSetKernelArg");
  check(clSetKernelArg(edges_kernel, 6, sizeof plane, &plane), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(queue, edges_kernel, 2, NULL, items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  void *seen = clEnqueueMapBuffer(queue, target, CL_TRUE, CL_MAP_READ, 0, width, 0, NULL, NULL, &code);
  check(code, "clEnqueueMapBuffer");
  check(clEnqueueUnmapMemObject(queue, target, seen, 0, NULL, NULL), "clEnqueueUnmapMemObject");
  check(clFinish(queue), "clFinish");
  check(clReleaseMemObject(source) | clReleaseMemObject(target), "clReleaseMemObject");
}

static void line(uint8_t *luma, int stride, int left, int top, int right, int bottom) {
  for (int y = top; y < bottom; y++) memset(luma + y * stride + left, 255, (size_t)(right - left));
}

// A box around what is connected with each likely pixel of the map, which is used up.
static void draw_boxes(float *map, uint8_t *luma, int stride, int width, int height) {
  static int waiting[4 * ACROSS * DOWN];
  for (int start = 0; start < ACROSS * DOWN; start++) {
    if (map[start] < 0.3f) continue;
    int left = ACROSS, top = DOWN, right = 0, bottom = 0, size = 0, count = 1;
    waiting[0] = start;
    while (count > 0) {
      const int at = waiting[--count];
      if (at < 0 || at >= ACROSS * DOWN || map[at] < 0.3f) continue;
      map[at] = 0;
      const int x = at % ACROSS, y = at / ACROSS;
      if (x < left) left = x;
      if (y < top) top = y;
      if (x + 1 > right) right = x + 1;
      if (y + 1 > bottom) bottom = y + 1;
      size++;
      if (x > 0) waiting[count++] = at - 1;
      if (x < ACROSS - 1) waiting[count++] = at + 1;
      waiting[count++] = at - ACROSS;
      waiting[count++] = at + ACROSS;
    }
    if (size < ACROSS * DOWN / 5000) continue;
    boxes_found++;
    left = left * width / ACROSS, right = right * width / ACROSS;
    top = top * height / DOWN, bottom = bottom * height / DOWN;
    line(luma, stride, left, top, right, top + 2);
    line(luma, stride, left, bottom - 2, right, bottom);
    line(luma, stride, left, top, left + 2, bottom);
    line(luma, stride, right - 2, top, right, bottom);
  }
}

static void detect_text(uint8_t *luma, int stride, int width, int height) {
  if (frames % EVERY != 0) return;
  const size_t items[2] = {ACROSS, DOWN};
  const int sizes[2] = {ACROSS, DOWN};
  cl_int code;
  cl_mem source = make_buffer(CL_MEM_USE_HOST_PTR, (size_t)stride * height, luma);
  cl_mem target = make_buffer(CL_MEM_USE_HOST_PTR, 3 * DOWN * ACROSS * sizeof(float), model_memory);
  check(clSetKernelArg(prepare_kernel, 0, sizeof source, &source), "clSetKernelArg");
  check(clSetKernelArg(prepare_kernel, 1, sizeof stride, &stride), "clSetKernelArg");
  check(clSetKernelArg(prepare_kernel, 2, sizeof target, &target), "clSetKernelArg");
  check(clSetKernelArg(prepare_kernel, 3, sizeof(int), &sizes[0]), "clSetKernelArg");
  check(clSetKernelArg(prepare_kernel, 4, sizeof(int), &sizes[1]), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(queue, prepare_kernel, 2, NULL, items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  void *seen = clEnqueueMapBuffer(queue, target, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &code);
  check(code, "clEnqueueMapBuffer");
  check(clEnqueueUnmapMemObject(queue, target, seen, 0, NULL, NULL), "clEnqueueUnmapMemObject");
  check(clFinish(queue), "clFinish");
  check(clReleaseMemObject(source) | clReleaseMemObject(target), "clReleaseMemObject");
  OrtValue *output = NULL;
  float *map;
  ok(ort->Run(session, NULL, (const char *const *)&input_name, (const OrtValue *const *)&model_input, 1,
              (const char *const *)&output_name, 1, &output));
  ok(ort->GetTensorMutableData(output, (void **)&map));
  draw_boxes(map, luma, stride, width, height);
  ort->ReleaseValue(output);
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
    edges(from->data[i], from->linesize[i], at, strides[i], strides[i], rows[i], i);
    if (i == 0) detect_text(at, strides[i], strides[i], rows[i]);
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

static void pipelines(long count) {
  for (long i = 0; i < count; i++) one_clip();
  if (boxes_found == 0) fail("no text was found");
}

static const struct operation OPERATIONS[] = {
  {"pipeline", setup, pipelines, NULL, 0, NULL},
};

SERVE(OPERATIONS)
