import type { Case } from "../case.ts";
import type { Where } from "../rows.ts";
import type { Candidate } from "../subject.ts";
import { ACCESS } from "./access.ts";
import { ALIASING } from "./aliasing.ts";
import { ATTACH } from "./attach.ts";
import { FRAMES } from "./frames.ts";
import { LAYOUTS } from "./layouts.ts";
import { LEAKS } from "./leaks.ts";
import { LIFETIME } from "./lifetime.ts";
import { LOAD } from "./load.ts";
import { PEERS } from "./peers.ts";
import { RANGES } from "./ranges.ts";
import { RETURNING } from "./returning.ts";
import { SYNC } from "./sync.ts";

/** Every case, in the order in which they are run: faults come last. */
export const CASES: readonly Case[] = [
  ...ALIASING,
  ...LAYOUTS,
  ...ACCESS,
  ...LIFETIME,
  ...RANGES,
  ...SYNC,
  ...FRAMES,
  ...RETURNING,
  ...PEERS,
  ...ATTACH,
  ...LOAD,
  ...LEAKS,
];

/**
 * Cases about what an edge's own code and its driver do: every edge runs them on every device. The other cases are about
 * laws that the core keeps for all edges; the tests' own API and one driver run those.
 */
export const BINDING: readonly string[] = [
  "aliasing-source-to-target",
  "aliasing-target-to-source",
  "contiguous-layout-kept",
  "strides-kept",
  "offsets-kept",
  "gaps-kept",
  "planes-kept",
  "separate-planes-kept",
  "access-enforced",
  "write-fetches-nothing",
  "stale-view",
  "parent-disposed-first",
  "twice-dispose",
  "context-disposed-first",
  "unmap-waits-for-work",
  "map-waits-for-work",
  "frame-unmap-waits-for-its-planes",
  "returning-then-mapped-again",
  "transfer-takes-a-peers-views-away",
  "attached-twice",
  "attached-for-reading",
  "attached-after-work",
  "attach-that-fails",
  "attached-ends-before-its-owner",
  "attached-context-disposed-first",
  "two-hundred-maps",
  "thousand-maps",
  "ten-thousand-maps",
  "fault-at-every-native-call",
  "host-address-known",
  "hundred-allocations",
  "fault-at-every-allocation",
  "fault-at-every-attach",
  "fault-at-opening",
];

/** Where so many maps are made: in a guest they take a hundred times as long, and on a GPU a driver has more to leak. */
const MAPS: Readonly<Record<Where, string>> = {
  guest: "two-hundred-maps",
  bare: "thousand-maps",
  gpu: "ten-thousand-maps",
};

/** The cases that an edge runs; of those that are `asked` for, all that concern it. */
export function casesOf(candidate: Candidate, where: Where, asked?: readonly Case[]): readonly Case[] {
  const { everyLaw, covered, openedElsewhere } = candidate;
  const here = asked ?? CASES.filter(({ name }) => !isOfMaps(name) || name === MAPS[where]);
  const cases = here.filter(({ opens }) => !(opens && openedElsewhere));
  if (everyLaw || asked !== undefined) return cases;
  return cases.filter(({ name }) => BINDING.includes(name) && !(covered && isOfMaps(name)));
}

function isOfMaps(name: string): boolean {
  return Object.values(MAPS).includes(name);
}
