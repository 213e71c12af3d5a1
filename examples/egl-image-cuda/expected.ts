/**
 * What the kernels have to leave, as the CPU has it.
 *
 * @module
 */

/** Pixels across. */
export const WIDTH = 256;
/** Pixels down. */
export const HEIGHT = 256;

/** After `changeTexture`. */
export function changed(): Uint8Array {
  return Uint8Array.from({ length: WIDTH * HEIGHT * 4 }, (_, i) => 1 + i % 4);
}

/** After `changeTexture` and `addRings`. */
export function ringed(): Uint8Array {
  const pixels = changed();
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++) {
      const ring = ((x - WIDTH / 2) ** 2 + (y - HEIGHT / 2) ** 2) >> 5;
      const at = 4 * (y * WIDTH + x);
      for (let c = 0; c < 3; c++) pixels[at + c] += ring; // a byte wraps, as in the kernel
      pixels[at + 3] = 255;
    }
  }
  return pixels;
}
