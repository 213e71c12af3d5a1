import type { Fence } from "../core/fence.ts";
import type { MapJob } from "../core/mapper.ts";

/** The work that a job has to wait for: given up with what else was made, unless a resource takes it over. */
export function retained({ waits, undo }: MapJob): Fence[] {
  const fences: Fence[] = [];
  if (waits.length > 0) undo.push(() => fences.splice(0).forEach((fence) => fence[Symbol.dispose]()));
  for (const fence of waits) fences.push(fence.retain());
  return fences;
}
