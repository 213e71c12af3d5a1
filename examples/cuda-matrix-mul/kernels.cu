// r = p x q, row by row: p has hp x wp ints, q has hq x wq (hq = wp), r has hp x wq. A block of
// TILE x TILE threads makes as many of them; TILE is defined by whoever compiles this.

extern "C" __global__ void matrixMul(const int *p, const int *q, int *r, int hp, int hq, int wp, int wq) {
  __shared__ int p_tile[TILE][TILE], q_tile[TILE][TILE];
  const int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  int sum = 0;
  for (int start = 0; start < wp; start += TILE) {
    const int along = start + threadIdx.x, down = start + threadIdx.y;
    p_tile[threadIdx.y][threadIdx.x] = row < hp && along < wp ? p[row * wp + along] : 0;
    q_tile[threadIdx.y][threadIdx.x] = down < hq && column < wq ? q[down * wq + column] : 0;
    __syncthreads();
    for (int i = 0; i < TILE; i++) sum += p_tile[threadIdx.y][i] * q_tile[i][threadIdx.x];
    __syncthreads();
  }
  if (row < hp && column < wq) r[row * wq + column] = sum;
}
