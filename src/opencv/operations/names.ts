/** What OpenCV's names in C++ and Python begin with, and samepage's do not. */
const PREFIX = /^(?:cv::|cv2?\.)?([A-Z]+_)(\w+)$/;

/** How many similar names are suggested at most. */
const NEAR = 8;

/** What is longer is not a name. */
const LONGEST = 64;

/** What to leave out of a name, where that makes it one of these: `COLOR_BGR2GRAY`, and `INTER_LINEAR_EXACT` too. */
export function withoutPrefix(names: readonly string[], given: unknown): string | undefined {
  const [, prefix, rest] = typeof given === "string" ? PREFIX.exec(given) ?? [] : [];
  if (rest === undefined) return undefined;
  const name = [rest, rest.toLowerCase().replaceAll("_", "-")].find((name) => names.includes(name));
  return name === undefined ? undefined : `Leave ${prefix} out: "${name}".`;
}

/** Names that something may have been meant for, the nearest first: they contain it, or share half of their letters. */
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

/** How many letters have to be put in, left out or replaced (Levenshtein). */
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
