// The input of a model, as pipeline_bench.ts runs it: luma as three colours from -1 to 1, at a third of the size.
kernel void prepare(global const uchar *luma, int stride, global float *to, int across, int down) {
  const int x = get_global_id(0), y = get_global_id(1);
  int sum = 0;
  for (int v = 0; v < 3; v++) {
    for (int u = 0; u < 3; u++) sum += luma[(3 * y + v) * stride + 3 * x + u];
  }
  const float value = sum / (9 * 127.5f) - 1;
  for (int i = 0; i < 3; i++) to[(i * down + y) * across + x] = value;
}
