// A small RGB picture of an NV12 frame: each of its pixels is the mean of those that it covers (BT.601, limited range).
extern "C" __global__ void preview(
    const unsigned char *luma, int lumaStride, const unsigned char *chroma, int chromaStride, int width, int height,
    unsigned char *to, int toWidth, int toHeight) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= toWidth || y >= toHeight) return;
  const int left = x * width / toWidth, right = (x + 1) * width / toWidth;
  const int top = y * height / toHeight, bottom = (y + 1) * height / toHeight;
  int l = 0, u = 0, v = 0;
  for (int row = top; row < bottom; row++) {
    for (int column = left; column < right; column++) {
      const unsigned char *uv = chroma + (row / 2) * chromaStride + column / 2 * 2;
      l += luma[row * lumaStride + column];
      u += uv[0];
      v += uv[1];
    }
  }
  const float count = (right - left) * (bottom - top);
  const float light = 1.164f * (l / count - 16), blue = u / count - 128, red = v / count - 128;
  const float rgb[3] = {light + 1.596f * red, light - 0.392f * blue - 0.813f * red, light + 2.017f * blue};
  for (int i = 0; i < 3; i++) to[3 * (y * toWidth + x) + i] = fminf(fmaxf(rgb[i] + 0.5f, 0), 255);
}
