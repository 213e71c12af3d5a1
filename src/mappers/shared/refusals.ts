import type { Described } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { CudaContext } from "../../cuda/context.ts";
import type { OpenCLContext } from "../../opencl/context.ts";
import type { MatShape, Unfit } from "../../opencv/shape.ts";

/** The refusal of an edge. */
export function refused(edge: string, reason: string, remedy?: string): Refusal {
  return { edge, reason, ...(remedy === undefined ? {} : { remedy }) };
}

/** Refuses a context that was disposed. */
export function refuseEnded(edge: string, cl: OpenCLContext): Refusal | undefined {
  return cl.queue.resource.state === "live" ? undefined : refused(edge, `${cl.name}, or its queue, was disposed.`);
}

/** The same for a CUDA context. */
export function refuseDisposed(edge: string, { resource, name }: CudaContext): Refusal | undefined {
  return resource.state === "live" ? undefined : refused(edge, `${name} was disposed.`);
}

/** Refuses a frame: such a target takes single planes. */
export function refuseFrame(edge: string, source: Described, what: string): Refusal | undefined {
  if (source.info === undefined) return undefined;
  return refused(
    edge,
    `${what} is one plane.`,
    "Map the planes of the frame one by one: graph.map(frame.planes[0], …).",
  );
}

/**
 * Refuses coarse-grained memory of this context that is mapped for the host, because only the host may use it
 * meanwhile.
 */
export function refuseMappedCoarse(edge: string, source: Described, cl: OpenCLContext): Refusal | undefined {
  if (source.target.kind !== "host" || cl.svm.blockOf(source.range.allocation)?.grain !== "coarse") return undefined;
  return refused(
    edge,
    `it is coarse-grained memory that is mapped for the host: no kernel of ${cl.name} may use it meanwhile.`,
    "Dispose that map, and use or map the tensor that it was made of.",
  );
}

/** Refuses bytes that the host may be writing, while the device has its own copy of them. */
export function refuseBehindHost(edge: string, { name }: OpenCLContext): Refusal {
  const reason = `${name} has a copy of its own of these bytes, which a map of it to the host may be changing.`;
  return refused(edge, reason, "Dispose the host's map first.");
}

/** A layout that OpenCV cannot have. */
export function refuseUnfit(edge: string, fit: MatShape | Unfit): Refusal | undefined {
  return "problem" in fit ? refused(edge, `${fit.argument}: ${fit.problem}`, fit.remedy) : undefined;
}
