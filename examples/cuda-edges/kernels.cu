// Edges of a grey picture in CUDA C++: the steps of ../edges/host.ts and of ../edges/kernels.cl, under their names, and
// byte for byte their results.
//
// Run them in this order. Every plane is width x height, row by row, without padding.
//
//   kernel        reads                     writes                    scalars                   threads
//   blur_rows     grey unsigned char        rows unsigned short       width, height             one a pixel
//   blur_columns  rows unsigned short       blurred unsigned char     width, height             one a pixel
//   gradient      blurred unsigned char     gradient unsigned short   width, height             one a pixel
//   suppress      gradient unsigned short   classes unsigned char     width, height, low, high  one a pixel
//   hysteresis                              classes unsigned char     width, height             one block a tile of
//                                           changed int                                         TILE x TILE pixels
//   finish        classes unsigned char     edges unsigned char       width, height             one a pixel
//
// hysteresis works on the classes in place. It is repeated, with `changed` set to 0 before each launch, until a launch
// leaves it 0.
//
// Only blur_rows reads the picture, and only finish writes the result: these two planes may lie across a bus. Between
// them two planes are enough: blurred and classes may be one (no kernel reads one and writes the other), rows and
// gradient another.
//
// Grids may be rounded up: threads outside of the picture do nothing. TILE is defined by whoever compiles this.

// What a pixel is between suppress and finish.
enum { NONE = 0, WEAK = 1, STRONG = 255 };

// Where the gradient points, to the nearest 45 degrees: the two lowest bits of gradient, below the magnitude.
enum { HORIZONTAL = 0, VERTICAL = 1, DIAGONAL = 2, ANTIDIAGONAL = 3 };

// tan(22.5 degrees) in 15 fractional bits; tan(67.5 degrees) is 2 more.
#define TAN_22 13573
#define TAN_SHIFT 15

// The Gaussian of sigma = 1.2 at -2..2 in 8 fractional bits; the border is replicated. Not rounded: 256 x brightness.
extern "C" __global__ void blur_rows(const unsigned char *grey, unsigned short *rows, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const unsigned char *row = grey + y * width;
  const int last = width - 1;
  rows[y * width + x] = 22 * (row[max(x - 2, 0)] + row[min(x + 2, last)]) +
                        62 * (row[max(x - 1, 0)] + row[min(x + 1, last)]) + 88 * row[x];
}

// The same down the columns, rounded to 8 bits.
extern "C" __global__ void blur_columns(const unsigned short *rows, unsigned char *blurred, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const unsigned short *column = rows + x;
  const int last = height - 1;
  const int sum = 22 * (column[max(y - 2, 0) * width] + column[min(y + 2, last) * width]) +
                  62 * (column[max(y - 1, 0) * width] + column[min(y + 1, last) * width]) + 88 * column[y * width];
  blurred[y * width + x] = (sum + 32768) >> 16;
}

__device__ int direction_of(int dx, int dy) {
  const int rise = abs(dy) << TAN_SHIFT;
  const int flat = abs(dx) * TAN_22;
  if (rise < flat) return HORIZONTAL;
  if (rise > flat + (abs(dx) << (TAN_SHIFT + 1))) return VERTICAL;
  return (dx ^ dy) < 0 ? ANTIDIAGONAL : DIAGONAL;
}

// Sobel's 3x3 derivatives with a replicated border, packed as (|dx| + |dy|) x 4 + direction.
extern "C" __global__ void gradient(const unsigned char *blurred, unsigned short *gradient, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const unsigned char *above = blurred + max(y - 1, 0) * width;
  const unsigned char *here = blurred + y * width;
  const unsigned char *below = blurred + min(y + 1, height - 1) * width;
  const int left = max(x - 1, 0), right = min(x + 1, width - 1);
  const int dx = above[right] - above[left] + 2 * (here[right] - here[left]) + below[right] - below[left];
  const int dy = below[left] - above[left] + 2 * (below[x] - above[x]) + below[right] - above[right];
  gradient[y * width + x] = (abs(dx) + abs(dy)) << 2 | direction_of(dx, dy);
}

__device__ int magnitude_at(const unsigned short *gradient, int width, int height, int x, int y) {
  return x >= 0 && x < width && y >= 0 && y < height ? gradient[y * width + x] >> 2 : 0;
}

// Keeps the pixels above `low` that are a maximum along the gradient. Of two equal neighbours across or down the first
// is kept; on a diagonal neither.
extern "C" __global__ void suppress(const unsigned short *gradient, unsigned char *classes, int width, int height,
                                    int low, int high) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int i = y * width + x;
  const int here = gradient[i] >> 2;
  unsigned char found = NONE;
  if (here > low) {
    const int direction = gradient[i] & 3;
    const int step_x = direction == VERTICAL ? 0 : direction == ANTIDIAGONAL ? -1 : 1;
    const int step_y = direction == HORIZONTAL ? 0 : 1;
    const int before = magnitude_at(gradient, width, height, x - step_x, y - step_y);
    const int after = magnitude_at(gradient, width, height, x + step_x, y + step_y);
    if (here > before && (here > after || (here == after && direction < DIAGONAL))) found = here > high ? STRONG : WEAK;
  }
  classes[i] = found;
}

__device__ bool touches_strong(const volatile unsigned char *classes, int width, int height, int x, int y) {
  const volatile unsigned char *above = classes + max(y - 1, 0) * width;
  const volatile unsigned char *here = classes + y * width;
  const volatile unsigned char *below = classes + min(y + 1, height - 1) * width;
  const int left = max(x - 1, 0), right = min(x + 1, width - 1);
  return above[left] == STRONG || above[x] == STRONG || above[right] == STRONG || here[left] == STRONG ||
         here[right] == STRONG || below[left] == STRONG || below[x] == STRONG || below[right] == STRONG;
}

// Makes weak pixels strong that touch a strong one. The threads of a block sweep their tile together, until a sweep
// changes nothing; `changed` says that the neighbours may have work again. Threads read what others are writing: a
// pixel only ever goes from weak to strong, and whatever one of them misses the next sweep sees, or the next launch, so
// the result is the same in any order.
extern "C" __global__ void hysteresis(volatile unsigned char *classes, int *changed, int width, int height) {
  const int left = blockIdx.x * TILE, top = blockIdx.y * TILE;
  const int threads = blockDim.x * blockDim.y, thread = threadIdx.y * blockDim.x + threadIdx.x;
  for (bool again = true; again;) {
    bool found = false;
    for (int i = thread; i < TILE * TILE; i += threads) {
      const int x = left + i % TILE, y = top + i / TILE;
      if (x >= width || y >= height) continue;
      if (classes[y * width + x] == WEAK && touches_strong(classes, width, height, x, y)) {
        classes[y * width + x] = STRONG;
        found = true;
      }
    }
    again = __syncthreads_or(found);
    if (again && thread == 0) *changed = 1;
  }
}

// Drops the weak pixels that are left: 255 on an edge, 0 elsewhere.
extern "C" __global__ void finish(const unsigned char *classes, unsigned char *edges, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int i = y * width + x;
  edges[i] = classes[i] == STRONG ? STRONG : NONE;
}
