import type { Arrays } from "../contract.ts";
import type { DeviceId } from "../device/device_id.ts";
import { Proofs } from "../device/proofs.ts";
import type { Target } from "../graph/context.ts";
import { DeviceContext } from "../graph/device_context.ts";
import type { Undo } from "../life/undo.ts";
import { type UnifiedContext, usmArrays } from "./unified.ts";
import type { SharedContext, UnifiedDeviceContext, UnifiedDeviceMemory, UnifiedTensor } from "./unified_device.ts";

/** An open API on one device, whose memory is unified shared memory. For backends. */
export abstract class OneDeviceContext<
  D extends UnifiedDeviceContext["device"],
  N extends SharedContext<unknown>,
> extends DeviceContext implements UnifiedDeviceContext {
  /** Its device. */
  readonly device: D;
  /** Its native objects, without a check. For mappers. */
  readonly native: N;
  /** What is proven of its device. For mappers. */
  readonly proofs: Proofs<UnifiedContext>;
  /** The queue of commands that name none. */
  abstract readonly queue: UnifiedContext["queue"];
  /** Its unified shared memory. */
  abstract readonly usm: UnifiedDeviceMemory<UnifiedTensor, UnifiedDeviceContext>;

  /** Takes the undo list over. The API opens the memory and the queue. */
  constructor(api: string, device: D, native: N, undo: Undo, id: DeviceId = {}) {
    super(api, { name: device.name, id }, undo);
    this.device = device;
    this.native = native;
    this.proofs = new Proofs<UnifiedContext>(this, id.uuid && `${api} ${id.uuid}`);
  }

  /** The native context. */
  get handle(): N["handle"] {
    this.resource.assertLive();
    return this.native.handle;
  }

  /** Its targets in routes: its unified shared memory. */
  override get targets(): readonly Target[] {
    return [this.usm];
  }

  /** Its memory by addresses, for DLPack. */
  get arrays(): Arrays {
    return usmArrays(this.usm);
  }
}
