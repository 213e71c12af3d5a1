/**
 * Says which case stands still. A driver whose work is never over keeps its thread, so a second one looks at the clock.
 *
 * @module
 */
import type { Candidate } from "./subject.ts";
import type { Case } from "./case.ts";

/** A case that takes so many milliseconds is named. */
const PATIENCE = 30_000;

const PROGRAM = `let timer;
onmessage = ({ data }) => {
  clearTimeout(timer);
  timer = setTimeout(() => console.error("… still in " + data + ": is its work ever over (poll, block)?"), ${PATIENCE});
};
postMessage("ready");`;

/** Watches cases; names one that takes long, on stderr. */
export class Watch implements Disposable {
  readonly #worker: Worker;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  /** Starts the second thread. */
  static async start(): Promise<Watch> {
    const worker = new Worker(`data:text/javascript,${encodeURIComponent(PROGRAM)}`, { type: "module" });
    await new Promise((ready) => worker.onmessage = ready);
    return new Watch(worker);
  }

  /** The same cases, watched. */
  over({ edge, device }: Candidate, cases: readonly Case[]): Case[] {
    const where = device === undefined ? edge : `${edge} (${device})`;
    return cases.map(({ run, ...one }) => ({
      ...one,
      run: (subject) => {
        this.#worker.postMessage(`${where}  ${one.name}`);
        return run(subject);
      },
    }));
  }

  /** Ends the second thread. */
  [Symbol.dispose](): void {
    this.#worker.terminate();
  }
}
