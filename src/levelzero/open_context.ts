import type { ZeContextHandle, ZeDeviceHandle } from "../../ffi/levelzero/handles.ts";
import { counted } from "../core/life/ledger.ts";
import type { LevelZeroDevice } from "./device.ts";
import { check, made } from "./errors.ts";
import { levelZero } from "./library.ts";
import { struct } from "./struct.ts";

/** A `ze_context_handle_t`, until nobody holds it: memory and events may outlive the context that programs hold. */
export class OpenContext {
  readonly device: LevelZeroDevice;
  readonly handle: ZeContextHandle;
  readonly #destroy: () => void;
  #holders = 0;

  constructor(device: LevelZeroDevice) {
    this.device = device;
    const desc = struct("ze_context_desc_t");
    this.handle = made("zeContextCreate", (out) => levelZero().zeContextCreate(device.driver, desc, out));
    this.#destroy = counted("levelzero.context", () => {
      check(levelZero().zeContextDestroy(this.handle), "zeContextDestroy");
    });
  }

  get deviceHandle(): ZeDeviceHandle {
    return this.device.handle;
  }

  /** Holds it until the returned function is called. */
  hold(): () => void {
    this.#holders++;
    return () => {
      if (--this.#holders === 0) this.#destroy();
    };
  }
}
