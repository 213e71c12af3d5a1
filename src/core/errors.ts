import { fieldsJson, thrownJson } from "./printed.ts";

/** What a program can read of any failure; every field that does not apply is left out. */
export interface ErrorFields {
  /** The API that failed: `"opencl"`, `"libc"`, `"core"`, … */
  readonly api?: string;
  /** The function that was called: `"clCreateBuffer"`. */
  readonly fn?: string;
  /** The native code. */
  readonly code?: number;
  /** The code's name in that API's own header: `"CL_INVALID_HOST_PTR"`. */
  readonly codeName?: string;
  /** The argument at fault, by the name that the documentation gives it: `"strides[0]"`. */
  readonly argument?: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
  /** What caused it. */
  readonly cause?: unknown;
  /** The parts, where one operation failed in several ways. */
  readonly errors?: readonly unknown[];
}

/**
 * The root of every error that samepage throws.
 *
 * @example
 * ```ts
 * import { host, InteropError } from "@samepage/interop";
 *
 * try {
 *   host.allocate({ shape: [-1], dtype: "u8" });
 * } catch (error) {
 *   if (error instanceof InteropError) console.log(error.name, error.argument); // LayoutError shape[0]
 * }
 * ```
 */
export class InteropError extends Error {
  /** The API that failed, if one did: `"opencl"`. */
  declare readonly api: string | undefined;
  /** The function that was called. */
  declare readonly fn: string | undefined;
  /** The native code. */
  declare readonly code: number | undefined;
  /** The code's name in that API's own header. */
  declare readonly codeName: string | undefined;
  /** The argument at fault. */
  declare readonly argument: string | undefined;
  /** What to do about it. */
  declare readonly hint: string | undefined;
  /** The parts, where one operation failed in several ways. */
  declare readonly errors: readonly unknown[] | undefined;

  /** `message` is one sentence; the hint is appended to it, unless it says that already. */
  constructor(message: string, fields: ErrorFields = {}) {
    const { cause, hint, ...others } = fields;
    const isSaid = hint === undefined || message.includes(hint);
    super(isSaid ? message : `${message} ${hint}`, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    // A log shows each field that the object has: one that does not apply is left out.
    const known = Object.entries({ ...others, hint }).filter(([, value]) => value !== undefined);
    Object.assign(this, Object.fromEntries(known));
  }

  /** What `JSON.stringify` makes of it: its name, its message, and the fields that it has. */
  toJSON(): Record<string, unknown> {
    const { name, message, cause, errors, ...fields } = this;
    return {
      name,
      message,
      ...fieldsJson(fields),
      ...(cause === undefined ? {} : { cause: thrownJson(cause) }),
      ...(errors === undefined ? {} : { errors: errors.map(thrownJson) }),
    };
  }
}

/** One place where a library was looked for, and what came of it. */
export interface LibraryAttempt {
  /** The name or path given to the loader. */
  readonly path: string;
  /** The loader's own words. */
  readonly message: string;
}

/** A native library could not be opened; `attempts` lists every place that was tried. */
export class LibraryNotFoundError extends InteropError {
  /** Every place that was tried, in order. */
  readonly attempts: readonly LibraryAttempt[];

  /** `attempts` in the order in which they were made. */
  constructor(message: string, attempts: readonly LibraryAttempt[], fields: ErrorFields = {}) {
    super(message, fields);
    this.attempts = attempts;
  }
}

/** Deno refused a permission; `flag` is the one to pass. */
export class PermissionError extends InteropError {
  /** The flag that grants it: `"--allow-ffi"`. */
  readonly flag: string;

  /** `flag` as it is written on the command line. */
  constructor(message: string, flag: string, fields: ErrorFields = {}) {
    super(message, fields);
    this.flag = flag;
  }
}

/** A native function returned an error code. */
export class NativeCallError extends InteropError {}

/** An argument that is not a layout is wrong: its type, its range, its state. */
export class ArgumentError extends InteropError {}

/** A shape, dtype, stride, offset, length or alignment is wrong; `argument` names which. */
export class LayoutError extends ArgumentError {}

/** The bytes are lent to another holder, or the access asked for exceeds what was granted. */
export class AccessError extends InteropError {}

/** The object was disposed, or what it came from was. */
export class DisposedError extends InteropError {
  /** Without a hint, it says when to dispose. */
  constructor(message: string, fields: ErrorFields = {}) {
    super(message, { hint: "Dispose it after its last use, or make it anew.", ...fields });
  }
}

/** What a tensor throws of itself, with the argument that it was passed as. Anything else stays as it is. */
export function ofArgument(error: unknown, where: string, argument: string): unknown {
  const isOfTensor = error instanceof AccessError || error instanceof DisposedError;
  if (!isOfTensor || error.argument !== undefined) return error;
  const { message, api = "core", hint } = error;
  const fields = { api, argument, cause: error, hint };
  return new (error.constructor as typeof AccessError)(`${where}: ${message}`, fields);
}

/** The same error with one more thing to do. Anything else stays as it is. */
export function withRemedy(error: unknown, remedy: string): unknown {
  if (!(error instanceof InteropError)) return error;
  const { message, name: _, hint: said, ...others } = error;
  const hint = said === undefined ? remedy : `${said} ${remedy}`;
  const fields = { ...others, cause: error, hint } as ErrorFields;
  return new (error.constructor as typeof InteropError)(`${message} ${remedy}`, fields);
}

/** An edge that is closed, why, and what would open it. */
export interface Refusal {
  /** The edge: `"host→opencl"`. */
  readonly edge: string;
  /** Why it is closed for this source and target. */
  readonly reason: string;
  /** What of the source's layout is at fault, if that is the reason: `"strides[1]"`. */
  readonly argument?: string;
  /** What would open it. */
  readonly remedy?: string;
}

/** Why something does not go, and what would open it; the graph names the edge. */
export type Reason = Omit<Refusal, "edge">;

/** No route leads from the source to the target; `refused` says why each edge is closed. */
export class NoRouteError extends InteropError {
  /** Every edge that was asked and refused. */
  readonly refused: readonly Refusal[];

  /** The first refusal's remedy becomes the hint. */
  constructor(message: string, refused: readonly Refusal[], fields: ErrorFields = {}) {
    const { hint = refused.find(({ remedy }) => remedy !== undefined)?.remedy } = fields;
    super(message, hint === undefined ? fields : { ...fields, hint });
    this.refused = refused;
  }
}

/** Throws one failure as it is, several as one {@link InteropError} with `.errors`, each error once. */
export function throwAll(given: readonly unknown[], doing: string): void {
  if (given.length === 0) return;
  const errors = [...new Set(given)];
  if (errors.length === 1) throw errors[0];
  throw new InteropError(`${errors.length} failures while ${doing}: ${errors.map(messageOf).join(" ")}`, { errors });
}

/** Why something is closed for what was thrown; an error's hint is what would open it. */
export function reasonOf(error: unknown): Reason {
  const message = messageOf(error);
  if (!(error instanceof InteropError) || error.hint === undefined) return { reason: message };
  return { reason: message.replace(` ${error.hint}`, ""), remedy: error.hint };
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Reports what no caller waits for: a forgotten dispose, a view that escaped, a failure in a finalizer. */
export function warn(message: string): void {
  console.warn(`samepage: ${message}`);
}
