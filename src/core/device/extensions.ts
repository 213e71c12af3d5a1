import type { Reason } from "../errors.ts";

/** Why something is closed that needs an extension which a device lacks: `closed` says what. */
export function lackOf(device: string, extension: string, closed: string): Reason {
  return { reason: `${device} has no ${extension}: ${closed}.` };
}

/** The extensions that are missing, and the reason for each: `lacks` returns it, or undefined. */
export function absentOf<N extends string>(
  names: readonly N[],
  lacks: (name: N) => Reason | undefined,
): ReadonlyMap<string, string> {
  return new Map(names.flatMap((name) => {
    const lack = lacks(name);
    return lack === undefined ? [] : [[name, lack.reason]];
  }));
}
