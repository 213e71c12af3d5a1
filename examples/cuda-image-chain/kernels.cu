// The three kernels of the chain, over an image of ints; the border is replicated. Grids may be rounded up.

// Filter 1: 1 2 1 along the rows. Each value is read once from memory, which may be the host's, and three times from
// shared memory: blockDim.x + 2 ints of it.
extern "C" __global__ void k1(const int *from, int *to, int width, int height) {
  extern __shared__ int row[];
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, last = width - 1;
  const int *line = from + y * width;
  row[threadIdx.x + 1] = line[min(x, last)];
  if (threadIdx.x == 0) row[0] = line[max(x - 1, 0)];
  if (threadIdx.x == blockDim.x - 1) row[threadIdx.x + 2] = line[min(x + 1, last)];
  __syncthreads();
  if (x < width) to[y * width + x] = row[threadIdx.x] + 2 * row[threadIdx.x + 1] + row[threadIdx.x + 2];
}

// Filter 2: 1 2 1 down the columns.
extern "C" __global__ void k2(const int *from, int *to, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width) return;
  to[y * width + x] = from[max(y - 1, 0) * width + x] + 2 * from[y * width + x] +
                      from[min(y + 1, height - 1) * width + x];
}

// Some operation on image data: what the filters have added up is divided by 16, rounded, and turned to its negative.
extern "C" __global__ void k3(const int *from, int *to, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) to[y * width + x] = 255 - ((from[y * width + x] + 8) >> 4);
}
