// Edges of a photograph in OpenCL C 1.2: the steps of host.ts, under its names, and byte for byte its results.
//
// Run them in this order. Every plane is width x height, row by row, without padding.
//
//   kernel        reads             writes            scalars                   work-items
//   grey          rgba uchar (x 4)  grey uchar        width, height             width x height
//   blur_rows     grey uchar        rows ushort       width, height             width x height
//   blur_columns  rows ushort       blurred uchar     width, height             width x height
//   gradient      blurred uchar     gradient ushort   width, height             width x height
//   suppress      gradient ushort   edges uchar       width, height, low, high  width x height
//   hysteresis                      edges uchar       width, height, tile       ceil(width / tile) x
//                                   changed int       (tile <= 64)              ceil(height / tile)
//   finish                          edges uchar       width, height             width x height
//
// Arguments come in the order of that table: what is read, what is written, the scalars (all int). hysteresis and
// finish work on edges in place. `changed` is one int: hysteresis is repeated, with `changed` set to 0 before each
// launch, until a launch leaves it 0.
//
// Both dimensions of a range may be rounded up to any multiple; work-items outside of the picture do nothing. Do round
// them (to 64, say): a width that is a prime number leaves a driver no work-group but of one item.
//
// Two planes are enough between rgba and edges: grey, blurred and edges may be one (no kernel reads one of them and
// writes another), rows and gradient another: 3 bytes a pixel, beside the 4 of rgba.

// What a pixel is between suppress and finish.
enum { NONE = 0, WEAK = 1, STRONG = 255 };

// Where the gradient points, to the nearest 45 degrees: the two lowest bits of gradient, below the magnitude.
enum { HORIZONTAL = 0, VERTICAL = 1, DIAGONAL = 2, ANTIDIAGONAL = 3 };

// tan(22.5 degrees) in 15 fractional bits; tan(67.5 degrees) is 2 more.
#define TAN_22 13573
#define TAN_SHIFT 15

// Luma by ITU-R BT.601 in 15 fractional bits.
kernel void grey(global const uchar *rgba, global uchar *grey, int width, int height) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  const int i = y * width + x;
  const int4 pixel = convert_int4(vload4(i, rgba));
  grey[i] = (9798 * pixel.x + 19235 * pixel.y + 3735 * pixel.z + 16384) >> 15;
}

// The Gaussian of sigma = 1.2 at -2..2 in 8 fractional bits; the border is replicated. Not rounded: 256 x brightness.
kernel void blur_rows(global const uchar *grey, global ushort *rows, int width, int height) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  global const uchar *row = grey + y * width;
  const int last = width - 1;
  rows[y * width + x] = 22 * (row[max(x - 2, 0)] + row[min(x + 2, last)]) +
                        62 * (row[max(x - 1, 0)] + row[min(x + 1, last)]) + 88 * row[x];
}

// The same down the columns, rounded to 8 bits.
kernel void blur_columns(global const ushort *rows, global uchar *blurred, int width, int height) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  global const ushort *column = rows + x;
  const int last = height - 1;
  const int sum = 22 * (column[max(y - 2, 0) * width] + column[min(y + 2, last) * width]) +
                  62 * (column[max(y - 1, 0) * width] + column[min(y + 1, last) * width]) + 88 * column[y * width];
  blurred[y * width + x] = (sum + 32768) >> 16;
}

int direction_of(int dx, int dy) {
  const int rise = (int)abs(dy) << TAN_SHIFT;
  const int flat = (int)abs(dx) * TAN_22;
  if (rise < flat) return HORIZONTAL;
  if (rise > flat + ((int)abs(dx) << (TAN_SHIFT + 1))) return VERTICAL;
  return (dx ^ dy) < 0 ? ANTIDIAGONAL : DIAGONAL;
}

