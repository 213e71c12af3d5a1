/**
 * What happens in a row's own process: it runs the program, and reports how it went when the process ends.
 *
 * @module
 */
import { ledger, Mapped } from "../../mod.ts";
import type { Rows } from "./row.ts";
import { called } from "./watch.ts";

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

/** What a program's process reports. */
export interface Report {
  /** What the program ended with. */
  thrown?: Face;
  /** What it said. */
  readonly said: string[];
  /** Classes and codes of the errors that it expected itself. */
  readonly caught: string[];
  /** The public methods that it called. */
  called?: string[];
  /** What was alive at the end. */
  alive?: Readonly<Record<string, number>>;
}

/** The line of standard output that has the report begins so. */
export const REPORT = "misuse report ";

/** The report of this process. */
export const report: Report = { said: [], caught: [] };

/** Runs the row that the command line names. */
export async function perform(rows: Rows): Promise<void> {
  globalThis.addEventListener("unload", tell);
  globalThis.addEventListener("error", tell); // what is uncaught ends the process without an unload
  globalThis.addEventListener("unhandledrejection", tell);
  const [name] = Deno.args;
  if (!Object.hasOwn(rows, name)) throw new Error(`no row "${name}"; there is "${Object.keys(rows).join('", "')}"`);
  try {
    await rows[name].run();
  } catch (error) {
    report.thrown = faceOf(innermost(error));
  }
}

/** Prints it, once. */
function tell(): void {
  if (report.called !== undefined) return;
  report.called = [...called()];
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
