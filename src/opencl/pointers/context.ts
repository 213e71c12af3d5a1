import type { Refusal } from "../../core/errors.ts";
import type { BaseContext, BaseQueue } from "../base_context.ts";

/** A context with its own queue. */
export interface QueuedContext extends BaseContext {
  /** The queue. */
  readonly queue: BaseQueue;
}

/** Refuses memory of a context whose queue has ended. */
export function refuseEnded({ name, queue }: QueuedContext): Omit<Refusal, "edge"> | undefined {
  return queue.resource.isLive ? undefined : { reason: `${name}, or its queue, was disposed.` };
}
