import type { DPCTLSyclDeviceRef } from "../../ffi/sycl/handles.ts";
import type { Driver } from "../core/contract.ts";
import { owned } from "../core/life/ledger.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import type { Home } from "../core/tensors/unified.ts";
import { OneDeviceContext } from "../core/tensors/unified_context.ts";
import { checkedChoice, type ChosenDevice, chosenDevice, type SyclDevice, type SyclDeviceChoice } from "./device.ts";
import { syclDriver, type SyclLane } from "./lane.ts";
import { sycl } from "./library.ts";
import { contextOver, createContext, type SyclNativeContext } from "./native_context.ts";
import { SyclProgram, type SyclProgramOptions } from "./program.ts";
import { SyclQueue } from "./queue.ts";
import { SyclUsm } from "./usm.ts";

/**
 * A SYCL context (a `DPCTLSyclContextRef`, a `sycl::context*`) of one device, with an in-order queue.
 *
 * @example
 * ```ts ignore
 * import { SyclContext } from "@samepage/interop/sycl";
 *
 * using sycl = SyclContext.open();
 * using samples = sycl.usm.allocate({ kind: "shared", shape: [1024], dtype: "f32" });
 * sycl.queue.fill(samples, 1);
 * ```
 */
export class SyclContext extends OneDeviceContext<SyclDevice, SyclNativeContext> {
  /** The API's name. */
  override readonly api = "sycl";
  /** Its default queue. */
  override readonly queue: SyclQueue;
  /** Its unified shared memory. */
  override readonly usm: SyclUsm;
  /** The `DPCTLSyclDeviceRef`. For mappers. */
  readonly deviceRef: DPCTLSyclDeviceRef;
  readonly #driver: Driver<SyclLane> = syclDriver();

  private constructor(
    { ref, device }: ChosenDevice,
    native: SyclNativeContext,
    undo: Undo,
    home?: Home,
  ) {
    super("sycl", device, native, undo);
    this.deviceRef = ref;
    this.usm = new SyclUsm(this, home);
    this.queue = new SyclQueue(this, this.#driver);
    this.opened();
  }

  /**
   * Opens a device: the first GPU that fits the choice, else the first device that fits.
   *
   * @throws {LibraryNotFoundError} if there is no DPCTL or no SYCL.
   * @throws {ArgumentError} if no device fits; the hint lists the devices.
   * @throws {NativeCallError} if SYCL refuses the device.
   *
   * @example
   * ```ts ignore
   * import { MapperGraph } from "@samepage/interop";
   * import { OpenCLContext } from "@samepage/interop/opencl";
   * import { SyclContext } from "@samepage/interop/sycl";
   *
   * using cl = OpenCLContext.open({ platform: "Intel" });
   * using sycl = SyclContext.open({ on: cl });
   * using graph = new MapperGraph([cl, sycl]);
   * using samples = cl.usm.allocate({ kind: "device", shape: [1024], dtype: "f32" });
   * using same = graph.map(samples, sycl.usm); // the same address
   * sycl.queue.fill(same, 1);
   * ```
   */
  static open(choice: SyclDeviceChoice = {}): SyclContext {
    const { on, ...wanted } = checkedChoice(choice);
    return allOrNothing("opening a SYCL context", (undo) => {
      const over = on && contextOver(on, undo);
      const chosen = chosenDevice(wanted, over?.handle);
      owned("sycl.device", undo, () => sycl().DPCTLDevice_Delete(chosen.ref));
      return new SyclContext(chosen, over ?? createContext(chosen.ref, undo), undo, on?.usm.home);
    });
  }

  /** Creates another queue. @throws {NativeCallError} if SYCL refuses it. */
  createQueue(): SyclQueue {
    this.resource.assertLive();
    return new SyclQueue(this, this.#driver);
  }

  /**
   * Builds a program.
   *
   * @param code OpenCL C as a string, or SPIR-V for kernels as bytes
   * @throws {ArgumentError} for any other code, and unknown options.
   * @throws {NativeCallError} if the program does not build.
   */
  program(code: string | Uint8Array<ArrayBuffer>, options: SyclProgramOptions = {}): SyclProgram {
    return new SyclProgram(this, code, options);
  }
}
