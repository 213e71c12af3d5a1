/**
 * Which pictures of a clip are shown.
 *
 * @module
 */
import { type Frame, host, type HostTensor } from "@samepage/interop";
import type { MediaInfo } from "@samepage/interop/ffmpeg";
import { Transform } from "@samepage/interop/pipeline";
import { Sheet, shownOf } from "../decode-filter-encode/sheet.ts";

/** A contact sheet of four pictures, before and after. */
export class Shown {
  /** The sheet. */
  readonly sheet: Sheet;
  /** Of the clip. */
  readonly frameRate: readonly [number, number];
  readonly #shown: readonly number[];
  /** Boxes in all pictures. */
  found = 0;

  /** Makes an empty one for such a clip. */
  constructor({ stream: { width = 0, height = 0, frameRate = [25, 1] }, duration = 0 }: MediaInfo) {
    this.sheet = new Sheet(width, height);
    this.frameRate = frameRate;
    // The detector looks at every fifth.
    const shown = shownOf(Math.max(1, Math.round(duration * frameRate[0] / frameRate[1])));
    this.#shown = shown.map((one) => one - one % 5);
  }

  /** A stage that draws what passes it. */
  stage(row: 0 | 1): Transform<HostTensor> {
    let count = 0;
    return new Transform<HostTensor>({
      name: row === 0 ? "before" : "after",
      takes: { memory: host, access: "read" },
      process: (frame: Frame<HostTensor>) => {
        const column = this.#shown.indexOf(count++);
        if (column >= 0) this.sheet.draw(frame, column, row);
        this.found += row * frame.regions.length;
      },
    });
  }
}
