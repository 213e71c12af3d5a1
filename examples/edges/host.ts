/**
 * Edges of a photograph on the CPU, in plain typed arrays: grey, a 5×5 Gaussian blur, and Canny's detector.
 *
 * Every step is integer arithmetic, so the OpenCL kernels in kernels.cl, which have the same names, give the same
 * bytes. The steps and their roundings are those of OpenCV 4: `cvtColor`, `GaussianBlur` with `BORDER_REPLICATE` and
 * `Canny` with its defaults (aperture 3, L1 gradient).
 *
 * @module
 */

/** Below or at this magnitude a pixel is not an edge: Canny's lower threshold, on |dx| + |dy| of Sobel's 3×3 kernels. */
export const LOW = 50;

/** Above this magnitude a local maximum is an edge by itself: Canny's upper threshold. */
export const HIGH = 150;

/** What a pixel is after {@linkcode suppress}: no edge, an edge if it touches one, an edge. */
export const Class = { NONE: 0, WEAK: 1, STRONG: 255 } as const;

/** Where the gradient points, to the nearest 45°, as {@linkcode gradient} packs it into its two lowest bits. */
const Direction = { HORIZONTAL: 0, VERTICAL: 1, DIAGONAL: 2, ANTIDIAGONAL: 3 } as const;

/** One step along each direction, as [x, y]. */
const STEPS = [[1, 0], [0, 1], [1, 1], [-1, 1]] as const;

/** tan 22.5° in 15 fractional bits; tan 67.5° is 2 more. */
const TAN_22 = 13573;
const TAN_SHIFT = 15;

/**
 * Luma of each pixel by ITU-R BT.601, in 15 fractional bits: (9798 R + 19235 G + 3735 B) / 32768, rounded.
 *
 * @param rgba 8-bit RGBA, row by row, 4 × `width` × `height` bytes; alpha is ignored.
 */
export function grey(rgba: Uint8Array, width: number, height: number): Uint8Array {
  const result = new Uint8Array(width * height);
  for (let i = 0, p = 0; i < result.length; i++, p += 4) {
    result[i] = (9798 * rgba[p] + 19235 * rgba[p + 1] + 3735 * rgba[p + 2] + 16384) >> 15;
  }
  return result;
}

/**
 * The horizontal half of the blur: the Gaussian of σ = 1.2 at −2…2 in 8 fractional bits, [22, 62, 88, 62, 22], which
 * adds up to 256. The border is replicated. Nothing is rounded here: a result is 256 times a brightness.
 */
export function blurRows(grey: Uint8Array, width: number, height: number): Uint16Array {
  const result = new Uint16Array(width * height);
  const row = new Uint8Array(width + 4);
  for (let start = 0; start < result.length; start += width) {
    row.set(grey.subarray(start, start + width), 2);
    row.fill(row[2], 0, 2).fill(row[width + 1], width + 2);
    for (let x = 0; x < width; x++) {
      result[start + x] = 22 * (row[x] + row[x + 4]) + 62 * (row[x + 1] + row[x + 3]) + 88 * row[x + 2];
    }
  }
  return result;
}

/** The vertical half of the blur: the same weights down the columns, and the one rounding, to 8 bits. */
export function blurColumns(rows: Uint16Array, width: number, height: number): Uint8Array {
  const result = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    const [a, b, c, d, e] = [-2, -1, 0, 1, 2].map((dy) => clamp(y + dy, height) * width);
    for (let x = 0; x < width; x++) {
      const sum = 22 * (rows[a + x] + rows[e + x]) + 62 * (rows[b + x] + rows[d + x]) + 88 * rows[c + x];
      result[c + x] = (sum + 32768) >> 16;
    }
  }
  return result;
}

/**
 * Sobel's 3×3 derivatives with a replicated border, packed as magnitude × 4 + direction. The magnitude is
 * |dx| + |dy|, at most 2040.
 */
export function gradient(blurred: Uint8Array, width: number, height: number): Uint16Array {
  const result = new Uint16Array(width * height);
  for (let y = 0; y < height; y++) {
    const above = clamp(y - 1, height) * width;
    const here = y * width;
    const below = clamp(y + 1, height) * width;
    for (let x = 0; x < width; x++) {
      const left = clamp(x - 1, width);
      const right = clamp(x + 1, width);
      const dx = blurred[above + right] - blurred[above + left] + 2 * (blurred[here + right] - blurred[here + left]) +
        blurred[below + right] - blurred[below + left];
      const dy = blurred[below + left] - blurred[above + left] + 2 * (blurred[below + x] - blurred[above + x]) +
        blurred[below + right] - blurred[above + right];
      result[here + x] = (Math.abs(dx) + Math.abs(dy)) << 2 | direction(dx, dy);
    }
  }
  return result;
}

