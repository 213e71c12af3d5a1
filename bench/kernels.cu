// The kernels of CUDA's figures, which both sides run from the same cubin. A frame is n pieces of 16 bytes.

extern "C" {

// Six arguments, and nothing to do.
__global__ void six(const unsigned char *a, const unsigned char *b, unsigned char *to, int n, unsigned char add,
                    float scale) {}

// One byte.
__global__ void touch(unsigned char *to) { to[0] = 1; }

// Every byte becomes its inverse.
__global__ void invert(unsigned char *bytes, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 *at = (uint4 *)bytes + i;
  const uint4 piece = *at;
  *at = make_uint4(~piece.x, ~piece.y, ~piece.z, ~piece.w);
}

// All words, by exclusive or, into `sum`.
__global__ void read_all(const unsigned char *bytes, unsigned n, unsigned *sum) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint4 piece = i < n ? ((const uint4 *)bytes)[i] : make_uint4(0, 0, 0, 0);
  unsigned word = piece.x ^ piece.y ^ piece.z ^ piece.w;
  for (int distance = 16; distance > 0; distance /= 2) word ^= __shfl_xor_sync(0xffffffffu, word, distance);
  if (threadIdx.x % 32 == 0) atomicXor(sum, word);
}

// Every word becomes `word`.
__global__ void write_all(unsigned char *bytes, unsigned n, unsigned word) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ((uint4 *)bytes)[i] = make_uint4(word, word, word, word);
}

// Every byte becomes its inverse, and neighbouring threads are `stride` words apart.
__global__ void invert_strided(unsigned char *bytes, unsigned words, unsigned stride) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= words) return;
  const unsigned rows = words / stride;
  unsigned *at = (unsigned *)bytes + (i % rows) * stride + i / rows;
  *at = ~*at;
}

// What `turns` blocks of pieces have in common, for each piece: every piece is read `turns` times.
__global__ void read_again(const unsigned char *bytes, unsigned char *to, unsigned n, unsigned turns) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 all = make_uint4(0, 0, 0, 0);
  for (unsigned turn = 0; turn < turns; turn++) {
    const uint4 piece = ((const uint4 *)bytes)[(i + turn * blockDim.x) % n];
    all = make_uint4(all.x ^ piece.x, all.y ^ piece.y, all.z ^ piece.z, all.w ^ piece.w);
  }
  ((uint4 *)to)[i] = all;
}
}
