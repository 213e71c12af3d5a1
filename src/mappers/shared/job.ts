import type { MapJob } from "../../core/graph/mapper.ts";
import { type GiveBack, Resource } from "../../core/life/resource.ts";

/**
 * The end of what a job makes: before its parent's, and before its owner's. Apart from `map`, as the making of a `giveBack`
 * is, so that nothing that the resource keeps reaches the source.
 */
export function resourceOf(owner: Resource | undefined, job: MapJob, parent: Resource, giveBack?: GiveBack): Resource {
  const { name, undo, grants } = job;
  return new Resource({ name, undo, grants, owners: [parent, owner], giveBack });
}
