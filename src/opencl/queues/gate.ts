import { AccessError } from "../../core/errors.ts";

/** A user event's state, as those who wait behind it see it. */
export interface Gate {
  /** True once it was set, or failed. */
  readonly set: boolean;
  /** Settles when it is. */
  readonly opened: Promise<void>;
}

/** The gates of several, each once. */
export function gatesOf(those: readonly { readonly gates: readonly Gate[] }[]): readonly Gate[] {
  return those.length === 0 ? [] : [...new Set(those.flatMap(({ gates }) => gates))];
}

/** A synchronous wait behind an unset user event could never end. */
export function assertNoGates(gates: readonly Gate[], what: string): void {
  if (gates.length === 0) return;
  throw new AccessError(`${what} could never end: the work waits for a user event that is not set.`, {
    api: "opencl",
    argument: "fence",
    hint: "Set the event first, or await instead.",
  });
}
