import type { BaseContext, BaseQueue } from "../base_context.ts";

/** A context with its own queue. */
export interface QueuedContext extends BaseContext {
  /** The queue. */
  readonly queue: BaseQueue;
}
