import { warn } from "../core/errors.ts";
import { SLOW_MS } from "../core/pace.ts";

/** Warns if no frame has moved for a while, and names the stages that have them. */
export class Watch {
  readonly #frames: number;
  readonly #where: () => readonly string[];
  #timer: ReturnType<typeof setInterval> | undefined;
  #hasMoved = true;

  /** `where` returns the stage of each frame, also of a frame whose end waits for that stage's library. */
  constructor(frames: number, where: () => readonly string[]) {
    [this.#frames, this.#where] = [frames, where];
  }

  /** Keeps the program alive until the warning: otherwise Deno would end a program that hangs, without a message. */
  begin(): void {
    this.#timer = setInterval(() => this.#look(), SLOW_MS);
  }

  moved(): void {
    this.#hasMoved = true;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const names = this.#where();
    if (names.length === 0) return Deno.unrefTimer(this.#timer!); // the source has none: a camera that nothing moves before
    if (this.#hasMoved) {
      this.#hasMoved = false;
      return Deno.refTimer(this.#timer!);
    }
    this.end();
    const counts = Map.groupBy(names, (name) => name).entries().map(([name, { length }]) => `${name} has ${length}`);
    warn(
      `the pipeline has waited for ${SLOW_MS / 1000} s: of its frames, ${[...counts].join(", ")}. ` +
        `A stage that keeps frames needs more of them: pipeline(…, { frames: ${
          this.#frames * 4
        } }). A stream that drops a frame has to ` +
        "dispose it.",
    );
  }
}
