import type { Refusal } from "../../core/errors.ts";
import { refused } from "../../core/graph/mapper.ts";
import type { Described } from "../../core/tensors/described.ts";
import type { OpenCLContext } from "../context.ts";
import { mappedCoarse } from "../svm/block.ts";

export function refuseMappedCoarse(edge: string, source: Described, cl: OpenCLContext): Refusal | undefined {
  const { target, range: { allocation } } = source;
  if (target.kind !== "host" || allocation.block.kind !== "opencl.svm") return undefined;
  if (cl.svm.blockOf(allocation)?.grain !== "coarse") return undefined;
  return { edge, ...mappedCoarse(cl) };
}

/** Refuses bytes that the host may be writing, while the device has its own copy of them. */
export function refuseBehindHost(edge: string, { name }: OpenCLContext): Refusal {
  const reason = `${name} has a copy of its own of these bytes, which a map of it to the host may be changing.`;
  return refused(edge, reason, "Dispose the host's map first.");
}
