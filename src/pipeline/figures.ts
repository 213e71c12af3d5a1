import { Printed } from "../core/printed.ts";

/** What a stage has done so far. */
export interface StageFigures {
  /** Its name. */
  readonly stage: string;
  /** Frames that it has finished. */
  readonly frames: number;
  /** Frames that it has dropped. */
  readonly dropped: number;
  /** Milliseconds that it took for all of them, including waits. */
  readonly milliseconds: number;
  /** Milliseconds of these in which it waited for a frame to write, because later stages had them all. */
  readonly waited: number;
  /** Bytes that maps for it have copied or moved. */
  readonly bytesMoved: number;
  /** How often the host waited before a map for it. */
  readonly hostWaits: number;
}

/** A stage's figures, while they grow. */
export type Growing = { -readonly [N in keyof StageFigures]: StageFigures[N] };

/** What a pipeline has done so far. It prints as a table. */
export class Figures extends Printed {
  /** Stage by stage. */
  readonly stages: readonly StageFigures[];
  /** Frames that have left it. */
  readonly frames: number;
  /** Milliseconds from the request for its first frame to its end. */
  readonly milliseconds: number;
  /** Milliseconds from a frame's entry to its exit, on average. */
  readonly latency: number;

  /** Made by a pipeline. */
  constructor(stages: readonly StageFigures[], frames: number, milliseconds: number, latency: number) {
    super();
    [this.stages, this.frames, this.milliseconds, this.latency] = [stages, frames, milliseconds, latency];
  }

  /** Frames a second. */
  get rate(): number {
    return this.milliseconds === 0 ? 0 : this.frames * 1000 / this.milliseconds;
  }

  /** Bytes that were copied or moved, by all stages together. */
  get bytesMoved(): number {
    return this.stages.reduce((sum, { bytesMoved }) => sum + bytesMoved, 0);
  }

  /** What `JSON.stringify` makes of it. */
  override toJSON(): object {
    const { stages, frames, milliseconds, latency, rate, bytesMoved } = this;
    return { stages, frames, milliseconds, latency, rate, bytesMoved };
  }

  /** A line for each stage, and one for all. */
  toString(): string {
    const width = Math.max(...this.stages.map(({ stage }) => stage.length));
    const lines = this.stages.map(({ stage, frames, dropped, milliseconds, waited, bytesMoved, hostWaits }) => {
      const each = (milliseconds / Math.max(1, frames + dropped)).toFixed(2);
      const others = [
        [dropped, "dropped"],
        [waited.toFixed(0), "ms waited for room"],
        [bytesMoved, "bytes moved"],
        [hostWaits, "host waits"],
      ].filter(([count]) => Number(count) > 0).map((words) => `, ${words.join(" ")}`);
      return `${stage.padEnd(width)}  ${frames} frames, ${each} ms each${others.join("")}`;
    });
    const { frames, rate, latency, bytesMoved } = this;
    return [
      ...lines,
      `${frames} frames, ${rate.toFixed(1)} a second, latency ${latency.toFixed(1)} ms, ${bytesMoved} bytes moved`,
    ].join("\n");
  }
}
