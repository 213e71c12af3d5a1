/**
 * TIFFs as other programs write them: the directory first, and then the pixels, so that a part of one has its directory.
 *
 * @module
 */

/** What kind of TIFF. */
export interface TiffKind {
  /** Samples of 8 bits in a pixel. */
  readonly samples: 1 | 3;
  /** How many rows a strip has; 8 unless given. */
  readonly rows?: number;
  /** A sample is an index into a table of colours, which lies before or behind the pixels. */
  readonly palette?: "before" | "behind";
  /** Each sample's plane by itself. */
  readonly planar?: true;
  /** Tiles of 32 × 32 pixels instead of strips. */
  readonly tiled?: true;
  /** Offsets of 64 bits. */
  readonly big?: true;
  /** The most significant byte first. */
  readonly motorola?: true;
}

/** OpenCV 4.6 reads no tiles of 16 × 16. */
const TILE = 32;

type Type = "short" | "long" | "offset";

/** A TIFF of `width` × `height` pixels, which are not packed. No byte of them is 0, as a missing one would be. */
export function tiff(kind: TiffKind, width: number, height: number): Uint8Array<ArrayBuffer> {
  const { samples, palette, planar = false, tiled = false, big = false, motorola = false } = kind;
  const lengths = lengthsOfPieces(kind, width, height);
  const [offsets, counts] = tiled ? [324, 325] : [273, 279];
  const entries: [tag: number, type: Type, values: number[]][] = [
    [256, "long", [width]],
    [257, "long", [height]],
    [258, "short", Array(samples).fill(8)],
    [259, "short", [1]],
    [262, "short", [palette !== undefined ? 3 : samples === 3 ? 2 : 1]],
    [277, "short", [samples]],
    [284, "short", [planar ? 2 : 1]],
    [offsets, "offset", lengths], // their number is known, they are not
    [counts, "long", lengths],
  ];
  if (tiled) entries.push([322, "long", [TILE]], [323, "long", [TILE]]);
  else entries.push([278, "long", [rowsOf(kind)]]);
  if (palette !== undefined) entries.push([320, "short", Array.from({ length: 768 }, (_, i) => (i * 1799) % 65536)]);
  entries.sort(([a], [b]) => a - b);

  const word = big ? 8 : 4;
  const sizes = { short: 2, long: 4, offset: word };
  const directory = big ? 16 : 8;
  const head = directory + (big ? 8 : 2);
  let end = head + entries.length * (4 + 2 * word) + word;
  /** Where so many bytes go, behind all that there is. */
  const behind = (length: number) => (end += length) - length;
  const placed = ([tag, type, values]: typeof entries[number], i: number) => {
    const length = sizes[type] * values.length;
    if (length <= word) return head + i * (4 + 2 * word) + 4 + word;
    return tag === 320 && palette === "behind" ? undefined : behind(length);
  };
  const before = entries.map(placed);
  const begins = lengths.map(behind);
  const places = before.map((place) => place ?? behind(2 * 768));

  const view = new DataView(new ArrayBuffer(end));
  const put = (at: number, size: number, value: number) => {
    if (size === 2) view.setUint16(at, value, !motorola);
    else if (size === 4) view.setUint32(at, value, !motorola);
    else view.setBigUint64(at, BigInt(value), !motorola);
  };
  put(0, 2, motorola ? 0x4d4d : 0x4949);
  put(2, 2, big ? 43 : 42);
  if (big) put(4, 2, 8);
  put(big ? 8 : 4, word, directory);
  put(directory, big ? 8 : 2, entries.length);
  for (const [i, [tag, type, values]] of entries.entries()) {
    const at = head + i * (4 + 2 * word);
    put(at, 2, tag);
    put(at + 2, 2, { short: 3, long: 4, offset: big ? 16 : 4 }[type]);
    put(at + 4, word, values.length);
    if (places[i] !== at + 4 + word) put(at + 4 + word, word, places[i]);
    (type === "offset" ? begins : values).forEach((value, j) => put(places[i] + j * sizes[type], sizes[type], value));
  }
  const bytes = new Uint8Array(view.buffer);
  begins.forEach((begin, i) => {
    for (let at = begin; at < begin + lengths[i]; at++) bytes[at] = 1 + (at * 31) % 250;
  });
  return bytes;
}

function rowsOf({ rows = 8 }: TiffKind): number {
  return rows;
}

/** How many bytes each strip or tile has. */
function lengthsOfPieces(kind: TiffKind, width: number, height: number): number[] {
  const { samples, planar = false, tiled = false } = kind;
  const [planes, perPixel] = planar ? [samples, 1] : [1, samples];
  const rows = tiled ? TILE : rowsOf(kind);
  const across = tiled ? Math.ceil(width / TILE) : 1;
  const down = Math.ceil(height / rows);
  const one = Array.from(
    { length: across * down },
    (_, i) => tiled ? TILE * TILE * perPixel : Math.min(rows, height - rows * i) * width * perPixel,
  );
  return Array.from({ length: planes }, () => one).flat();
}
