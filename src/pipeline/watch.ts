import { warn } from "../core/errors.ts";

const SLOW_MS = 5000;

/** Warns where no frame has moved for a while, and names the stages that have them. */
export class Watch {
  readonly #timer: ReturnType<typeof setInterval>;
  #hasMoved = true;
  #isNamed = false;

  /** `where` says which stage has each frame. */
  constructor(where: () => readonly string[]) {
    this.#timer = setInterval(() => {
      if (!this.#hasMoved && !this.#isNamed) this.#name(where());
      this.#hasMoved = false;
    }, SLOW_MS);
    Deno.unrefTimer(this.#timer);
  }

  moved(): void {
    this.#hasMoved = true;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #name(names: readonly string[]): void {
    if (names.length === 0) return; // the source has none: a camera that nothing moves before
    this.#isNamed = true;
    const counts = Map.groupBy(names, (name) => name).entries().map(([name, { length }]) => `${name} has ${length}`);
    warn(
      `the pipeline has waited for ${SLOW_MS / 1000} s: of its frames, ${[...counts].join(", ")}. ` +
        "A stage that keeps frames needs more of them: pipeline(…, { frames: 16 }). A stream that drops a frame has to " +
        "dispose it.",
    );
  }
}
