/**
 * Matrices of ints on the CPU, row by row.
 *
 * @module
 */

/** Fills a matrix with random values from -99 to 99: sums of 200,000 products fit an int. */
export function randFill(matrix: Int32Array): void {
  for (let i = 0; i < matrix.length; i++) matrix[i] = Math.floor(199 * Math.random()) - 99;
}

/** p × q, of hp × wp and of wp × wq values. */
export function multiply(
  p: Int32Array,
  q: Int32Array,
  { hp, wp, wq }: { readonly hp: number; readonly wp: number; readonly wq: number },
): Int32Array {
  const r = new Int32Array(hp * wq);
  for (let row = 0; row < hp; row++) {
    for (let i = 0; i < wp; i++) {
      const value = p[row * wp + i];
      for (let column = 0; column < wq; column++) r[row * wq + column] += value * q[i * wq + column];
    }
  }
  return r;
}
