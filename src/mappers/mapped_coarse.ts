import type { Described } from "../core/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { OpenCLContext } from "../opencl/context.ts";

/**
 * Coarse-grained memory that is mapped for the host is the host's alone: whatever a kernel of the same context is to
 * reach it by, it is refused. Any other memory, and another context's, is not this rule's matter.
 */
export function refuseMappedCoarse(edge: string, source: Described, cl: OpenCLContext): Refusal | undefined {
  if (source.target.kind !== "host" || cl.svm.blockOf(source.range.allocation)?.grain !== "coarse") return undefined;
  return {
    edge,
    reason: `it is coarse-grained memory that is mapped for the host: no kernel of ${cl.name} may use it meanwhile.`,
    remedy: "Dispose that map, and use or map the tensor that it was made of.",
  };
}
