import type { ZeContextHandle } from "../../ffi/levelzero/handles.ts";
import { counted } from "../core/life/ledger.ts";
import { SharedContext } from "../core/tensors/unified_device.ts";
import type { LevelZeroDevice } from "./device.ts";
import { check, levelZero, made } from "./library.ts";
import { struct } from "./struct.ts";

/** A `ze_context_handle_t` that counts its holders: memory and events may outlive the program's context. For mappers. */
export class OpenContext extends SharedContext<ZeContextHandle> {
  /** Its device. */
  readonly device: LevelZeroDevice;

  /** Creates it. Its maker is the first holder. */
  constructor(device: LevelZeroDevice) {
    const { zeContextCreate, zeContextDestroy, zeMemFree } = levelZero();
    const desc = struct("ze_context_desc_t");
    const handle = made<ZeContextHandle>("zeContextCreate", (out) => zeContextCreate(device.driver, desc, out));
    const destroy = counted("levelzero.context", () => check(zeContextDestroy(handle), "zeContextDestroy"));
    super(handle, [destroy], (address) => check(zeMemFree(handle, address), "zeMemFree"));
    this.device = device;
  }
}
