// One turn: every word has to be what the turn before has left there, and becomes what the next one expects.
extern "C" __global__ void turn(int *words, int n, int turn, unsigned *wrong) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, step = 2 * i + 1;
  if (i >= n) return;
  if (words[i] != turn * step) atomicAdd(wrong, 1u);
  words[i] = (turn + 1) * step;
}

// What comes behind it on its stream is late.
extern "C" __global__ void late(int cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {}
}
