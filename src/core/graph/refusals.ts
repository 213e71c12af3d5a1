import type { Refusal } from "../errors.ts";
import type { Resource } from "../life/resource.ts";
import type { Described } from "../tensors/described.ts";
import type { Context } from "./context.ts";

interface WithQueue extends Pick<Context, "name"> {
  readonly queue: { readonly resource: Resource };
}

/** Why memory does not fit a target. */
interface Unfit {
  readonly argument: string;
  readonly problem: string;
  readonly remedy?: string | undefined;
}

export function refused(edge: string, reason: string, remedy?: string): Refusal {
  return { edge, reason, ...(remedy === undefined ? {} : { remedy }) };
}

/** Why memory of a context is closed: its queue was disposed. */
export function whyEnded({ name, queue }: WithQueue): Omit<Refusal, "edge"> | undefined {
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

/** Refuses a frame: such a target takes single planes. */
export function refuseFrame(edge: string, source: Described, what: string): Refusal | undefined {
  if (source.info === undefined) return undefined;
  return refused(
    edge,
    `${what} is one plane.`,
    "Map the planes of the frame one by one: graph.map(frame.planes[0], …).",
  );
}

export function refuseUnfit(edge: string, fit: object | Unfit): Refusal | undefined {
  return "problem" in fit ? refused(edge, `${fit.argument}: ${fit.problem}`, fit.remedy) : undefined;
}
