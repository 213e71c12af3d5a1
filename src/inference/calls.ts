import { type Address, NULL } from "../../ffi/address.ts";
import type { Check } from "../core/native/codes.ts";

/** The names of the functions that return `C`. */
type Returning<F, C> = { [N in keyof F]: F[N] extends (...given: never[]) => C ? N : never }[keyof F];

type Given<F, N extends keyof F> = F[N] extends (...given: infer P) => unknown ? P : never;

type ButLast<P> = P extends [...infer Q, unknown] ? Q : never;

/** Calls a function, and makes an `R` of what it writes to its last argument. */
export type Result<F, C, R> = <N extends Returning<F, C>>(fn: N, ...given: ButLast<Given<F, N>>) => R;

/** Calls a runtime's functions by name, and checks each result. */
export interface Calls<F, C> {
  /** Throws unless the function succeeds. */
  call<N extends Returning<F, C>>(fn: N, ...given: Given<F, N>): void;
  /** Calls a function, and returns the pointer that it writes to its last argument. */
  readonly resultOf: Result<F, C, Address>;
  /** Calls a function, and returns the enumeration's value that it writes to its last argument. */
  readonly numberOf: Result<F, C, number>;
}

/** Where functions write their results. */
export const OUT: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);

/** The calls of a runtime's functions, which exist once a context was opened. */
export function callsOf<F, C>(functions: () => F, check: Check<C>): Calls<F, C> {
  const call = (fn: keyof F, ...given: unknown[]) =>
    check((functions()[fn] as (...given: unknown[]) => C)(...given), fn as string);
  const resultOf = (fn: keyof F, ...given: unknown[]) => {
    OUT[0] = NULL; // a 32-bit result leaves the upper half as it was
    call(fn, ...given, OUT);
    return OUT[0] as Address;
  };
  return { call, resultOf, numberOf: (fn, ...given) => Number(resultOf(fn, ...given)) };
}
