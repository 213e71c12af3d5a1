// What the pipeline of pipeline_bench.ts runs on each frame: examples/video-edges/edges.cl, and the input of a model.

// The edges of a picture, by Sobel's weights. A colour has none, so chroma is grey.
kernel void edges(global const uchar *from, int stride, global uchar *to, int toStride, int width, int height, int plane) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (plane > 0) {
    to[y * toStride + x] = 128;
    return;
  }
  global const uchar *above = from + max(y - 1, 0) * stride;
  global const uchar *row = from + y * stride;
  global const uchar *below = from + min(y + 1, height - 1) * stride;
  const int left = max(x - 1, 0), right = min(x + 1, width - 1);
  const int across = above[right] + 2 * row[right] + below[right] - above[left] - 2 * row[left] - below[left];
  const int down = below[left] + 2 * below[x] + below[right] - above[left] - 2 * above[x] - above[right];
  to[y * toStride + x] = min((int)(abs(across) + abs(down)) / 2, 255);
}

// Luma as three colours from -1 to 1, at a third of the size.
kernel void prepare(global const uchar *luma, int stride, global float *to, int across, int down) {
  const int x = get_global_id(0), y = get_global_id(1);
  int sum = 0;
  for (int v = 0; v < 3; v++) {
    for (int u = 0; u < 3; u++) sum += luma[(3 * y + v) * stride + 3 * x + u];
  }
  const float value = sum / (9 * 127.5f) - 1;
  for (int i = 0; i < 3; i++) to[(i * down + y) * across + x] = value;
}
