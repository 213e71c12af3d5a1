import { type Names, optionsIn } from "./argument.ts";
import type { Checks, Rule } from "./checks.ts";
import type { Undo } from "./life/undo.ts";

/** Whether a program wants to see how far work has come, and how many frames there will be, where it knows that. */
export type ProgressWanted = boolean | { readonly frames: number };

const WANTED: Names<Exclude<ProgressWanted, boolean>> = { frames: true };

/** What such an option has to be. */
export const PROGRESS: Rule = (checks: Checks, value, argument) => {
  if (typeof value === "boolean") return;
  if (typeof value !== "object") throw checks.wrongKind(argument, "a boolean or { frames }", value);
  const { frames } = optionsIn(value as Exclude<ProgressWanted, boolean>, WANTED, argument);
  checks.assertInteger(frames, `${argument}.frames`, 1, Number.MAX_SAFE_INTEGER);
};

/** The least time between two drawings, in milliseconds. */
const EVERY_MS = 100;
const WIDTH = 20;
/** Assumed where a terminal does not report its width. */
const COLUMNS = 80;

/** What has the terminal's line: two would overwrite each other. */
let drawn: Progress | undefined;

/** How far long work has come, as one line on the terminal. For backends. */
export class Progress {
  readonly #begin = performance.now();
  /** How many frames there will be. */
  readonly #frames: number | undefined;
  #last = -Infinity;
  #count = 0;
  #part: number | undefined;

  private constructor(wanted: ProgressWanted) {
    this.#frames = typeof wanted === "object" ? wanted.frames : undefined;
  }

  /** Undefined unless it is wanted and stderr is a terminal. `undo` ends the line, whatever ends the work. */
  static of(wanted: ProgressWanted, undo: Undo): Progress | undefined {
    if (wanted === false || !Deno.stderr.isTerminal()) return undefined;
    const progress = new Progress(wanted);
    undo.push(() => progress.#end());
    return progress;
  }

  /** Counts a frame. `part` is how much is done, from 0 to 1, where that is known by other means than their number. */
  add(part: number | undefined = undefined): void {
    this.#count++;
    this.#part = part ?? (this.#frames === undefined ? this.#part : this.#count / this.#frames);
    const now = performance.now();
    if (now - this.#last < EVERY_MS || (drawn ??= this) !== this) return;
    this.#last = now;
    this.#draw();
  }

  #draw(end = ""): void {
    const seconds = (performance.now() - this.#begin) / 1000;
    const texts = [`${this.#count} frames`, `${(this.#count / seconds).toFixed(1)} a second`];
    if (this.#part !== undefined) {
      const part = Math.min(1, Math.max(0, this.#part));
      texts.unshift(`${"█".repeat(Math.floor(WIDTH * part)).padEnd(WIDTH, "░")} ${Math.floor(100 * part)} %`);
      if (part > 0) texts.push(`${inMinutes(seconds * (1 - part) / part)} left`);
    }
    try {
      const most = (Deno.consoleSize().columns || COLUMNS) - 1; // what is longer goes on in the next line, and stays there
      Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${texts.join(", ").slice(0, most)}${end}`));
    } catch {
      // The terminal is gone; the work goes on.
    }
  }

  #end(): void {
    if (drawn !== this) return;
    drawn = undefined;
    this.#draw("\n");
  }
}

function inMinutes(seconds: number): string {
  const whole = Math.ceil(seconds);
  return `${Math.floor(whole / 60)}:${`${whole % 60}`.padStart(2, "0")}`;
}
