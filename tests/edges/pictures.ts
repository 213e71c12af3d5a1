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

/**
 * One faint band that winds over the whole picture, and a bright spot at its beginning: its edges are all weak but
 * there, so that hysteresis has to follow it to the end.
 */
export function meander(width: number, height: number, band = 16): Picture {
  const isBand = (x: number, y: number) => {
    const row = Math.floor(y / band);
    if (row % 2 === 0) return true;
    return row % 4 === 1 ? x >= width - band : x < band;
  };
  const value = (x: number, y: number) => x < band && y < band ? 255 : isBand(x, y) ? 140 : 100;
  const rgba = new Uint8Array(4 * width * height).fill(255);
  for (let i = 0; i < width * height; i++) rgba.fill(value(i % width, Math.floor(i / width)), 4 * i, 4 * i + 3);
  return { width, height, rgba };
}
