import type { BaseContext, BaseQueue } from "../base_context.ts";

export interface QueuedContext extends BaseContext {
  readonly queue: BaseQueue;
}
