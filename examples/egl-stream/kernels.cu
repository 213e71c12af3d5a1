// The pixel that both processes expect: stripes that move with the frame's number, which the last channel has too.
__device__ uchar4 pixelOf(unsigned int frame, unsigned int x, unsigned int y) {
  return make_uchar4(x + 3 * frame, y + 5 * frame, (x ^ y) + frame, frame);
}

// The camera's: paints a frame.
extern "C" __global__ void paint(unsigned char *pixels, unsigned int frame, unsigned int width, unsigned int height) {
  unsigned int x = threadIdx.x + blockIdx.x * blockDim.x;
  unsigned int y = threadIdx.y + blockIdx.y * blockDim.y;
  if (x >= width || y >= height) return;
  reinterpret_cast<uchar4 *>(pixels)[y * width + x] = pixelOf(frame, x, y);
}

// The viewer's: counts the pixels that are not of this frame, or not in their places.
extern "C" __global__ void check(const unsigned char *pixels, unsigned int frame, unsigned int width,
                                 unsigned int height, unsigned int *wrong) {
  unsigned int x = threadIdx.x + blockIdx.x * blockDim.x;
  unsigned int y = threadIdx.y + blockIdx.y * blockDim.y;
  if (x >= width || y >= height) return;
  uchar4 seen = reinterpret_cast<const uchar4 *>(pixels)[y * width + x], expected = pixelOf(frame, x, y);
  if (seen.x != expected.x || seen.y != expected.y || seen.z != expected.z || seen.w != expected.w) atomicAdd(wrong, 1);
}
