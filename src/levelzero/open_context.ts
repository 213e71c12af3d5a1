import type { Address } from "../../ffi/address.ts";
import type { ZeContextHandle, ZeDeviceHandle } from "../../ffi/levelzero/handles.ts";
import { counted } from "../core/life/ledger.ts";
import { Shared } from "../core/life/shared.ts";
import type { LevelZeroDevice } from "./device.ts";
import { check, made } from "./errors.ts";
import { levelZero } from "./library.ts";
import { struct } from "./struct.ts";

/** A `ze_context_handle_t` with a count of its holders: memory and events may outlive the context of the program. For mappers. */
export class OpenContext {
  /** Its device. */
  readonly device: LevelZeroDevice;
  /** The `ze_context_handle_t`. */
  readonly handle: ZeContextHandle;
  readonly #shared: Shared;

  /** Creates it. Its maker is the first holder. */
  constructor(device: LevelZeroDevice) {
    this.device = device;
    const desc = struct("ze_context_desc_t");
    this.handle = made("zeContextCreate", (out) => levelZero().zeContextCreate(device.driver, desc, out));
    this.#shared = new Shared(counted("levelzero.context", () => {
      check(levelZero().zeContextDestroy(this.handle), "zeContextDestroy");
    }));
  }

  /** The `ze_device_handle_t`. */
  get deviceHandle(): ZeDeviceHandle {
    return this.device.handle;
  }

  /** Frees memory that was allocated in it. For mappers. */
  free(address: Address): void {
    check(levelZero().zeMemFree(this.handle, address), "zeMemFree");
  }

  /** Holds it until the returned function is called. For mappers. */
  hold(): () => void {
    return this.#shared.hold();
  }
}
