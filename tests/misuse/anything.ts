/**
 * Values that no argument is made for, and what has to come of them.
 *
 * @module
 */
import { InteropError } from "@samepage/interop";
import { any } from "./kit.ts";

/** What a caller without types may pass for anything at all. */
const BAD: readonly unknown[] = [undefined, null, 5, "x", Symbol("s"), {}, [], Object.create(null), 5n, NaN, () => {}];

/** So many characters a message has at most, whatever it is about. */
export const LONGEST_MESSAGE = 2_000;

/** A text that no message shows whole. */
const LONG = `${"-x".repeat(500)}\n`.repeat(1000);

/** Values that are too long for a message, whole. */
export const LONG_VALUES: readonly unknown[] = [
  LONG,
  Symbol(LONG),
  10n ** 300_000n,
  { [LONG]: 1 },
  [LONG],
  { [LONG.replaceAll("\n", "\0")]: LONG },
  new (class {
    static readonly name: string = LONG;
  })(),
];

/** Calls each with all of that; whatever is thrown has to be typed, with a message of a few lines. */
export async function tryAll(calls: Readonly<Record<string, (x: never) => unknown>>): Promise<void> {
  const each = Object.entries(calls).flatMap(([name, call]) =>
    [...BAD, ...LONG_VALUES].map((value, i) =>
      [`${name} ${i} ${Object.prototype.toString.call(value)}`, () => call(any(value))] as const
    )
  );
  await tryEach(Object.fromEntries(each));
}

/** Calls each; whatever is thrown has to be typed, with a message of a few lines. */
async function tryEach(calls: Readonly<Record<string, () => unknown>>): Promise<void> {
  const wrong: string[] = [];
  for (const [name, call] of Object.entries(calls)) {
    try {
      await call();
    } catch (error) {
      const { constructor: kind, message, stack } = error as Error;
      const at = stack?.split("\n").find((line) => line.includes("/src/"))?.trim();
      const { length } = message;
      if (length > LONGEST_MESSAGE) wrong.push(`${name}: ${length} characters: ${message.slice(0, 200)} ${at ?? ""}`);
      if (!(error instanceof InteropError)) wrong.push(`${name}: ${kind.name}: ${message.slice(0, 200)} ${at ?? ""}`);
    }
  }
  if (wrong.length > 0) throw new Error(`${wrong.length} untyped:\n${wrong.join("\n")}`);
}
