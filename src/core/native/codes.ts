import { type ErrorFields, NativeCallError } from "../errors.ts";

/** The codes of an API. */
export interface Codes {
  /** The API, as errors name it. */
  readonly api: string;
  /** Their names in C. */
  readonly names: ReadonlyMap<number, string>;
  /** What one without a name is called: `"a code that OpenCL does not know"`. */
  readonly unknown: string;
  /** Hints for codes whose names do not tell the cause. */
  readonly hints?: ReadonlyMap<number, string>;
  /** How messages write a code; in decimal by default. */
  readonly written?: (code: number) => string;
}

/** Makes the error of a function that returned a code; `fields` go before what the codes say. */
export type ErrorMaker = (code: number, fn: string, fields?: ErrorFields) => NativeCallError;

/** Throws unless what a function returned says that it succeeded. To be called before any other native call. */
export type Check = (returned: number, fn: string, fields?: ErrorFields) => void;

/** Returns what a function made. @throws {NativeCallError} if it failed. To be called before any other native call. */
export type Made = <H extends bigint>(handle: H, fn: string, fields?: ErrorFields) => H;

/** The error of a function that returned a code. */
export function codeError(codes: Codes, code: number, fn: string, fields: ErrorFields = {}): NativeCallError {
  const { api, names, unknown, hints, written = String } = codes;
  const codeName = names.get(code) ?? names.get(code >>> 0) ?? unknown;
  const hint = hints?.get(code);
  const message = `${fn} failed with ${codeName} (${written(code)}).`;
  return new NativeCallError(message, { api, fn, code, codeName, hint, ...fields });
}

/** The maker of an API's errors. */
export function errorOf(codes: Codes): ErrorMaker {
  return (code, fn, fields) => codeError(codes, code, fn, fields);
}

/** The check of an API's functions: `success` is what they return where they succeed. */
export function checkOf(error: ErrorMaker, success = 0): Check {
  return function check(returned, fn, fields) {
    if (returned !== success) throw error(returned, fn, fields);
  };
}

/** The check of what an API's functions make: `returned` is what {@link Check} is to look at. */
export function madeOf(check: Check, returned: (handle: bigint) => number): Made {
  return function made(handle, fn, fields) {
    check(returned(handle), fn, fields);
    return handle;
  };
}
