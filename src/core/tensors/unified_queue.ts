import type { Commands, Driver, LineEvents } from "../contract.ts";
import type { Checks } from "../checks.ts";
import { Line } from "../device/line.ts";
import { DeviceQueue } from "../device/queue.ts";
import { finalizers } from "../life/finalizers.ts";
import { UnifiedCommands } from "./unified_commands.ts";
import type { UnifiedDeviceContext, UnifiedDeviceMemory, UnifiedTensor } from "./unified_device.ts";

/** A context of one device, as its queues know it. */
export interface UnifiedQueueContext<T extends UnifiedTensor> extends UnifiedDeviceContext {
  /** Its unified shared memory. */
  readonly usm: UnifiedDeviceMemory<T, UnifiedDeviceContext>;
  /** Counts copied bytes. For mappers. */
  countCopied(bytes: number): void;
}

/** A queue of one device, which runs its commands in order. Work on a tensor waits for the earlier work on it. */
export abstract class UnifiedQueue<
  L extends { readonly handle: unknown },
  T extends UnifiedTensor,
  C extends UnifiedQueueContext<T>,
> extends DeviceQueue<L, T> {
  /** Its context. */
  override readonly context: C;
  /** Its line of work. For mappers. */
  override readonly line: Line<L>;
  /** The API's commands. */
  protected override readonly commands: Commands<L, T>;

  /** `open` makes the native queue. */
  constructor(context: C, checks: Checks, driver: Driver<L>, open: (events: LineEvents) => L) {
    super();
    const { api, name, resource, usm } = context;
    this.context = context;
    this.commands = new UnifiedCommands(usm, checks);
    this.line = new Line<L>({ driver, name: `${api} queue (${name})`, owners: [resource!], open });
    finalizers.register(this, this.resource, this);
  }

  /** The native queue. Declare work that you submit to it yourself with `tensor.usedBy`. */
  get handle(): L["handle"] {
    this.resource.assertLive();
    return this.line.lane.handle;
  }
}
