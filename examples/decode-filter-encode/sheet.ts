/**
 * A contact sheet: pictures before in one row, and after in the next, as a PNG.
 *
 * @module
 */
import { type Frame, host, type HostTensor, imageInfo, MapperGraph } from "@samepage/interop";
import type { FFmpegContext, FFmpegTensor } from "@samepage/interop/ffmpeg";

const [COLUMNS, WIDTH, GAP] = [4, 240, 4];

/** Which frames of so many are shown. */
export function shownOf(count: number): readonly number[] {
  return Array.from({ length: COLUMNS }, (_, i) => Math.floor((i + 0.5) * count / COLUMNS));
}

/** The sheet of pictures in I420 of one size. */
export class Sheet implements Disposable {
  /** Its pixels. */
  readonly picture: Frame<HostTensor>;
  readonly #height: number;

  /** Makes an empty one for pictures of that size. */
  constructor(width: number, height: number) {
    this.#height = Math.round(WIDTH * height / width);
    const size = { width: COLUMNS * (WIDTH + GAP) + GAP, height: 2 * (this.#height + GAP) + GAP };
    this.picture = host.allocateFrame(imageInfo({ format: "RGB", ...size }), { rowAlign: 64 });
    this.picture.planes[0].bytes().fill(24);
  }

  /** Draws a picture, by the nearest pixels, into one of the columns: above or below. */
  draw(picture: Frame<HostTensor>, column: number, row: 0 | 1): void {
    const [luma, ...chroma] = picture.planes.map(({ layout }, i) => {
      const bytes = picture.planes[i].bytes({ access: "read" });
      return (x: number, y: number) => bytes[y * layout.strides[0] + x];
    });
    const [height, width] = picture.planes[0].layout.shape;
    const [sheet] = this.picture.planes;
    const [to, stride] = [sheet.bytes(), sheet.layout.strides[0]];
    const [left, top] = [GAP + column * (WIDTH + GAP), GAP + row * (this.#height + GAP)];
    for (let y = 0; y < this.#height; y++) {
      for (let x = 0; x < WIDTH; x++) {
        const [fromX, fromY] = [Math.floor(x * width / WIDTH), Math.floor(y * height / this.#height)];
        const l = 1.164 * (luma(fromX, fromY) - 16);
        const [u, v] = chroma.map((plane) => plane(fromX >> 1, fromY >> 1) - 128);
        const at = (top + y) * stride + 3 * (left + x);
        [l + 1.596 * v, l - 0.392 * u - 0.813 * v, l + 2.017 * u].forEach((value, i) => {
          to[at + i] = Math.max(0, Math.min(255, value));
        });
      }
    }
  }

  /** Writes it, by FFmpeg's encoder. */
  async write(ffmpeg: FFmpegContext, path: string): Promise<void> {
    using graph = new MapperGraph([host, ffmpeg]);
    await using out = ffmpeg.encode(path, { codec: "png" });
    using mapped = graph.map(this.picture, ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
    await out.write(mapped);
    await out.close();
  }

  /** Gives its pixels back. */
  [Symbol.dispose](): void {
    this.picture[Symbol.dispose]();
  }
}
