/** A picture in RGBA, as the demo's decoder makes them. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8Array<ArrayBuffer>;
}

/** Random colours: the same ones each time. */
export function noise(width: number, height: number): Picture {
  let seed = 1;
  const rgba = Uint8Array.from({ length: 4 * width * height }, () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed >>> 24;
  });
  return { width, height, rgba };
}

/** How wide the meander is, and how far from its next turn and from the border, in pixels. */
const BAND = 16;

/**
 * One faint band that winds down the whole picture, with a bright end: its outline is one weak edge that is strong
 * there only, so that hysteresis has to follow it all the way up.
 */
export function meander(width: number, height: number): Picture {
  const [columns, rows] = [Math.floor(width / BAND) - 2, Math.floor((height / BAND - 3) / 2) * 2 + 1];
  const isBand = (column: number, row: number) => {
    if (column < 0 || column >= columns || row < 0 || row >= rows) return false;
    if (row % 2 === 0) return true;
    return column === (row % 4 === 1 ? columns - 1 : 0);
  };
  const value = (x: number, y: number) => {
    const [column, row] = [Math.floor(x / BAND) - 1, Math.floor(y / BAND) - 1];
    if (!isBand(column, row)) return 100;
    return column === 0 && row === rows - 1 ? 255 : 155;
  };
  const rgba = new Uint8Array(4 * width * height).fill(255);
  for (let i = 0; i < width * height; i++) rgba.fill(value(i % width, Math.floor(i / width)), 4 * i, 4 * i + 3);
  return { width, height, rgba };
}
