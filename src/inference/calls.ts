import { type Address, NULL } from "../../ffi/address.ts";
import type { Check } from "../core/native/codes.ts";

/** The functions that return `C`, by their names. */
type Returning<F, C> = { [N in keyof F]: F[N] extends (...given: never[]) => C ? N : never }[keyof F];

type Given<F, N extends keyof F> = F[N] extends (...given: infer P) => unknown ? P : never;

type ButLast<P> = P extends [...infer Q, unknown] ? Q : never;

/** Calls a function, and makes `R` of what that leaves in its last argument. */
export type Result<F, C, R> = <N extends Returning<F, C>>(fn: N, ...given: ButLast<Given<F, N>>) => R;

/** Calls of a runtime's functions by their names, each of whose results is checked. */
export interface Calls<F, C> {
  /** Throws unless the function succeeds. */
  call<N extends Returning<F, C>>(fn: N, ...given: Given<F, N>): void;
  /** The same, and returns what it leaves in its last argument. */
  readonly resultOf: Result<F, C, Address>;
  /** The same for an enumeration's number. */
  readonly numberOf: Result<F, C, number>;
}

/** Where a function leaves its result. */
export const OUT: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);

/** The calls of a runtime's functions, which are there once a context was opened. */
export function callsOf<F, C>(functions: () => F, check: Check<C>): Calls<F, C> {
  const call = (fn: keyof F, ...given: unknown[]) =>
    check((functions()[fn] as (...given: unknown[]) => C)(...given), fn as string);
  const resultOf = (fn: keyof F, ...given: unknown[]) => {
    OUT[0] = NULL; // a number leaves the upper half as it was
    call(fn, ...given, OUT);
    return OUT[0] as Address;
  };
  return { call, resultOf, numberOf: (fn, ...given) => Number(resultOf(fn, ...given)) };
}
