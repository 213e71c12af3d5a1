/**
 * Frames that come one after the other, as a sink takes them: of one kind, and each later than the one before.
 *
 * @module
 */
import type { Checks } from "../checks.ts";
import { type FrameInfo, frameInWords, type MediaFacts } from "./frame_info.ts";
import { type Ratio, rescaled } from "./ratio.ts";

/** @throws {ArgumentError} for a frame of another format or size than the first. */
export function assertSameKind(checks: Checks, given: FrameInfo, first: FrameInfo): void {
  const [is, was] = [kindInWords(given), kindInWords(first)];
  if (is === was) return;
  throw checks.wrong(
    "frame",
    `expected ${was}, as the first frame was, got ${is}.`,
    "A stream has frames of one kind.",
  );
}

function kindInWords(info: FrameInfo): string {
  if (info.type === "table") return `${info.format} of ${info.columns.length} columns`;
  if (info.type !== "audio") return frameInWords(info);
  const { format, layout, channels, sampleRate } = info;
  return `${layout} ${format} of ${channels} channels, ${sampleRate} samples a second`;
}

/** When the frames of a sequence are shown. */
export class Timeline {
  /** Seconds that it counts. */
  readonly timeBase: Ratio;
  readonly #checks: Checks;
  /** What times are counted from: the first that was counted in such units. */
  #from: { readonly pts: bigint; readonly timeBase: Ratio; readonly at: bigint } | undefined;
  #last: bigint | undefined;
  #next = 0n;

  constructor(checks: Checks, timeBase: Ratio) {
    this.#checks = checks;
    this.timeBase = timeBase;
  }

  /**
   * Adds a frame. Returns when it is shown: as it says, else right after the one before.
   *
   * @param length how long it is shown
   * @throws {ArgumentError} for one that is not later than the one before.
   */
  add({ pts, timeBase }: MediaFacts, length: bigint): bigint {
    const at = pts === undefined || timeBase === undefined ? this.#next : this.#timeOf(pts, timeBase);
    if (this.#last !== undefined && at <= this.#last) {
      const seconds = `of ${this.timeBase.join("/")} seconds`;
      const why = `the frame is shown at ${at}, and the one before at ${this.#last}, ${seconds}.`;
      throw this.#checks.wrong("frame", why, "Write frames in order; a finer timeBase tells more of them apart.");
    }
    [this.#last, this.#next] = [at, at + length];
    return at;
  }

  /** Each time is rounded like the first: frames half a unit beside this timeline's would fall together otherwise. */
  #timeOf(pts: bigint, timeBase: Ratio): bigint {
    if (this.#from === undefined || String(this.#from.timeBase) !== String(timeBase)) {
      this.#from = { pts, timeBase, at: rescaled(pts, timeBase, this.timeBase) };
    }
    return this.#from.at + rescaled(pts - this.#from.pts, timeBase, this.timeBase);
  }
}
