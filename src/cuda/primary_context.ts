import { ledger } from "../core/life/ledger.ts";
import { addressOf } from "../core/native/pin.ts";
import type { Undo } from "../core/life/undo.ts";
import { checkDriver, checkDriverRelease } from "./errors.ts";
import { cudaDriver } from "./library.ts";

/** A `CUcontext`, which is what a thread is set to. */
type Handle = bigint;

/**
 * The primary context of a device, retained; its release goes on the undo list. It is what libcudart uses, and what every
 * other library of the process that does.
 */
export function retainPrimary(ordinal: number, undo: Undo): Handle {
  const handle = new BigUint64Array(1);
  checkDriver(cudaDriver().cuDevicePrimaryCtxRetain(handle, ordinal), "cuDevicePrimaryCtxRetain");
  ledger.add("cuda.primary_context");
  undo.push(() => {
    ledger.remove("cuda.primary_context");
    checkDriverRelease(cudaDriver().cuDevicePrimaryCtxRelease_v2(ordinal), "cuDevicePrimaryCtxRelease");
  });
  return handle[0];
}

/** The scheduling flags of a device's primary context, and whether it exists already. */
export function primaryState(ordinal: number): { readonly flags: number; readonly active: boolean } {
  const flags = new Uint32Array(1);
  const active = new Int32Array(1);
  checkDriver(cudaDriver().cuDevicePrimaryCtxGetState(ordinal, flags, active), "cuDevicePrimaryCtxGetState");
  return { flags: flags[0], active: active[0] !== 0 };
}

/** Sets the flags of a primary context that is to be made. */
export function setPrimaryFlags(ordinal: number, flags: number): void {
  checkDriver(cudaDriver().cuDevicePrimaryCtxSetFlags_v2(ordinal, flags), "cuDevicePrimaryCtxSetFlags");
}

/** Makes a call with what it needs of the thread. */
export type Within = <R>(call: () => R) => R;

/** How calls are made to a device. */
export interface DeviceCalls {
  /** Is its primary context the thread's current one? Then a call needs no {@link within}. */
  readonly isCurrent: () => boolean;
  /** Is it device 0, whose context CUDA takes where a thread has none? */
  readonly isFirst: boolean;
  /**
   * With its primary context as the thread's current one. The thread is left as it was: with another one, or none. So no
   * other device gets a context that nobody asked for, as cudaSetDevice would give it. A thread without any keeps the
   * context of device 0, as libcudart leaves it after its own first call there.
   */
  readonly within: Within;
  /**
   * The same for a call whose device is that of an event or a stream of it: CUDA needs some context there, no matter which.
   * Where the thread has none it makes device 0's (cudaEventDestroy does, too; cudaEventQuery and cudaEventSynchronize do
   * not, as seen with libcudart 13.0).
   */
  readonly near: Within;
}

/** How calls are made to the device with a primary context; `isFirst` where that is device 0. */
export function callsTo(context: Handle, isFirst: boolean): DeviceCalls {
  const driver = cudaDriver();
  const current = new BigUint64Array(1);
  const out = addressOf(current, "cuda"); // that is faster to pass than the array, on the way of every call
  // Halves are numbers: to compare bigints allocates one.
  const halves = new Uint32Array(current.buffer);
  const [low, high] = new Uint32Array(BigUint64Array.of(context).buffer);
  const isCurrent = () => {
    checkDriver(driver.cuCtxGetCurrent(out), "cuCtxGetCurrent");
    return halves[0] === low && halves[1] === high;
  };
  const within: Within = (call) => {
    if (isCurrent()) return call();
    const before = current[0];
    checkDriver(driver.cuCtxSetCurrent(context as never), "cuCtxSetCurrent");
    if (isFirst && before === 0n) return call();
    try {
      return call();
    } finally {
      checkDriver(driver.cuCtxSetCurrent(before as never), "cuCtxSetCurrent");
    }
  };
  const near: Within = isFirst ? (call) => call() : within; // where there is none, libcudart takes device 0's
  return { isCurrent, isFirst, within, near };
}
