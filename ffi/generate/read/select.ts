import type { ConstantGroup } from "../library.ts";
import type { Macro } from "./macros.ts";

/** A constant before its value is known. */
export interface Candidate {
  /** What TypeScript calls it. */
  readonly name: string;
  /** What C or C++ calls it; the list's patterns are of this. */
  readonly expression: string;
  /** How the header writes it, where it is a macro. */
  readonly text: string;
  /** The file of a macro. */
  readonly file: string;
}

/** Everything that a list may name: macros, and constants of enums that no macro of the same name repeats. */
export function candidates(macros: readonly Macro[], enumerators: readonly Candidate[]): Candidate[] {
  const names = new Set(macros.map((macro) => macro.name));
  return [
    ...macros.map((macro) => ({ ...macro, expression: macro.name })),
    ...enumerators.filter(({ name }) => !names.has(name)),
  ];
}

/** A constant of an enum. */
export function enumerator(name: string, expression = name): Candidate {
  return { name, expression, text: "", file: "" };
}

/** Those of a group. A pattern that matches nothing is an error. */
export function select(group: ConstantGroup, all: readonly Candidate[]): Candidate[] {
  const patterns = group.names.map((glob) => ({
    glob,
    excludes: glob.startsWith("!"),
    matches: new RegExp(`^${glob.replace("!", "").replaceAll("*", "\\w*")}$`),
  }));
  for (const { glob, matches } of patterns) {
    if (!all.some(({ expression }) => matches.test(expression))) {
      throw new Error(`no constant matches "${glob}" (${group.type})`);
    }
  }
  return all.filter(({ expression, text, file }) =>
    (group.from?.some((end) => file.endsWith(end)) ?? true) && (group.written?.test(text) ?? true) &&
    patterns.some(({ excludes, matches }) => !excludes && matches.test(expression)) &&
    !patterns.some(({ excludes, matches }) => excludes && matches.test(expression))
  );
}
