/**
 * The image, and what the chain makes of it on the CPU.
 *
 * @module
 */

/** Pixels in a row. */
export const WIDTH = 1024;

/** Rows. */
export const HEIGHT = 1024;

/** The image as a tensor: 4 MiB. */
export const IMAGE = { shape: [HEIGHT, WIDTH], dtype: "i32" } as const;

/** Its bytes. */
export const IMAGE_BYTES = 4 * WIDTH * HEIGHT;

/** Reads an image, as a camera or a file would give it: values from 0 to 255. */
export function readImage(pixels: Int32Array): void {
  let seed = 1;
  for (let i = 0; i < pixels.length; i++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    pixels[i] = seed >>> 24;
  }
}

/** The three kernels of kernels.cu, one after the other. */
export function chain(image: Int32Array, width: number = WIDTH, height: number = HEIGHT): Int32Array {
  const rows = image.map((value, i) => {
    const x = i % width;
    return image[x === 0 ? i : i - 1] + 2 * value + image[x === width - 1 ? i : i + 1];
  });
  const columns = rows.map((value, i) => {
    const y = Math.floor(i / width);
    return rows[y === 0 ? i : i - width] + 2 * value + rows[y === height - 1 ? i : i + width];
  });
  return columns.map((value) => 255 - ((value + 8) >> 4));
}
