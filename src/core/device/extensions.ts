import type { Refusal } from "../errors.ts";

/** Why something is closed that needs an extension which a device has not: `closed` says what. */
export function lackOf(device: string, extension: string, closed: string): Omit<Refusal, "edge"> {
  return { reason: `${device} has no ${extension}: ${closed}.` };
}

/** The extensions that are not there, and the reason for each: `lacks` answers it, or undefined. */
export function absentOf<N extends string>(
  names: readonly N[],
  lacks: (name: N) => Omit<Refusal, "edge"> | undefined,
): ReadonlyMap<string, string> {
  return new Map(names.flatMap((name) => {
    const lack = lacks(name);
    return lack === undefined ? [] : [[name, lack.reason]];
  }));
}
