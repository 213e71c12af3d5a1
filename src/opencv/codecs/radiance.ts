/** The length of the longest piece of a line that OpenCV reads at once: `char buf[128]` and `fgets`. */
const LONGEST = 127;

const PACKED = { least: 8, most: 0x7fff };

const NEWLINE = 0x0a;

export interface RadianceSize {
  readonly width: number;
  readonly height: number;
}

/**
 * The size of a complete Radiance picture (.hdr, .pic), or its fault. OpenCV 4.6 never closes the file of a picture that it
 * rejects, so it must not get a broken one: this parses the same bytes as OpenCV does.
 */
export function radianceSize(bytes: Uint8Array): RadianceSize | string {
  const reader = new Reader(bytes);
  const header = headerOf(reader);
  if (typeof header === "string") return header;
  for (let row = 0; row < header.height; row++) {
    const fault = skipRow(reader, header, row);
    if (fault === "flat") return header;
    if (fault !== undefined) return `${fault} in row ${row} of ${header.height}`;
  }
  return header;
}

class Reader {
  at = 0;

  constructor(readonly bytes: Uint8Array) {}

  /** The next line, or the part of it that OpenCV's buffer holds, as `fgets` returns it; undefined at the end. */
  line(): string | undefined {
    if (this.at === this.bytes.length) return undefined;
    const most = this.bytes.subarray(this.at, this.at + LONGEST);
    const end = most.indexOf(NEWLINE);
    const line = end < 0 ? most : most.subarray(0, end + 1);
    this.at += line.length;
    return String.fromCharCode(...line);
  }

  has(count: number): boolean {
    return this.at + count <= this.bytes.length;
  }
}

function headerOf(reader: Reader): RadianceSize | string {
  reader.line(); // "#?RADIANCE", the signature
  let known = false;
  for (let line = reader.line(); !line?.startsWith("\n"); line = reader.line()) {
    if (line === undefined) return "its header ends early";
    known ||= line === "FORMAT=32-bit_rle_rgbe\n";
  }
  if (!known) return "its header does not say FORMAT=32-bit_rle_rgbe";
  const size = /^-Y[ \t-\r]*([+-]?\d+)[ \t-\r]*\+X[ \t-\r]*([+-]?\d+)/.exec(reader.line() ?? "");
  if (size === null) return "its header does not say its size as -Y height +X width";
  const [height, width] = size.slice(1).map(Number);
  const isCount = (count: number) => count >= 1 && count < 2 ** 31;
  return isCount(width) && isCount(height) ? { width, height } : `its size is ${width} × ${height}`;
}

/** Skips a row of packed pixels. Returns "flat" if all the rest is there, but not packed; else the fault, if there is one. */
function skipRow(reader: Reader, { width, height }: RadianceSize, row: number): string | undefined {
  const { bytes, at } = reader;
  const canBePacked = width >= PACKED.least && width <= PACKED.most;
  if (canBePacked && !reader.has(4)) return "it ends";
  if (!canBePacked || bytes[at] !== 2 || bytes[at + 1] !== 2 || bytes[at + 2] > 127) {
    return reader.has(4 * width * (height - row)) ? "flat" : "it ends";
  }
  if (bytes[at + 2] * 256 + bytes[at + 3] !== width) return "there is another width";
  reader.at += 4;
  for (let channel = 0; channel < 4; channel++) {
    for (let left = width; left > 0;) {
      if (!reader.has(2)) return "it ends";
      const code = bytes[reader.at];
      const [count, length] = code > 128 ? [code - 128, 2] : [code, 1 + code];
      if (count === 0 || count > left) return "there is a run of a wrong length";
      if (!reader.has(length)) return "it ends";
      reader.at += length;
      left -= count;
    }
  }
}
