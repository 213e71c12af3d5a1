import { literal } from "../argument.ts";
import type { Checks } from "../checks.ts";

/** A numerator and a denominator. */
export type Ratio = readonly [numerator: number, denominator: number];

const MOST = 2 ** 31 - 1;

/** A ratio that a program gave. @throws {ArgumentError} for anything but two integers from 1 on, or one for a whole number. */
export function ratioIn(checks: Checks, given: number | Ratio, argument: string, hint: string): Ratio {
  const ratio = Array.isArray(given) ? given : [given, 1];
  if (ratio.length === 2 && ratio.every((n) => Number.isInteger(n) && n > 0 && n <= MOST)) return [ratio[0], ratio[1]];
  const got = Array.isArray(given) && given.length === 2 ? `[${given.map(literal).join(", ")}]` : literal(given);
  const expected = `expected an integer, or [numerator, denominator], from 1 to ${MOST}`;
  throw checks.wrong(argument, `${expected}, got ${got}.`, hint);
}

/** A time that counts one ratio of seconds, in another: the nearest. */
export function rescaled(time: bigint, [num, den]: Ratio, [toNum, toDen]: Ratio): bigint {
  const [above, below] = [2n * time * BigInt(num) * BigInt(toDen), 2n * BigInt(den) * BigInt(toNum)];
  const half = below / 2n;
  return (above + (time < 0n ? -half : half)) / below;
}
