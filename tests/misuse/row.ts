/**
 * What a row of the table is: a program that does what it should not, and what has to come of it.
 *
 * @module
 */
import { ArgumentError, LayoutError } from "@samepage/interop";
import { perform } from "./perform.ts";

/** The OpenCL drivers that a row runs on; the text is part of the platform's name. */
export type Driver = "Portable" | "rusticl";

/** Both of them. */
export const DRIVERS: readonly Driver[] = ["Portable", "rusticl"];

/**
 * The error that a row's program has to end with. `api`, `fn`, `code`, `codeName` and `argument` are compared as they
 * are: a field that is left out has to be absent. So has a hint.
 */
export interface Failure {
  /** Its class: this one, not one that extends it. */
  readonly error: abstract new (...args: never[]) => Error;
  /** The API that failed. */
  readonly api: string;
  /** The function that was called. */
  readonly fn?: string;
  /** The native code. */
  readonly code?: number;
  /** The code's name. */
  readonly codeName?: string;
  /** The argument at fault. */
  readonly argument?: string;
  /** What its message says, the hint included. */
  readonly message: RegExp;
  /** What its hint says. */
  readonly hint?: RegExp;
  /** What its other fields (`flag`, `attempts`, `refused`, `log`) say, as JSON. */
  readonly has?: Readonly<Record<string, RegExp>>;
}

/** The error of an argument, with the fields that most rows have. */
type OfArgument = (argument: string, message: RegExp, hint?: RegExp, fn?: string) => Failure;

/** The errors of an API's arguments: a value that is wrong, and a layout that does not fit. */
export function failuresOf(api: string): { readonly wrong: OfArgument; readonly unfit: OfArgument } {
  const of = (error: Failure["error"]): OfArgument => (argument, message, hint, fn) => ({
    ...{ error, api, argument, message },
    ...hint && { hint },
    ...fn !== undefined && { fn },
  });
  return { wrong: of(ArgumentError), unfit: of(LayoutError) };
}

/** An error of the core's. */
export function ofCore(error: Failure["error"], message: RegExp, fields: Partial<Failure> = {}): Failure {
  return { error, api: "core", message, ...fields };
}

/** One row: a program, and what must come. It shares a process with those of its topic that have the same flags, unless {@linkcode isAlone}. */
export interface Row {
  /** The program. It imports the public entry points, and what `kit.ts` has; it throws, or ends well. */
  run(): unknown;
  /** What it throws, on each driver where they differ. A row without this has to end well. */
  readonly fails?: Failure | Readonly<Record<Driver, Failure>>;
  /** What it says (`say()`), line by line. */
  readonly says?: readonly string[];
  /** What it warns of; nothing by default. */
  readonly warns?: RegExp;
  /** It uses OpenCL: run it once on every driver, as the kit's `open()` opens it; or on one. */
  readonly opencl?: true | Driver;
  /** It uses CUDA's devices: how many it needs. */
  readonly gpus?: number;
  /** It needs these device files. */
  readonly nodes?: readonly string[];
  /** It uses libraries of CUDA's, and needs no device: files, as the loader knows them. */
  readonly cudaLibraries?: readonly string[];
  /** Permissions and other flags of `deno run`, in place of `--allow-ffi`. `--no-prompt` is always there. */
  readonly flags?: readonly string[];
  /** Variables of its environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** It changes what other programs of its process would meet, or needs a process that has done nothing yet. */
  readonly alone?: true;
  /** It sleeps most of the time: it runs beside the others. */
  readonly idle?: true;
  /** It ends with objects alive on purpose; else the ledger has to be empty. */
  readonly leaves?: true;
  /** Its exit code; 0 by default. */
  readonly exits?: number;
  /**
   * A driver that is known to fault in its own exit handlers, after the program's end; true where another library is. Say
   * why where this is set.
   */
  readonly faultsAtExit?: Driver | true;
}

/** Does a row need a process of its own? */
export function isAlone({ alone, idle, leaves, exits, faultsAtExit, env, gpus }: Row): boolean {
  return [alone, idle, leaves, exits, faultsAtExit, env, gpus].some((reason) => reason !== undefined);
}

/** Rows by name; the name says what is done, in words. */
export type Rows = Readonly<Record<string, Row>>;

/**
 * A topic's rows, the default export of each file in `rows/`. Such a file, run by itself with the names of rows, one a
 * line (and of a driver), is their program.
 */
export function table(file: ImportMeta, rows: Rows): Rows {
  if (file.main) queueMicrotask(() => perform(rows));
  return rows;
}
