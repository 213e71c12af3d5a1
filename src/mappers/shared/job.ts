import type { MapJob } from "../../core/graph/mapper.ts";
import { type GiveBack, Resource } from "../../core/life/resource.ts";

/**
 * The resource of a job's result; it ends before its parent and its owner. This function and those that make a
 * `giveBack` are separate from `map`, so that no closure of the resource reaches the source.
 */
export function resourceOf(owner: Resource | undefined, job: MapJob, parent: Resource, giveBack?: GiveBack): Resource {
  const { name, undo, grants } = job;
  return new Resource({ name, undo, grants, owners: [parent, owner], giveBack });
}
