// The examples' kernels as C++ for the CPU: a block's threads are threads where they wait for each other, and follow each
// other where they do not. It shows that they add up right; nothing of how a GPU runs them.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

using std::max;
using std::min;

struct Extent {
  unsigned x, y;
};
static thread_local Extent blockIdx, threadIdx;
static Extent blockDim;

static pthread_barrier_t barrier;
static std::atomic<int> any[2];
static thread_local unsigned turn;

static void __syncthreads() { pthread_barrier_wait(&barrier); }

static int __syncthreads_or(int value) {
  std::atomic<int> &found = any[turn++ % 2];
  if (value) found = 1;
  pthread_barrier_wait(&barrier);
  const int result = found;
  pthread_barrier_wait(&barrier);
  found = 0;
  return result;
}

int row[4096];  // k1's shared memory

#define __global__
#define __device__
#define __shared__ static
namespace edges {
#define TILE 32
#include "../../../examples/cuda-edges/kernels.cu"
#undef TILE
}  // namespace edges
namespace matrix {
#define TILE 16
#include "../../../examples/cuda-matrix-mul/kernels.cu"
}  // namespace matrix
#undef __shared__
#define __shared__
#include "../../../examples/cuda-image-chain/kernels.cu"
#include "../../../examples/cuda-register/kernels.cu"
#include "../../../examples/nvdec-cuda/preview.cu"

static void launch(Extent grid, Extent block, bool together, const std::function<void()> &kernel) {
  const unsigned count = block.x * block.y;
  blockDim = block;
  for (unsigned b = 0; b < grid.x * grid.y; b++) {
    const auto run = [&](unsigned t) {
      blockIdx = {b % grid.x, b / grid.x};
      threadIdx = {t % block.x, t / block.x};
      turn = 0;
      kernel();
    };
    if (!together) {
      for (unsigned t = 0; t < count; t++) run(t);
      continue;
    }
    pthread_barrier_init(&barrier, nullptr, count);
    any[0] = any[1] = 0;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < count; t++) threads.emplace_back(run, t);
    for (std::thread &thread : threads) thread.join();
    pthread_barrier_destroy(&barrier);
  }
}

// An argument by its place.
struct Arguments {
  void **values;
  template <class T>
  operator T *() {
    return *static_cast<T **>(*values++);
  }
  operator int() { return *static_cast<int *>(*values++); }
  operator unsigned() { return *static_cast<unsigned *>(*values++); }
};

template <class... Ts>
static std::function<void()> bound(void (*kernel)(Ts...), Arguments next) {
  const std::tuple<Ts...> args{static_cast<Ts>(next)...};  // in order: these are braces
  return [=] { std::apply(kernel, args); };
}

// Runs a kernel by its name; answers whether there is one.
extern "C" int run_kernel(const char *name, unsigned grid_x, unsigned grid_y, unsigned block_x, unsigned block_y,
                          void **args) {
  const auto run = [&](bool together, const std::function<void()> &kernel) {
    launch({grid_x, grid_y}, {block_x, block_y}, together, kernel);
    return 1;
  };
#define KERNEL(together, kernel) \
  if (std::strcmp(name, #kernel) == 0) return run(together, bound(kernel, Arguments{args}))
  using namespace edges;
  using namespace matrix;
  KERNEL(false, blur_rows);
  KERNEL(false, blur_columns);
  KERNEL(false, gradient);
  KERNEL(false, suppress);
  KERNEL(true, hysteresis);
  KERNEL(false, finish);
  KERNEL(true, matrixMul);
  KERNEL(true, k1);
  KERNEL(false, k2);
  KERNEL(false, k3);
  KERNEL(false, invert);
  KERNEL(false, preview);
  return 0;
}
