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
}

/** The error of a function that has answered a code; `fields` go before what the codes say. */
export function codeError(codes: Codes, code: number, fn: string, fields: ErrorFields = {}): NativeCallError {
  const { api, names, unknown, hints } = codes;
  const codeName = names.get(code) ?? unknown;
  const hint = hints?.get(code);
  return new NativeCallError(`${fn} failed with ${codeName} (${code}).`, { api, fn, code, codeName, hint, ...fields });
}
