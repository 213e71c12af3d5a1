/** Sources, each with a target. */
export type Pairs = readonly (readonly [from: string, to: string])[];

/**
 * `"a, b → c, d"`: sources that have the same targets stand together. What joins several with each other is one group too:
 * `"a, b → a, b"` is from each to the other one.
 */
export function joined(pairs: Pairs): string {
  const targets = [...new Set(pairs.map(([, to]) => to))].sort();
  const groups = new Map<string, string[]>();
  for (const from of new Set(pairs.map(([from]) => from))) {
    const leadsTo = (to: string) => pairs.some((pair) => pair[0] === from && pair[1] === to);
    const key = targets.filter((to) => to === from || leadsTo(to)).join(", ");
    groups.set(key, [...groups.get(key) ?? [], from]);
  }
  return [...groups].map(([to, froms]) => {
    const alone = froms.length === 1 && !pairs.some((pair) => pair[0] === pair[1]);
    return `${froms.join(", ")} → ${alone ? to.split(", ").filter((it) => it !== froms[0]).join(", ") : to}`;
  }).join("; ");
}
