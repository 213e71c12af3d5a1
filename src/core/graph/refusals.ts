import type { Reason, Refusal } from "../errors.ts";
import type { Resource } from "../life/resource.ts";
import type { Described } from "../tensors/described.ts";
import type { Context } from "./context.ts";

interface WithQueue extends Pick<Context, "name"> {
  readonly queue: { readonly resource: Resource };
}

interface Unfit {
  readonly argument: string;
  readonly problem: string;
  readonly remedy?: string | undefined;
}

export function refused(edge: string, reason: string, remedy?: string): Refusal {
  return { edge, reason, ...(remedy === undefined ? {} : { remedy }) };
}

/** Why memory of a context is closed: its queue was disposed. */
export function whyEnded({ name, queue }: WithQueue): Reason | undefined {
  return queue.resource.state === "live" ? undefined : { reason: `${name}, or its queue, was disposed.` };
}

export function refuseEnded(edge: string, context: WithQueue): Refusal | undefined {
  if (context.queue.resource.state === "live") return undefined; // most maps: their path stays short
  return { edge, ...whyEnded(context)! };
}

export function refuseDisposed(edge: string, { resource, name }: Context): Refusal | undefined {
  if (resource === undefined || resource.state === "live") return undefined;
  return refused(edge, `${name} was disposed.`);
}

/** Why a frame is closed to a target that takes single planes. */
export function whyFrame({ info }: Described, what: string): Reason | undefined {
  if (info === undefined) return undefined;
  const remedy = "Map the planes of the frame one by one: graph.map(frame.planes[0], …).";
  return { reason: `${what} is one plane.`, remedy };
}

/** Refuses a frame: such a target takes single planes. */
export function refuseFrame(edge: string, source: Described, what: string): Refusal | undefined {
  const why = whyFrame(source, what);
  return why && { edge, ...why };
}

/** Why memory does not fit; undefined for any other result of the check. */
export function whyUnfit(fit: object | Unfit): Reason | undefined {
  if (!("problem" in fit)) return undefined;
  const reason = `${fit.argument}: ${fit.problem}`;
  return fit.remedy === undefined ? { reason } : { reason, remedy: fit.remedy };
}

export function refuseUnfit(edge: string, fit: object | Unfit): Refusal | undefined {
  const why = whyUnfit(fit);
  return why && { edge, ...why };
}
