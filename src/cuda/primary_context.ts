import { counted } from "../core/life/ledger.ts";
import { addressOf } from "../core/native/pin.ts";
import type { Undo } from "../core/life/undo.ts";
import { checkDriver, checkDriverRelease } from "./errors.ts";
import { cudaDriver } from "./library.ts";

/** A `CUcontext`. */
type Handle = bigint;

/** Retains the primary context, which libcudart and every other library of the process use, until `undo` runs. */
export function retainPrimary(ordinal: number, undo: Undo): Handle {
  const handle = new BigUint64Array(1);
  checkDriver(cudaDriver().cuDevicePrimaryCtxRetain(handle, ordinal), "cuDevicePrimaryCtxRetain");
  const release = () => cudaDriver().cuDevicePrimaryCtxRelease_v2(ordinal);
  undo.push(counted("cuda.primary_context", () => checkDriverRelease(release(), "cuDevicePrimaryCtxRelease")));
  return handle[0];
}

export function primaryState(ordinal: number): { readonly flags: number; readonly active: boolean } {
  const flags = new Uint32Array(1);
  const active = new Int32Array(1);
  checkDriver(cudaDriver().cuDevicePrimaryCtxGetState(ordinal, flags, active), "cuDevicePrimaryCtxGetState");
  return { flags: flags[0], active: active[0] !== 0 };
}

export function setPrimaryFlags(ordinal: number, flags: number): void {
  checkDriver(cudaDriver().cuDevicePrimaryCtxSetFlags_v2(ordinal, flags), "cuDevicePrimaryCtxSetFlags");
}

/** Makes a call in a prepared thread state. */
export type Within = <R>(call: () => R) => R;

/** How calls are made to a device. */
export interface DeviceCalls {
  /** True if its primary context is the thread's current one: then a call needs no {@link within}. */
  readonly isCurrent: () => boolean;
  /** True if a call that takes its device from an event or a stream needs no {@link near}. */
  readonly isNear: () => boolean;
  /**
   * Makes a call with its primary context as the thread's current one, and restores the thread. Unlike cudaSetDevice, it
   * creates no context on another device. A thread without a context keeps that of device 0, as after libcudart's first
   * call there.
   */
  readonly within: Within;
  /**
   * {@link within} for a call that takes its device from an event or a stream, and needs any context to be current. On a thread
   * without one, CUDA would make device 0's (cudaEventDestroy does too; cudaEventQuery and cudaEventSynchronize do not, with
   * libcudart 13.0).
   */
  readonly near: Within;
  /** {@link within} without its check, when {@link isCurrent} or {@link isNear} has just returned false. */
  readonly switched: Within;
}

/** Counts a native object in the ledger until `undo` releases it. */
export function owned({ within }: Pick<DeviceCalls, "within">, kind: string, undo: Undo, release: () => void): void {
  undo.push(counted(kind, () => within(release)));
}

/** The calls to the device of a primary context; `isFirst` for device 0. */
export function callsTo(context: Handle, isFirst: boolean): DeviceCalls {
  const driver = cudaDriver();
  const current = new BigUint64Array(1);
  const out = addressOf(current, "cuda"); // faster to pass than the array, in each call
  // Compared as two numbers, because reading a bigint allocates it.
  const halves = new Uint32Array(current.buffer);
  const [low, high] = new Uint32Array(BigUint64Array.of(context).buffer);
  const isCurrent = () => {
    checkDriver(driver.cuCtxGetCurrent(out), "cuCtxGetCurrent");
    return halves[0] === low && halves[1] === high;
  };
  const switched: Within = (call) => {
    const before = current[0];
    checkDriver(driver.cuCtxSetCurrent(context as never), "cuCtxSetCurrent");
    if (isFirst && before === 0n) return call();
    try {
      return call();
    } finally {
      checkDriver(driver.cuCtxSetCurrent(before as never), "cuCtxSetCurrent");
    }
  };
  // On a thread without a context, libcudart uses device 0's.
  const isNear = isFirst ? () => true : () => isCurrent() || (halves[0] | halves[1]) !== 0;
  const within: Within = (call) => isCurrent() ? call() : switched(call);
  const near: Within = (call) => isNear() ? call() : switched(call);
  return { isCurrent, isNear, within, near, switched };
}
