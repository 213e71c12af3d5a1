// The edges of a picture: how steep its brightness is, by Sobel's weights. A colour has none, so chroma is grey.
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
