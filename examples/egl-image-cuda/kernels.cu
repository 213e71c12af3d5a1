// The listing's kernel (CUDA for Tegra, §4.2.1): every pixel of a surface becomes 1, 2, 3, 4.
extern "C" __global__ void changeTexture(cudaSurfaceObject_t arr, unsigned int width, unsigned int height) {
  unsigned int x = threadIdx.x + blockIdx.x * blockDim.x;
  unsigned int y = threadIdx.y + blockIdx.y * blockDim.y;
  if (x >= width || y >= height) return;
  uchar4 data = make_uchar4(1, 2, 3, 4);
  surf2Dwrite(data, arr, x * 4, y);
}

// Reads each pixel through the surface, adds rings around the middle, and writes it back.
extern "C" __global__ void addRings(cudaSurfaceObject_t arr, unsigned int width, unsigned int height) {
  unsigned int x = threadIdx.x + blockIdx.x * blockDim.x;
  unsigned int y = threadIdx.y + blockIdx.y * blockDim.y;
  if (x >= width || y >= height) return;
  int dx = (int) x - (int) width / 2, dy = (int) y - (int) height / 2;
  unsigned char ring = (unsigned char) ((dx * dx + dy * dy) >> 5);
  uchar4 data = surf2Dread<uchar4>(arr, x * 4, y);
  surf2Dwrite(make_uchar4(data.x + ring, data.y + ring, data.z + ring, 255), arr, x * 4, y);
}
