import { literal } from "../../core/argument.ts";
import { FUNCTION } from "../../core/checks.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import { type Origin, pipeline } from "../pipeline.ts";
import { checks, Flow, type Run } from "../stage.ts";
import { pause, secondsOf } from "../time.ts";

/** Drops frames if later stages are too slow: only the newest frame waits. For cameras. */
export function latest(): Flow {
  return new Flow({
    name: "latest",
    keeps: true,
    async *flow(frames) {
      let newest: Frame | undefined;
      let isOver = false;
      let isLeft = false;
      let wake = () => {};
      const reading = (async () => {
        for await (const frame of frames) {
          (isLeft ? frame : newest)?.[Symbol.dispose]();
          if (isLeft) return;
          newest = frame;
          wake();
        }
      })().finally(() => {
        isOver = true;
        wake();
      });
      try {
        while (true) {
          const frame: Frame | undefined = newest;
          newest = undefined;
          if (frame !== undefined) yield frame;
          else if (isOver) break;
          else await new Promise<void>((resolve) => wake = resolve);
        }
        await reading;
      } finally {
        isLeft = true;
        (newest as Frame | undefined)?.[Symbol.dispose]();
      }
    },
  });
}

/**
 * Drops frames so that at most `perSecond` are left each second. A frame's own time counts; if it has none, the clock.
 *
 * @throws {ArgumentError} for anything but a number above 0.
 */
export function rate(perSecond: number): Flow {
  assertAbove(perSecond, "perSecond");
  return new Flow({
    name: `rate ${perSecond}`,
    keeps: true,
    async *flow(frames) {
      let next = -Infinity;
      for await (const frame of frames) {
        const now = secondsOf(frame) ?? performance.now() / 1000;
        const isFirst = next === -Infinity;
        // A clip's times are rounded: a frame that is a little early is not too early.
        if (now < next - 0.1 / perSecond) await frame[Symbol.asyncDispose]();
        else {
          next = Math.max(isFirst ? now : next, now - 1 / perSecond) + 1 / perSecond;
          yield frame;
        }
      }
    },
  });
}

/** Passes frames on at their own times, as a player does: a clip becomes a camera. `speed` 2 is twice as fast. */
export function pace(speed = 1): Flow {
  assertAbove(speed, "speed");
  return new Flow({
    name: "pace",
    keeps: true,
    async *flow(frames, { signal }) {
      let begin: number | undefined;
      for await (const frame of frames) {
        const seconds = (secondsOf(frame) ?? 0) / speed;
        begin ??= performance.now() / 1000 - seconds;
        const wait = (begin + seconds) * 1000 - performance.now();
        if (wait > 0) await pause(wait, signal);
        yield frame;
      }
    },
  });
}

/** Options of {@link join}. */
export interface JoinOptions {
  /** How many seconds two frames may be apart; 0.02 if left out. */
  readonly within?: number;
  /**
   * Combines two frames: it changes the first or writes metadata to it, and the first goes on. The other is then
   * disposed.
   */
  combine(frame: Frame, other: Frame, run: Run): void | Promise<void>;
}

const JOIN = { within: true, combine: FUNCTION };

/**
 * Joins the frames that pass with those of another source, by their times: colour and depth, or two cameras. Frames
 * without a counterpart within `within` seconds are dropped.
 *
 * @throws {ArgumentError} for wrong options, and a source that has no frames.
 */
export function join(other: Origin, options: JoinOptions): Flow {
  const { within = 0.02, combine } = checks.optionsIn(options, JOIN);
  assertAbove(within, "within");
  FUNCTION(checks, combine, "combine");
  const { stages } = pipeline(other);
  return new Flow({
    name: "join",
    keeps: true,
    contexts: stages.flatMap(({ contexts }) => contexts),
    async *flow(frames, run) {
      const { signal, copy } = run;
      const waiting = pipeline(other, { frames: run.frames, copy, signal })[Symbol.asyncIterator]();
      let one: Frame | undefined;
      try {
        for await (const frame of frames) {
          const at = timeOf(frame);
          while (true) {
            one ??= (await waiting.next()).value ?? undefined;
            if (one === undefined || timeOf(one) >= at - within) break;
            await one[Symbol.asyncDispose]();
            one = undefined;
          }
          if (one === undefined || timeOf(one) > at + within) {
            await frame[Symbol.asyncDispose]();
            continue;
          }
          await combine(frame, one, run);
          await one[Symbol.asyncDispose]();
          one = undefined;
          yield frame;
        }
      } finally {
        await one?.[Symbol.asyncDispose]();
        await waiting.return();
      }
    },
  });
}

function timeOf(frame: Frame): number {
  const seconds = secondsOf(frame);
  if (seconds !== undefined) return seconds;
  const hint = 'Set its time: frame.metadata.set("timestamp", { pts }).';
  throw checks.wrong("frame", `${frame.name} has no time to join it by.`, hint);
}

function assertAbove(given: number, argument: string): void {
  if (typeof given === "number" && given > 0 && Number.isFinite(given)) return;
  throw checks.wrong(argument, `expected a number above 0, got ${literal(given)}.`);
}
