import type { Driver } from "../core/contract.ts";
import { UnifiedQueue } from "../core/tensors/unified_queue.ts";
import type { SyclContext } from "./context.ts";
import { SyclLane } from "./lane.ts";
import { checks } from "./library.ts";
import type { SyclTensor } from "./usm.ts";

/** A queue (a `DPCTLSyclQueueRef`, a `sycl::queue*`), which runs its commands in order. Work on a tensor waits for the earlier work on it. */
export class SyclQueue extends UnifiedQueue<SyclLane, SyclTensor, SyclContext> {
  /** Made by `sycl.createQueue()`, and once by the context. */
  constructor(context: SyclContext, driver: Driver<SyclLane>) {
    super(context, checks, driver, (events) => new SyclLane(context, events));
  }
}
