/** Letters of 5 × 7 squares: a photograph gets a text in it, so that there is something to find. */
const LETTERS: Readonly<Record<string, readonly string[]>> = {
  A: [".###.", "#...#", "#...#", "#####", "#...#", "#...#", "#...#"],
  C: [".###.", "#...#", "#....", "#....", "#....", "#...#", ".###."],
  E: ["#####", "#....", "#....", "####.", "#....", "#....", "#####"],
  G: [".###.", "#...#", "#....", "#.###", "#...#", "#...#", ".###."],
  M: ["#...#", "##.##", "#.#.#", "#.#.#", "#...#", "#...#", "#...#"],
  N: ["#...#", "##..#", "#.#.#", "#..##", "#...#", "#...#", "#...#"],
  O: [".###.", "#...#", "#...#", "#...#", "#...#", "#...#", ".###."],
  P: ["####.", "#...#", "#...#", "####.", "#....", "#....", "#...."],
  R: ["####.", "#...#", "#...#", "####.", "#.#..", "#..#.", "#...#"],
  S: [".####", "#....", "#....", ".###.", "....#", "....#", "####."],
  Y: ["#...#", "#...#", ".#.#.", "..#..", "..#..", "..#..", "..#.."],
  Z: ["#####", "....#", "...#.", "..#..", ".#...", "#....", "#####"],
};

/** An upright rectangle of pixels. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Pixels of 8-bit RGBA, row by row. */
export interface Pixels {
  readonly rgba: Uint8Array;
  readonly width: number;
}

/**
 * Writes a text in black on a white plate, and returns where its letters are. `size` is the side of a square.
 *
 * @throws {Error} for a letter that it does not have.
 */
export function drawText(to: Pixels, text: string, left: number, top: number, size: number): Box {
  const [width, height] = [(6 * text.length - 1) * size, 7 * size];
  const box = { left, top, right: left + width, bottom: top + height };
  const margin = 2 * size;
  fill(to, { left: left - margin, top: top - margin, right: box.right + margin, bottom: box.bottom + margin }, 255);
  for (const [i, letter] of [...text].entries()) {
    if (!Object.hasOwn(LETTERS, letter)) {
      throw new Error(`There are only the letters ${Object.keys(LETTERS).join("")}.`);
    }
    for (const [row, squares] of LETTERS[letter].entries()) {
      for (const [column, square] of [...squares].entries()) {
        const [x, y] = [left + (6 * i + column) * size, top + row * size];
        if (square === "#") fill(to, { left: x, top: y, right: x + size, bottom: y + size }, 0);
      }
    }
  }
  return box;
}

/** Draws the edges of a box. */
export function drawBox(to: Pixels, { left, top, right, bottom }: Box): void {
  const thick = 3;
  fill(to, { left, top, right, bottom: top + thick }, 255, 0, 0);
  fill(to, { left, top: bottom - thick, right, bottom }, 255, 0, 0);
  fill(to, { left, top, right: left + thick, bottom }, 255, 0, 0);
  fill(to, { left: right - thick, top, right, bottom }, 255, 0, 0);
}

function fill({ rgba, width }: Pixels, { left, top, right, bottom }: Box, r: number, g = r, b = r): void {
  for (let y = Math.max(top, 0); y < bottom && 4 * y * width < rgba.length; y++) {
    for (let x = Math.max(left, 0); x < right && x < width; x++) rgba.set([r, g, b, 255], 4 * (y * width + x));
  }
}
