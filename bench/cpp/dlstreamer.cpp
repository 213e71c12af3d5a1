// Intel DL Streamer's own mappers, by its own headers, unchanged: CPU tensor to Mat, OpenCL tensor to UMat.
#include "opencv.hpp"
#include "dlstreamer/image_info.h"
#include "dlstreamer/cpu/tensor.h"
#include "dlstreamer/opencv/mappers/cpu_to_opencv.h"
#include "dlstreamer/opencv_umat/mappers/opencl_to_opencv_umat.h"

static const dlstreamer::TensorInfo INFO({HEIGHT, WIDTH, 4}, dlstreamer::DataType::UInt8);
static dlstreamer::TensorPtr frame, buffer;

static void setup_mat() { frame = std::make_shared<dlstreamer::CPUTensor>(INFO, make_frame()); }

static void mat(long count) {
  dlstreamer::MemoryMapperCPUToOpenCV mapper;
  for (long i = 0; i < count; i++) look_at(mapper.map(frame, dlstreamer::AccessMode::ReadWrite).get());
}

static void setup_umat() {
  attach();
  buffer = std::make_shared<dlstreamer::OpenCLTensor>(INFO, nullptr, make_buffer(0, FRAME, NULL));
}

static void umat(long count) {
  dlstreamer::MemoryMapperOpenCLToOpenCVUMat mapper(nullptr, nullptr);
  for (long i = 0; i < count; i++) look_at(mapper.map(buffer, dlstreamer::AccessMode::ReadWrite).get());
}

static const struct operation OPERATIONS[] = {
  {"mat", setup_mat, mat, NULL, 0, NULL},
  {"umat", setup_umat, umat, NULL, 0, NULL},
};

SERVE(OPERATIONS)
