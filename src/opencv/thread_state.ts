import { OpenCLExecutionContext } from "../../ffi/opencv_core/structs.ts";
import { InteropError } from "../core/errors.ts";
import { viewAt } from "./memory.ts";
import { core } from "./library.ts";

/**
 * What OpenCV 4.6 keeps for a thread (CoreTLSData): an OpenCLExecutionContext, whether that was asked for, whether it may
 * be used (-1: not known yet). The last two are a word, and in no public header: {@link checked} compares them.
 */
const WORDS = OpenCLExecutionContext.size / 8 + 1;

/** Asked for, and not known whether it may be used: how attachContext leaves it. */
const FRESH = 0xffff_ffff_0000_0001n;
const FRESH_MASK = 0xffff_ffff_0000_00ffn;

/** A reference to an execution context, moved out of OpenCV's memory or into it, never copied. */
export type State = BigUint64Array<ArrayBuffer>;

/**
 * The OpenCL state of this thread, as OpenCV has it. A `shared_ptr` is moved by its bytes, so that a state can be put
 * aside and put back exactly, whatever it was: also "not asked for yet", for which OpenCV has no function.
 */
let current: State | undefined;

function state(): State {
  if (current !== undefined) return current;
  const { buffer, byteOffset } = viewAt(core().OpenCLExecutionContext_getCurrentRef(), WORDS * 8);
  return current = new BigUint64Array(buffer as ArrayBuffer, byteOffset, WORDS);
}

/** The state that `attach` makes in a thread without one; the thread's own is put back. */
export function stateMadeBy(attach: () => void): State {
  const made = new BigUint64Array(WORDS);
  withState(made, attach);
  return checked(made);
}

/** Runs something with `own` as the thread's state, and puts the thread's back. `own` keeps what becomes of it. */
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

/** Runs something as in a thread that has not used OpenCL yet; this thread's state does not change. */
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

/** The `cl_context` that OpenCV uses in this thread by itself; undefined where it uses none. */
export function currentContext(): bigint | undefined {
  if (core().ocl_haveOpenCL() === 0) return undefined;
  return core().Context_ptr(core().Context_getDefault(1)) || undefined;
}

/**
 * Lets OpenCV choose its own OpenCL context, unless it has: it does so once a process, and by the name "" that means the
 * first of all that it knows. A context attached before that would become its own. It may find none.
 */
export function chooseOwnContext(): void {
  try {
    withFreshState(currentContext);
  } catch {
    // The next call that needs it says what is wrong.
  }
}

function checked(made: State): State {
  if (made[0] !== 0n && made[1] !== 0n && (made[2] & FRESH_MASK) === FRESH) return made;
  throw new InteropError("OpenCV's thread state is not laid out as in 4.6: its UMats cannot be used.", {
    api: "opencv",
    fn: "attachContext",
  });
}
