import { UnifiedQueue } from "../core/tensors/unified_queue.ts";
import type { LevelZeroContext } from "./context.ts";
import { LevelZeroLane } from "./lane.ts";
import { checks } from "./library.ts";
import type { LevelZeroTensor } from "./usm.ts";

/** An immediate command list (a `ze_command_list_handle_t`), whose commands run in order. Work on a tensor waits for the earlier work on it. */
export class LevelZeroQueue extends UnifiedQueue<LevelZeroLane, LevelZeroTensor, LevelZeroContext> {
  /** Made by the context, once, and by `levelZero.createQueue()`. */
  constructor(context: LevelZeroContext) {
    super(context, checks, context.driver, (events) => new LevelZeroLane(context.native, events));
  }
}
