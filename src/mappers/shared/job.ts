import type { Fence } from "../../core/device/fence.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";
import type { MapJob } from "../../core/graph/mapper.ts";
import { type GiveBack, Resource } from "../../core/life/resource.ts";

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

/**
 * The end of what a job makes: before its parent's, and before its owner's. Apart from `map`, as the making of a `giveBack`
 * is, so that nothing that the resource keeps reaches the source.
 */
export function resourceOf(owner: Resource | undefined, job: MapJob, parent: Resource, giveBack?: GiveBack): Resource {
  const { name, undo, grants } = job;
  return new Resource({ name, undo, grants, owners: [parent, owner], giveBack });
}
