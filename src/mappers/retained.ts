import type { Fence } from "../core/fence.ts";
import type { Mapped } from "../core/mapped.ts";
import type { MapJob } from "../core/mapper.ts";

/**
 * The work that a job has to wait for: given up with what else was made, unless a resource takes it over. A fence's own
 * code may run here, and end anything: a mapper does this first, and looks at its target afterwards.
 *
 * @throws {DisposedError} where the source was ended so.
 */
export function retained({ waits, undo }: MapJob, source: Mapped): Fence[] {
  const fences: Fence[] = [];
  if (waits.length > 0) undo.push(() => fences.splice(0).forEach((fence) => fence[Symbol.dispose]()));
  for (const fence of waits) fences.push(fence.retain());
  source.resource.assertLive();
  return fences;
}
