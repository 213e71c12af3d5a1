import type { Check } from "./codes.ts";

/** Leaves the number of items in `count` where `into` is null; else it fills `into`. Returns a code. */
export type Listing<T> = (count: Uint32Array<ArrayBuffer>, into: T | null) => number;

/**
 * Calls a function that lists items twice: for their number, then for the items, which it returns. The driver has
 * filled in the first `count`; `into` is null where there is nothing.
 * @param room makes memory for so many
 * @param more the code that says there are more by then: it is asked again
 * @throws {NativeCallError} if the function failed.
 */
export function listed<T>(
  fn: string,
  check: Check,
  ask: Listing<T>,
  room: (count: number) => T,
  more?: number,
): { readonly count: number; readonly into: T | null } {
  const count = new Uint32Array(1);
  for (;;) {
    check(ask(count, null), fn);
    const into = count[0] === 0 ? null : room(count[0]);
    const code = ask(count, into);
    if (code === more) continue;
    check(code, fn);
    return { count: into === null ? 0 : count[0], into };
  }
}

/** The same for handles. */
export function listedHandles<H extends bigint>(
  fn: string,
  check: Check,
  ask: Listing<BigUint64Array<ArrayBuffer>>,
  more?: number,
): H[] {
  const { count, into } = listed(fn, check, ask, (length) => new BigUint64Array(length), more);
  return Array.from(into?.subarray(0, count) ?? []) as H[];
}
