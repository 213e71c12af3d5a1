import type { Case } from "../case.ts";
import { ACCESS } from "./access.ts";
import { ALIASING } from "./aliasing.ts";
import { FRAMES } from "./frames.ts";
import { LAYOUTS } from "./layouts.ts";
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
  ...LOAD,
];