// Sobel's 3x3 derivatives with a replicated border, packed as (|dx| + |dy|) x 4 + direction.
kernel void gradient(global const uchar *blurred, global ushort *gradient, int width, int height) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  global const uchar *above = blurred + max(y - 1, 0) * width;
  global const uchar *here = blurred + y * width;
  global const uchar *below = blurred + min(y + 1, height - 1) * width;
  const int left = max(x - 1, 0), right = min(x + 1, width - 1);
  const int dx = above[right] - above[left] + 2 * (here[right] - here[left]) + below[right] - below[left];
  const int dy = below[left] - above[left] + 2 * (below[x] - above[x]) + below[right] - above[right];
  gradient[y * width + x] = (int)(abs(dx) + abs(dy)) << 2 | direction_of(dx, dy);
}

int magnitude_at(global const ushort *gradient, int width, int height, int x, int y) {
  return x >= 0 && x < width && y >= 0 && y < height ? gradient[y * width + x] >> 2 : 0;
}

// Keeps the pixels above `low` that are a maximum along the gradient. Of two equal neighbours across or down the first
// is kept; on a diagonal neither.
kernel void suppress(global const ushort *gradient, global uchar *edges, int width, int height, int low, int high) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  const int i = y * width + x;
  const int here = gradient[i] >> 2;
  uchar class = NONE;
  if (here > low) {
    const int direction = gradient[i] & 3;
    const int step_x = direction == VERTICAL ? 0 : direction == ANTIDIAGONAL ? -1 : 1;
    const int step_y = direction == HORIZONTAL ? 0 : 1;
    const int before = magnitude_at(gradient, width, height, x - step_x, y - step_y);
    const int after = magnitude_at(gradient, width, height, x + step_x, y + step_y);
    if (here > before && (here > after || (here == after && direction < DIAGONAL))) class = here > high ? STRONG : WEAK;
  }
  edges[i] = class;
}

// Some compilers cut a long loop short without a word: Mesa's llvmpipe after 65,535 turns of all the loops in one
// work-item together. 15 sweeps of a 64 x 64 tile stay below that.
#define MAX_SWEEPS 15

bool touches_strong(global const uchar *edges, int width, int height, int x, int y) {
  global const uchar *above = edges + max(y - 1, 0) * width;
  global const uchar *here = edges + y * width;
  global const uchar *below = edges + min(y + 1, height - 1) * width;
  const int left = max(x - 1, 0), right = min(x + 1, width - 1);
  return above[left] == STRONG || above[x] == STRONG || above[right] == STRONG || here[left] == STRONG ||
         here[right] == STRONG || below[left] == STRONG || below[x] == STRONG || below[right] == STRONG;
}

// Makes weak pixels strong that touch a strong one. Each work-item sweeps its own tile x tile square (tile <= 64), down
// and up in turn, until a sweep changes nothing; `changed` says that the neighbours may have work again. Work-items
// read across the seams what others are writing: whatever they miss, the writer has set `changed`, so the next launch
// sees it, and the result is the same in any order.
kernel void hysteresis(global uchar *edges, global int *changed, int width, int height, int tile) {
  const int left = get_global_id(0) * tile, top = get_global_id(1) * tile;
  const int columns = min(tile, width - left), rows = min(tile, height - top);
  bool again = true;
  for (int sweep = 0; again && sweep < MAX_SWEEPS; sweep++) {
    const bool up = sweep & 1;
    again = false;
    for (int r = 0; r < rows; r++) {
      const int y = top + (up ? rows - 1 - r : r);
      for (int c = 0; c < columns; c++) {
        const int x = left + (up ? columns - 1 - c : c);
        if (edges[y * width + x] == WEAK && touches_strong(edges, width, height, x, y)) {
          edges[y * width + x] = STRONG;
          again = true;
        }
      }
    }
    if (again) *changed = 1;
  }
}

// Drops the weak pixels that are left: 255 on an edge, 0 elsewhere.
kernel void finish(global uchar *edges, int width, int height) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  const int i = y * width + x;
  if (edges[i] == WEAK) edges[i] = NONE;
}
