/**
 * What happens in the process of some rows: it runs their programs, and reports how each went. The last report is made
 * when the process ends.
 *
 * @module
 */
import { ledger, Mapped } from "../../mod.ts";
import type { Rows } from "./row.ts";
import { called } from "./watch.ts";
import { type Wrong, wrong } from "./wrong.ts";

/** An error, as a row has to describe it. */
export interface Face {
  readonly error: string;
  readonly message: string;
  readonly api?: string;
  readonly fn?: string;
  readonly code?: number;
  readonly codeName?: string;
  readonly argument?: string;
  readonly hint?: string;
  /** Its other fields. */
  readonly has: Readonly<Record<string, unknown>>;
  readonly stack: string;
}

/** What is reported of a program. */
export interface Report {
  /** What the program ended with. */
  thrown?: Face;
  /** What it said. */
  readonly said: string[];
  /** Classes and codes of the errors that it expected itself. */
  readonly caught: string[];
  /** The public methods that were called in its process so far. */
  called?: string[];
  /** The outcome of the wrong values that its process has passed so far. */
  wrong?: Wrong;
  /** What was alive at the end. */
  alive?: Readonly<Record<string, number>>;
}

/** The line of standard output that has the report begins so. */
export const REPORT = "misuse report ";

/** Milliseconds that what a row left alive has to end. */
const PATIENCE = 30_000;

/** What is printed to standard error between two rows. */
export const BEGIN = "\nthe next row of misuse\n";

/** The report of the row that runs. */
export let report: Report = { said: [], caught: [] };

/** Runs the rows that the command line names, a name in each line of its first argument. */
export async function perform(rows: Rows): Promise<void> {
  globalThis.addEventListener("unload", tell);
  globalThis.addEventListener("error", tell); // what is uncaught ends the process without an unload
  globalThis.addEventListener("unhandledrejection", tell);
  const names = Deno.args[0].split("\n");
  for (const [i, name] of names.entries()) {
    if (!Object.hasOwn(rows, name)) throw new Error(`no row "${name}"; there is "${Object.keys(rows).join('", "')}"`);
    if (i > 0) await next();
    try {
      await rows[name].run();
    } catch (error) {
      report.thrown = faceOf(innermost(error));
    }
  }
}

/** Ends a row that another one comes after, once what it left to its promises is done. */
async function next(): Promise<void> {
  const end = performance.now() + PATIENCE;
  do {
    await new Promise((resolve) => setTimeout(resolve, 1));
  } while (Object.keys(ledger.alive).length > 0 && performance.now() < end);
  tell();
  report = { said: [], caught: [] };
  console.error(BEGIN.slice(0, -1));
}

/** Prints the report, once. */
function tell(): void {
  if (report.called !== undefined) return;
  report.called = [...called()];
  report.wrong = wrong();
  report.alive = ledger.alive;
  const json = JSON.stringify(report, (_, value) => {
    return typeof value === "bigint" ? String(value) : value instanceof Mapped ? value.name : value;
  });
  console.log(`${REPORT}${json}`);
}

/** What failed first: the errors of disposes hide it. */
function innermost(error: unknown): unknown {
  while (error instanceof SuppressedError) error = error.suppressed;
  return error;
}

function faceOf(error: unknown): Face {
  if (!(error instanceof Error)) return { error: typeof error, message: String(error), has: {}, stack: "" };
  const { api, fn, code, codeName, argument, hint, ...has } = { ...error } as Record<string, unknown>;
  const fields = Object.entries({ api, fn, code, codeName, argument, hint }).filter(([, value]) => value !== undefined);
  const { constructor, message, stack = "" } = error;
  return { error: constructor.name, message, has, stack, ...Object.fromEntries(fields) };
}
