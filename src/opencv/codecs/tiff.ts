/** The tags that locate the pixels: the offsets of strips or tiles, and their lengths. */
const PIECES = [
  { offsets: 273, lengths: 279, what: "strip" },
  { offsets: 324, lengths: 325, what: "tile" },
] as const;

const SIZES: Readonly<Record<number, number>> = {
  ...{ 1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8 },
};

interface Entry {
  readonly tag: number;
  readonly size: number;
  readonly count: number;
  readonly offset: number;
}

/** The sizes in bytes in which TIFF and BigTIFF differ: of an offset, of the number of entries, and of an entry. */
const CLASSIC = { offset: 4, entries: 2, entry: 12, first: 4 };
const BIG = { offset: 8, entries: 8, entry: 20, first: 8 };

/**
 * The missing part of a TIFF; undefined if its first picture is complete.
 *
 * OpenCV 4.6 decodes 8-bit pictures by libtiff's `TIFFReadRGBAStrip`, which skips whatever it cannot read: a plane, or the
 * table of colours. The pixels of a file that was cut would then have other colours, without an error. So all that the
 * directory points to must lie within the file. Wrongly packed pixels in a complete file are not found.
 */
export function tiffFault(bytes: Uint8Array): string | undefined {
  const file = new TiffFile(bytes);
  const entries = file.firstDirectory();
  if (entries === undefined) return "its directory ends beyond the file";
  const cut = entries.find(({ offset, size, count }) => !file.has(offset, size * count));
  if (cut !== undefined) return `its tag ${cut.tag} ends beyond the file`;
  for (const { offsets, lengths, what } of PIECES) {
    const [begins, counts] = [offsets, lengths].map((tag) => entries.find((entry) => entry.tag === tag));
    if (begins === undefined) continue;
    if (begins.size < 2) return `its tag ${offsets} holds no offsets`;
    for (let i = 0; i < begins.count; i++) {
      const begin = file.valueOf(begins, i);
      const length = counts === undefined || i >= counts.count ? 0 : file.valueOf(counts, i);
      if (begin !== 0 && length === 0) return `it does not say how long its ${what} ${i} is`;
      if (!file.has(begin, length)) return `its ${what} ${i} of ${begins.count} ends beyond the file`;
    }
  }
}

class TiffFile {
  readonly #view: DataView;
  readonly #little: boolean;
  readonly #form: typeof CLASSIC;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#little = bytes[0] === 0x49;
    this.#form = bytes[this.#little ? 2 : 3] === 43 ? BIG : CLASSIC;
  }

  has(offset: number, length: number): boolean {
    return offset + length <= this.#view.byteLength;
  }

  firstDirectory(): Entry[] | undefined {
    const { offset, entries, entry, first } = this.#form;
    if (!this.has(first, offset)) return undefined;
    const directory = this.#number(first, offset);
    if (!this.has(directory, entries)) return undefined;
    const count = this.#number(directory, entries);
    if (!this.has(directory + entries, count * entry)) return undefined;
    return Array.from({ length: count }, (_, i) => this.#entry(directory + entries + i * entry));
  }

  #entry(at: number): Entry {
    const { offset } = this.#form;
    const size = SIZES[this.#number(at + 2, 2)] ?? 0;
    const count = this.#number(at + 4, offset);
    const value = at + 4 + offset;
    return {
      tag: this.#number(at, 2),
      size,
      count,
      offset: size * count <= offset ? value : this.#number(value, offset), // short values are in the entry itself
    };
  }

  /** One value of an entry: offsets and lengths are 16, 32 or 64 bits long. */
  valueOf({ offset, size }: Entry, i: number): number {
    return this.#number(offset + i * size, size);
  }

  #number(at: number, size: number): number {
    if (size === 2) return this.#view.getUint16(at, this.#little);
    if (size === 4) return this.#view.getUint32(at, this.#little);
    return size === 8 ? Number(this.#view.getBigUint64(at, this.#little)) : 0;
  }
}
