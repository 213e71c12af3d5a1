/** The prefixes of OpenCV's names in C++ and Python, which samepage's names lack. */
const PREFIX = /^(?:cv::|cv2?\.)?([A-Z]+_)(\w+)$/;

/** The limit of suggested names. */
const NEAR = 8;

/** The limit of a name's length. */
const LONGEST = 64;

/** A hint to leave out a prefix, if the rest is one of these names: `COLOR_BGR2GRAY`, and `INTER_LINEAR_EXACT` too. */
export function withoutPrefix(names: readonly string[], given: unknown): string | undefined {
  const [, prefix, rest] = typeof given === "string" ? PREFIX.exec(given) ?? [] : [];
  if (rest === undefined) return undefined;
  const name = [rest, rest.toLowerCase().replaceAll("_", "-")].find((name) => names.includes(name));
  return name === undefined ? undefined : `Leave ${prefix} out: "${name}".`;
}

/** The names that a program may have meant, the nearest first: they contain its text, or share half of the letters. */
export function namesNear(names: readonly string[], given: unknown): string[] {
  if (typeof given !== "string" || given === "" || given.length > LONGEST) return [];
  const meant = given.toLowerCase();
  return names
    .map((name) => ({ name, distance: distanceBetween(name.toLowerCase(), meant) }))
    .filter(({ name, distance }) => name.toLowerCase().includes(meant) || distance <= name.length / 2)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, NEAR)
    .map(({ name }) => name);
}

/** The number of letters to insert, delete or replace (Levenshtein). */
function distanceBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      next.push(Math.min(next[j] + 1, row[j + 1] + 1, row[j] + (letter === b[j] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length];
}
