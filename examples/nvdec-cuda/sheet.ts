import { type Frame, host, type HostTensor, imageInfo, MapperGraph } from "@samepage/interop";
import type { FFmpegContext, FFmpegTensor } from "@samepage/interop/ffmpeg";
import { WIDTH } from "./preview.ts";

const [COLUMNS, ROWS, GAP] = [4, 3, 4];

/** Previews in rows, of frames that are as far apart as possible. */
export class Sheet implements Disposable {
  readonly #height: number;
  readonly #shown: readonly number[];
  readonly #pixels: Frame<HostTensor>;
  #drawn = 0;

  /** Makes an empty one for previews of so many rows, and a clip of so many frames. */
  constructor(height: number, count: number) {
    const places = COLUMNS * ROWS;
    const size = { width: COLUMNS * (WIDTH + GAP) + GAP, height: ROWS * (height + GAP) + GAP };
    this.#height = height;
    this.#shown = Array.from({ length: places }, (_, i) => Math.floor((i + 0.5) * count / places));
    this.#pixels = host.allocateFrame(imageInfo({ format: "RGB", ...size }), { rowAlign: 64 });
    this.#pixels.planes[0].bytes().fill(24);
  }

  /** True once each place has a picture. */
  get isWhole(): boolean {
    return this.#drawn === this.#shown.length;
  }

  /** Draws the preview of a frame, if it is one of those that are shown. */
  draw(rgb: Uint8Array, frame: number): void {
    const [sheet] = this.#pixels.planes;
    const [to, stride] = [sheet.bytes(), sheet.layout.strides[0]];
    for (const [place, shown] of this.#shown.entries()) {
      if (shown !== frame) continue;
      const left = GAP + place % COLUMNS * (WIDTH + GAP);
      const top = GAP + Math.floor(place / COLUMNS) * (this.#height + GAP);
      for (let y = 0; y < this.#height; y++) {
        to.set(rgb.subarray(3 * y * WIDTH, 3 * (y + 1) * WIDTH), (top + y) * stride + 3 * left);
      }
      this.#drawn++;
    }
  }

  /** Writes it, by FFmpeg's encoder. */
  async write(ffmpeg: FFmpegContext, path: string): Promise<void> {
    using graph = new MapperGraph([host, ffmpeg]);
    await using out = ffmpeg.encode(path, { codec: "png" });
    using mapped = graph.map(this.#pixels, ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
    await out.write(mapped);
    await out.close();
  }

  /** Gives its pixels back. */
  [Symbol.dispose](): void {
    this.#pixels[Symbol.dispose]();
  }
}
