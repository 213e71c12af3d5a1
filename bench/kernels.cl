// What every side of the bench runs: samepage, C and pyopencl build this same file.

// All bytes of a frame, one pixel of four a work-item.
kernel void invert(global uchar *pixels) {
  const size_t i = get_global_id(0);
  vstore4((uchar4)(255) - vload4(i, pixels), i, pixels);
}

// The same into other memory, which leaves the pixels as they are.
kernel void invert_to(global const uchar *pixels, global uchar *to) {
  const size_t i = get_global_id(0);
  vstore4((uchar4)(255) - vload4(i, pixels), i, to);
}

// One byte: work as small as a launch can have.
kernel void touch(global uchar *bytes) {
  bytes[get_global_id(0)] ^= 1;
}

// Six arguments: three buffers and three scalars.
kernel void six(global const uchar *a, global const uchar *b, global uchar *to, int n, uchar add, float scale) {
  const int i = get_global_id(0);
  if (i < n) to[i] = (uchar)((a[i] ^ b[i]) * scale) + add;
}

// One work-item for as long as `turns` take: each turn needs the one before it.
kernel void work(global uchar *bytes, uint turns) {
  uint x = bytes[0] + 1u;
  for (uint i = 0; i < turns; i++) x = x * x + (i ^ 0x9e3779b9u);
  bytes[0] ^= (uchar)x;
}

// A Gaussian of three by three weights over a plane of bytes.
kernel void gaussian(global const uchar *from, int stride, global uchar *to, int to_stride, int width, int height) {
  const int x = get_global_id(0), y = get_global_id(1);
  int sum = 8;
  for (int j = -1; j <= 1; j++) {
    for (int i = -1; i <= 1; i++) {
      const int weight = (2 - abs(i)) * (2 - abs(j));
      sum += weight * from[clamp(y + j, 0, height - 1) * stride + clamp(x + i, 0, width - 1)];
    }
  }
  to[y * to_stride + x] = (uchar)(sum >> 4);
}
