import type { ZeCommandListHandle } from "../../ffi/levelzero/handles.ts";
import type { Commands } from "../core/contract.ts";
import { Line } from "../core/device/line.ts";
import { DeviceQueue } from "../core/device/queue.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { UnifiedCommands } from "../core/tensors/unified_commands.ts";
import type { LevelZeroContext } from "./context.ts";
import { LevelZeroLane } from "./lane.ts";
import { checks } from "./library.ts";
import type { LevelZeroTensor } from "./tensor.ts";

/** An immediate command list, whose commands run in order. Work on a tensor waits for the earlier work on it. */
export class LevelZeroQueue extends DeviceQueue<LevelZeroLane, LevelZeroTensor> {
  /** Its context. */
  override readonly context: LevelZeroContext;
  /** Its line of work. For mappers. */
  override readonly line: Line<LevelZeroLane>;
  /** Level Zero's commands. */
  protected override readonly commands: Commands<LevelZeroLane, LevelZeroTensor>;

  /** Made by the context, once, and by `levelZero.createQueue()`. */
  constructor(context: LevelZeroContext) {
    super();
    this.context = context;
    this.commands = new UnifiedCommands(context.usm, checks);
    this.line = new Line<LevelZeroLane>({
      driver: context.driver,
      name: `levelzero queue (${context.name})`,
      owners: [context.resource],
      open: (events) => new LevelZeroLane(context.native, events),
    });
    finalizers.register(this, this.resource, this);
  }

  /** The `ze_command_list_handle_t`. Declare work that you append to it yourself with `tensor.usedBy`. */
  get handle(): ZeCommandListHandle {
    this.resource.assertLive();
    return this.line.lane.list;
  }
}
