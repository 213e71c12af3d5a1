import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { OneDeviceContext } from "../core/tensors/unified_context.ts";
import { chosenDevice, type LevelZeroChoice, type LevelZeroDevice } from "./device.ts";
import { driverOf, type LevelZeroDriver } from "./lane.ts";
import { OpenContext } from "./open_context.ts";
import { LevelZeroProgram } from "./program.ts";
import { LevelZeroQueue } from "./queue.ts";
import { LevelZeroUsm } from "./usm.ts";

/** A Level Zero context (a `ze_context_handle_t`) of one device, with a queue. */
export class LevelZeroContext extends OneDeviceContext<LevelZeroDevice, OpenContext> {
  /** The API's name. */
  override readonly api = "levelzero";
  /** Unified shared memory: all of Level Zero's memory except images. */
  override readonly usm: LevelZeroUsm;
  /** The queue of commands that name no queue. */
  override readonly queue: LevelZeroQueue;
  /** The driver of its lines. For mappers. */
  readonly driver: LevelZeroDriver = driverOf();

  private constructor(device: LevelZeroDevice, open: OpenContext, undo: Undo) {
    super("levelzero", device, open, undo, device.id);
    this.usm = new LevelZeroUsm(this);
    this.queue = allOrNothing("opening Level Zero", () => new LevelZeroQueue(this), [() => this.resource.dispose()]);
    this.opened();
  }

  /**
   * Opens a device: the first GPU that fits, else the first device that does.
   *
   * @throws {LibraryNotFoundError} if there is no loader.
   * @throws {ArgumentError} if no device fits.
   * @throws {NativeCallError} if the driver fails.
   *
   * @example
   * ```ts ignore
   * import { host, MapperGraph } from "@samepage/interop";
   * import { LevelZeroContext } from "@samepage/interop/levelzero";
   *
   * using levelZero = LevelZeroContext.open();
   * using graph = new MapperGraph([host, levelZero]);
   * using samples = levelZero.usm.allocate({ kind: "shared", shape: [1024], dtype: "f32" });
   * levelZero.queue.fill(samples, 1.5);
   * using onHost = graph.map(samples, host);
   * console.log(onHost.view()[1023]); // 1.5
   * ```
   */
  static open(choice: LevelZeroChoice = {}): LevelZeroContext {
    const device = chosenDevice(choice);
    const open = new OpenContext(device);
    return new LevelZeroContext(device, open, [open.hold()]);
  }

  /** Makes another queue of the device: an immediate command list. @throws {NativeCallError} if the driver refuses. */
  createQueue(): LevelZeroQueue {
    this.resource.assertLive();
    return new LevelZeroQueue(this);
  }

  /**
   * Loads kernels from SPIR-V.
   *
   * @param spirv the module, as bytes or words
   * @throws {ArgumentError} if it is not SPIR-V of kernels.
   * @throws {LevelZeroBuildError} if the driver cannot compile it; `log` is the compiler's output.
   *
   * @example
   * ```ts ignore
   * import { LevelZeroContext } from "@samepage/interop/levelzero";
   *
   * using levelZero = LevelZeroContext.open();
   * using program = levelZero.program(Deno.readFileSync("twice.spv")); // clang -target spirv64 -cl-std=CL3.0 twice.cl
   * using twice = program.kernel("twice");
   * using numbers = levelZero.usm.allocate({ kind: "shared", shape: [256], dtype: "f32" });
   * twice.run({ groups: [4], groupSize: [64] }, [numbers]);
   * ```
   */
  program(spirv: ArrayBufferView<ArrayBuffer>): LevelZeroProgram {
    return new LevelZeroProgram(this, spirv);
  }
}
