import { messageOf } from "../../src/core/errors.ts";
import { ledger } from "../../src/core/life/ledger.ts";
import { assertAlive } from "../alive.ts";
import { type Case, NotHere } from "./case.ts";
import { assertTyped } from "../faults/sweep.ts";
import { nativeCalls } from "../faults/tap.ts";
import type { Candidate, Subject } from "./subject.ts";

/** On what kind of machine the suite runs. */
export type Where = "bare" | "guest" | "gpu";

/** What came of one case on one edge. */
export interface Row {
  /** `"host→opencl"`. */
  readonly edge: string;
  /** The case's name. */
  readonly case: string;
  /** `"not-here"`: the machine has no such edge, or the edge nothing to be asked. */
  readonly result: "pass" | "fail" | "not-here";
  /** Why it is not a pass. */
  readonly reason?: string;
  /** On what kind of machine. */
  readonly where: Where;
  /** On which device, where there are several. */
  readonly device?: string;
}

/** Runs cases on every edge. */
export async function* rowsOf(
  candidates: readonly Candidate[],
  where: Where,
  casesOf: (candidate: Candidate) => readonly Case[],
): AsyncGenerator<Row> {
  for (const candidate of candidates) {
    using run = new EdgeRun(candidate, where);
    for (const one of casesOf(candidate)) yield await run.row(one);
  }
}

/** The cases of one edge: they share its contexts, but for those that have to be alone, and for what comes after a failure. */
export class EdgeRun implements Disposable {
  readonly #candidate: Candidate;
  readonly #where: Where;
  #shared: Subject | undefined;

  constructor(candidate: Candidate, where: Where) {
    this.#candidate = candidate;
    this.#where = where;
  }

  /** Runs one case. Nothing that it made may be alive afterwards. */
  async row(one: Case): Promise<Row> {
    const { edge, device } = this.#candidate;
    const row = { edge, case: one.name, where: this.#where, ...(device === undefined ? {} : { device }) };
    try {
      await (one.alone ? this.#runAlone(one) : this.#runShared(one));
      return { ...row, result: "pass" };
    } catch (error) {
      if (error instanceof NotHere) return { ...row, result: "not-here", reason: error.message };
      this.#giveUpShared();
      return { ...row, result: "fail", reason: messageOf(error instanceof SuppressedError ? error.suppressed : error) };
    }
  }

  [Symbol.dispose](): void {
    this.#shared?.[Symbol.dispose]();
  }

  #open(): Subject {
    const { open } = this.#candidate;
    if (typeof open === "string") throw new NotHere(open);
    return open();
  }

  async #runShared(one: Case): Promise<void> {
    const subject = this.#shared ??= this.#open();
    subject.quiet?.();
    const before = ledger.alive;
    await askedOf(subject, one);
    subject.quiet?.();
    await assertAlive(before, "alive after the case");
  }

  async #runAlone(one: Case): Promise<void> {
    const before = ledger.alive;
    const subject = closedOnce(this.#open());
    try {
      await askedOf(subject, one);
    } finally {
      closeAfterFaults(subject);
    }
    await assertAlive(before, "alive after the case");
  }

  /** After a failure nothing is known of the contexts; the next case gets new ones. */
  #giveUpShared(): void {
    const subject = this.#shared;
    this.#shared = undefined;
    try {
      subject?.[Symbol.dispose]();
    } catch (error) {
      console.warn(`closing ${this.#candidate.edge} after a failed case: ${messageOf(error)}`);
    }
  }
}

/** The same, which a case may close itself. */
function closedOnce(subject: Subject): Subject {
  let closed = false;
  return {
    ...subject,
    [Symbol.dispose]() {
      if (closed) return;
      closed = true;
      subject[Symbol.dispose]();
    },
  };
}

/** Runs a case. To say "not here" is its first word: once it has done anything, that is a failure. */
async function askedOf(subject: Subject, { run }: Case): Promise<void> {
  const before = nativeCalls();
  try {
    await run(subject);
  } catch (error) {
    const calls = nativeCalls() - before;
    if (!(error instanceof NotHere) || calls === 0) throw error;
    throw new Error(`"not here: ${error.message}" in the middle of a case, after ${calls} native calls`);
  }
}

/** What failed on the way, without a caller to report it to, is thrown by the end of its context. */
function closeAfterFaults(subject: Subject): void {
  try {
    subject[Symbol.dispose]();
  } catch (error) {
    assertTyped(error, "closing the contexts");
  }
}
