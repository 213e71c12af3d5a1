import { type ErrorFields, NativeCallError } from "../errors.ts";

/** The codes of an API. */
export interface Codes {
  /** The API, as errors name it. */
  readonly api: string;
  /** Their names in C. */
  readonly names: ReadonlyMap<number, string>;
  /** What one without a name is called: `"a code that OpenCL does not know"`. */
  readonly unknown: string;
  /** Hints for codes whose names do not give the cause. */
  readonly hints?: ReadonlyMap<number, string>;
  /** How messages write a code; in decimal by default. */
  readonly written?: (code: number) => string;
}

/** Makes the error of a function that returned a code; `fields` go before what the codes say. */
export type ErrorMaker<C = number> = (code: C, fn: string, fields?: ErrorFields) => NativeCallError;

/** Called before any other native call, which would change errno. Throws unless the returned value says success. */
export type Check<C = number> = (returned: C, fn: string, fields?: ErrorFields) => void;

/** Called before any other native call, which would change errno. @throws {NativeCallError} if the function failed. */
export type Made = <H extends bigint>(handle: H, fn: string, fields?: ErrorFields) => H;

/** The error of a function that returned a code. */
export function codeError(codes: Codes, code: number, fn: string, fields: ErrorFields = {}): NativeCallError {
  const { api, names, unknown, hints, written = String } = codes;
  const codeName = names.get(code) ?? names.get(code >>> 0) ?? unknown;
  const hint = hints?.get(code);
  const message = `${fn} failed with ${codeName} (${written(code)}).`;
  return new NativeCallError(message, { api, fn, code, codeName, hint, ...fields });
}

export function errorOf(codes: Codes): ErrorMaker {
  return (code, fn, fields) => codeError(codes, code, fn, fields);
}

/** `success` is what the functions return where they succeed. */
export function checkOf<C extends number | bigint = number>(
  error: ErrorMaker<C>,
  success: NoInfer<C> = 0 as NoInfer<C>,
): Check<C> {
  return function check(returned, fn, fields) {
    if (returned !== success) throw error(returned, fn, fields);
  };
}

/** `returned` is what {@link Check} is to look at. */
export function madeOf(check: Check, returned: (handle: bigint) => number): Made {
  return function made(handle, fn, fields) {
    check(returned(handle), fn, fields);
    return handle;
  };
}

/** Makes a call that leaves a handle where its argument points. @throws {NativeCallError} if the function failed. */
export type MadeAt = <H extends bigint>(fn: string, call: (out: BigUint64Array<ArrayBuffer>) => number) => H;

export function madeAtOf(check: Check): MadeAt {
  const out = new BigUint64Array(1);
  return function made(fn, call) {
    out[0] = 0n;
    check(call(out), fn);
    return out[0] as never;
  };
}
