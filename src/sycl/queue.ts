import type { DPCTLSyclQueueRef } from "../../ffi/sycl/handles.ts";
import type { Commands } from "../core/contract.ts";
import { Line } from "../core/device/line.ts";
import { DeviceQueue } from "../core/device/queue.ts";
import { UnifiedCommands } from "../core/tensors/unified_commands.ts";
import type { SyclContext } from "./context.ts";
import { SyclLane } from "./lane.ts";
import { checks } from "./library.ts";
import type { SyclTensor } from "./usm.ts";

/** A queue, which runs its commands in order. Work on a tensor waits for the earlier work on it. */
export class SyclQueue extends DeviceQueue<SyclLane, SyclTensor> {
  /** Its context. */
  override readonly context: SyclContext;
  /** Its line of work. For mappers. */
  override readonly line: Line<SyclLane>;
  /** SYCL's commands. */
  protected override readonly commands: Commands<SyclLane, SyclTensor>;

  /** Made by `sycl.createQueue()`, and once by the context. */
  constructor(context: SyclContext, driver: Line<SyclLane>["driver"]) {
    super();
    this.context = context;
    this.commands = new UnifiedCommands(context.usm, checks);
    const { native: { context: owner, device }, resource } = context;
    this.line = new Line<SyclLane>({
      driver,
      name: `sycl queue (${context.name})`,
      owners: [resource],
      open: (events) => new SyclLane(owner, device, events),
    });
  }

  /** The `DPCTLSyclQueueRef`, a `sycl::queue*`. Declare work that you submit to it yourself with `tensor.usedBy`. */
  get handle(): DPCTLSyclQueueRef {
    this.resource.assertLive();
    return this.line.lane.queue;
  }
}
