import type { Memory } from "../core/contract.ts";
import type { Target } from "../core/graph/context.ts";
import { DeviceContext } from "../core/graph/device_context.ts";
import { type Undo, undoAll } from "../core/life/undo.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { CudaDevice } from "./device.ts";
import { type CudaDeviceFlag, currentFlags } from "./device_flags.ts";
import type { LaneDevice } from "./driver.ts";
import { refuseEglSync } from "./egl/sync.ts";
import { check } from "./errors.ts";
import { cudart } from "./library.ts";
import { callsTo, retainPrimary, type Within } from "./primary_context.ts";
import type { CudaTensor } from "./tensor.ts";

/**
 * The primary context of a device, which all users of CUDA's runtime in the process share, and to which tensors, streams and
 * programs belong. `CudaContext` opens it and makes those.
 */
export abstract class CudaPrimaryContext extends DeviceContext implements LaneDevice, Target<CudaTensor> {
  /** The API's name. */
  override readonly api = "cuda";
  /** The kind of memory: any that kernels reach. Its own allocations are device memory. */
  readonly kind = "cuda";
  /** Itself. */
  readonly context: this = this;
  /** Its ports. For mappers. */
  abstract readonly ports: Memory<CudaTensor>;
  /** The ports to the host that all its kinds of memory have. For mappers. */
  abstract readonly hostPorts: Memory<CudaTensor>;
  /** The device. */
  readonly device: CudaDevice;
  /** The priorities of streams: `greatest` is the smaller number. */
  readonly priorities: { readonly least: number; readonly greatest: number };
  /** The primary context, a `CUcontext`. For mappers. */
  readonly cuContext: bigint;
  /** True if its device is the thread's current one. For mappers. */
  readonly isCurrent: () => boolean;
  /** True if a call that takes its device from an event or a stream needs no other current one. For mappers. */
  readonly isNear: () => boolean;
  /** Makes a call with its device as the thread's current one. For mappers. */
  readonly within: Within;
  /** Makes a call that takes its device from an event or a stream. For mappers. */
  readonly near: Within;
  /** Makes a call as `within` does, when `isCurrent` or `isNear` has just returned false. For mappers. */
  readonly switched: Within;

  /** Takes over the retained context `handle`, and the undo list that releases it. */
  protected constructor(device: CudaDevice, handle: bigint, undo: Undo) {
    super("cuda", device, undo);
    this.device = device;
    this.cuContext = handle;
    const calls = callsTo(handle, device.ordinal === 0);
    this.isCurrent = calls.isCurrent;
    this.isNear = calls.isNear;
    this.within = calls.within;
    this.near = calls.near;
    this.switched = calls.switched;
    this.priorities = calls.within(priorityRange);
  }

  /** The flags of the device's context, by CUDA's names (cudaGetDeviceFlags). */
  get flags(): readonly CudaDeviceFlag[] {
    this.resource.assertLive();
    return this.within(currentFlags);
  }

  /** The free and the total memory of the device, in bytes (cudaMemGetInfo). */
  memory(): { readonly free: number; readonly total: number } {
    this.resource.assertLive();
    const [free, total] = [new BigUint64Array(1), new BigUint64Array(1)];
    this.within(() => check(cudart().cudaMemGetInfo(free, total), "cudaMemGetInfo"));
    return { free: Number(free[0]), total: Number(total[0]) };
  }

  /** True for tensors of this target. */
  abstract is(value: Mapped): value is CudaTensor;

  /** Why its device takes no `EGLSync`s as events; undefined if it does. For mappers. */
  get eglSyncRefusal(): string | undefined {
    return refuseEglSync(this.device.attributes);
  }

  /** Retains the device's primary context until the returned function is called. For mappers. */
  keepPrimary(): () => void {
    const undo: Undo = [];
    retainPrimary(this.device.ordinal, undo);
    return () => undoAll(undo, "letting the device go");
  }
}

function priorityRange(): { least: number; greatest: number } {
  const [least, greatest] = [new Int32Array(1), new Int32Array(1)];
  check(cudart().cudaDeviceGetStreamPriorityRange(least, greatest), "cudaDeviceGetStreamPriorityRange");
  return { least: least[0], greatest: greatest[0] };
}
