import { ArgumentError } from "../../mod.ts";

/** A signal that aborts as soon as something is warned of, or fails. */
export class Warned implements Disposable {
  readonly #warn = console.warn;
  readonly #over = new AbortController();
  /** Aborted by the first warning. */
  readonly signal: AbortSignal = this.#over.signal;

  /** Until its end. `api` is what the reason names. */
  constructor(api: string) {
    console.warn = (...words: unknown[]) => {
      this.#warn(...words);
      this.#over.abort(new ArgumentError(`it was warned: ${words.join(" ")}`, { api }));
    };
  }

  /** Aborts it by an error, which is thrown on. */
  end(error: unknown): never {
    this.#over.abort(error);
    throw error;
  }

  [Symbol.dispose](): void {
    console.warn = this.#warn;
  }
}
