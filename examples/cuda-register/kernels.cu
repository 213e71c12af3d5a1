// The negative of every byte.
extern "C" __global__ void invert(unsigned char *bytes, unsigned int length) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < length) bytes[i] = 255 - bytes[i];
}
