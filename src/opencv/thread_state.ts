import { OpenCLExecutionContext } from "../../ffi/opencv_core/structs.ts";
import { InteropError } from "../core/errors.ts";
import { viewAt } from "./memory.ts";
import { core } from "./library.ts";

/**
 * The words that OpenCV 4.6 keeps for a thread (CoreTLSData): an OpenCLExecutionContext, and one with two ints: whether it was
 * initialized, and whether it may be used (-1: unknown). The ints are in no public header, so {@link checked} compares them.
 */
const WORDS = OpenCLExecutionContext.size / 8 + 1;

/** The state after attachContext: initialized, and unknown whether it may be used. */
const FRESH = 0xffff_ffff_0000_0001n;
const FRESH_MASK = 0xffff_ffff_0000_00ffn;

/** A reference to an execution context, moved out of OpenCV's memory or into it, never copied. */
export type State = BigUint64Array<ArrayBuffer>;

/**
 * OpenCV's OpenCL state of this thread. A `shared_ptr` is moved by its bytes, so that any state can be saved and restored
 * exactly, even the uninitialized one, for which OpenCV has no function.
 */
let current: State | undefined;

function state(): State {
  if (current !== undefined) return current;
  const { buffer, byteOffset } = viewAt(core().OpenCLExecutionContext_getCurrentRef(), WORDS * 8);
  return current = new BigUint64Array(buffer as ArrayBuffer, byteOffset, WORDS);
}

/** The state that `attach` makes in a thread without one. The thread's own state is restored. */
export function stateMadeBy(attach: () => void): State {
  const made = new BigUint64Array(WORDS);
  withState(made, attach);
  return checked(made);
}

/** Runs a function with `own` as the thread's state, and restores the thread's. `own` gets the state after the run. */
export function withState<R>(own: State, run: () => R): R {
  const now = state();
  const before = now.slice();
  now.set(own);
  try {
    return run();
  } finally {
    own.set(now);
    now.set(before);
  }
}

/** Runs a function as in a thread that has not used OpenCL yet. This thread's state does not change. */
export function withFreshState<R>(run: () => R): R {
  const fresh = new BigUint64Array(WORDS);
  try {
    return withState(fresh, run);
  } finally {
    release(fresh);
  }
}

export function release(own: State): void {
  withState(own, () => core().OpenCLExecutionContext_release(core().OpenCLExecutionContext_getCurrentRef()));
}

/** The `cl_context` that OpenCV itself uses in this thread; undefined if it uses none. */
export function currentContext(): bigint | undefined {
  if (core().ocl_haveOpenCL() === 0) return undefined;
  return core().Context_ptr(core().Context_getDefault(1)) || undefined;
}

/**
 * Lets OpenCV choose its own OpenCL context, which it does once per process; it may find none. It looks it up by the name "",
 * which means the first context that it knows, so a context that is attached earlier would become its own.
 */
export function chooseOwnContext(): void {
  try {
    withFreshState(currentContext);
  } catch {
    // The next call that needs the context reports the cause.
  }
}

function checked(made: State): State {
  if (made[0] !== 0n && made[1] !== 0n && (made[2] & FRESH_MASK) === FRESH) return made;
  throw new InteropError("OpenCV's thread state is not laid out as in 4.6: its UMats cannot be used.", {
    api: "opencv",
    fn: "attachContext",
  });
}