function direction(dx: number, dy: number): number {
  const rise = Math.abs(dy) << TAN_SHIFT;
  const flat = Math.abs(dx) * TAN_22;
  if (rise < flat) return Direction.HORIZONTAL;
  if (rise > flat + (Math.abs(dx) << (TAN_SHIFT + 1))) return Direction.VERTICAL;
  return (dx ^ dy) < 0 ? Direction.ANTIDIAGONAL : Direction.DIAGONAL;
}

/**
 * Keeps the pixels whose magnitude is above `low` and a maximum along the gradient, as {@linkcode Class}. Outside of
 * the picture the magnitude is 0. Of two equal neighbours across or down the first is kept; on a diagonal neither.
 */
export function suppress(
  gradient: Uint16Array,
  width: number,
  height: number,
  low: number = LOW,
  high: number = HIGH,
): Uint8Array {
  const magnitude = (x: number, y: number) =>
    x >= 0 && x < width && y >= 0 && y < height ? gradient[y * width + x] >> 2 : 0;
  const edges = new Uint8Array(width * height);
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i++) {
      const here = gradient[i] >> 2;
      if (here <= low) continue;
      const direction = gradient[i] & 3;
      const [stepX, stepY] = STEPS[direction];
      const before = magnitude(x - stepX, y - stepY);
      const after = magnitude(x + stepX, y + stepY);
      if (here > before && (here > after || (here === after && direction < Direction.DIAGONAL))) {
        edges[i] = here > high ? Class.STRONG : Class.WEAK;
      }
    }
  }
  return edges;
}

/** Makes every weak pixel strong that touches a strong one at a side or a corner, until none is left that does. */
export function hysteresis(edges: Uint8Array, width: number, height: number): void {
  const stack: number[] = [];
  for (let start = 0; start < edges.length; start++) {
    if (edges[start] !== Class.STRONG) continue;
    stack.push(start);
    while (stack.length > 0) {
      const i = stack.pop()!;
      const x = i % width;
      const y = (i - x) / width;
      const right = Math.min(x + 1, width - 1);
      const bottom = Math.min(y + 1, height - 1);
      for (let ny = Math.max(y - 1, 0); ny <= bottom; ny++) {
        for (let nx = Math.max(x - 1, 0); nx <= right; nx++) {
          const neighbour = ny * width + nx;
          if (edges[neighbour] !== Class.WEAK) continue;
          edges[neighbour] = Class.STRONG;
          stack.push(neighbour);
        }
      }
    }
  }
}

/** Drops the weak pixels that are left: what remains is 255 on an edge and 0 elsewhere. */
export function finish(edges: Uint8Array): void {
  for (let i = 0; i < edges.length; i++) {
    if (edges[i] === Class.WEAK) edges[i] = Class.NONE;
  }
}

/**
 * All the steps above, in order.
 *
 * @param rgba 8-bit RGBA, row by row, 4 × `width` × `height` bytes; alpha is ignored.
 * @returns One byte a pixel, row by row: 255 on an edge, 0 elsewhere.
 *
 * @example
 * ```ts
 * import { detectEdges } from "./host.ts";
 *
 * const rgba = new Uint8Array(4 * 8 * 8).map((_, i) => (i >> 2) % 8 < 4 ? 0 : 255); // black left half, white right half
 * const edges = detectEdges(rgba, 8, 8); // one column of 255
 * ```
 */
export function detectEdges(rgba: Uint8Array, width: number, height: number): Uint8Array {
  return detectEdgesInGrey(grey(rgba, width, height), width, height);
}

/**
 * The same of a grey picture: all the steps but the first.
 *
 * @param grey One byte a pixel, row by row.
 * @returns One byte a pixel, row by row: 255 on an edge, 0 elsewhere.
 */
export function detectEdgesInGrey(grey: Uint8Array, width: number, height: number): Uint8Array {
  const rows = blurRows(grey, width, height);
  const edges = suppress(gradient(blurColumns(rows, width, height), width, height), width, height);
  hysteresis(edges, width, height);
  finish(edges);
  return edges;
}

/** The nearest index to `i` in 0…`length` − 1. */
function clamp(i: number, length: number): number {
  return i < 0 ? 0 : i < length ? i : length - 1;
}
