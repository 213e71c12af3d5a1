import type { ClDeviceId } from "../../ffi/opencl/handles.ts";
import { messageOf, throwAll } from "../core/errors.ts";
import { type Undo, unwind } from "../core/undo.ts";
import { warn } from "../core/warn.ts";
import type { OpenCLContext } from "./context.ts";

/** What a proof came to. */
export interface Verdict {
  /** True only where aliasing was seen, both ways. */
  readonly aliases: boolean;
  /** What was seen. */
  readonly evidence: string;
}

/** What was found out, by device and class: a "no" takes a second, and several where a device is well disguised. */
const VERDICTS = new Map<ClDeviceId, Map<string, Verdict>>();

/** One kind of experiment on one device, of which each class of memory needs one, once. */
export abstract class Proofs<Class> {
  /** The context in which they are run. */
  protected readonly context: OpenCLContext;
  readonly #verdicts: Map<string, Verdict>;

  /** Nothing is run yet; what other contexts of the device have found out is known. */
  constructor(context: OpenCLContext) {
    this.context = context;
    const { handle } = context.device;
    let verdicts = VERDICTS.get(handle);
    if (verdicts === undefined) VERDICTS.set(handle, verdicts = new Map());
    this.#verdicts = verdicts;
  }

  /** Runs the proof of a class, unless it was run before. @throws {NativeCallError} where it cannot be run. */
  protected proveClass(which: Class): Verdict {
    const key = this.keyOf(which);
    let verdict = this.#verdicts.get(key);
    if (verdict === undefined) this.#verdicts.set(key, verdict = this.#run(which));
    return verdict;
  }

  /** The same where a failure proves nothing: it leaves the class unproven, to be tried again. */
  protected tryToProveClass(which: Class): void {
    try {
      this.proveClass(which);
    } catch (error) {
      warn(`the proof of aliasing on ${this.context.name} failed: ${messageOf(error)}`);
    }
  }

  /** What was found out: unproven is never alias. No native call. */
  protected judgeClass(which: Class): Verdict {
    return this.#verdicts.get(this.keyOf(which)) ?? { aliases: false, evidence: "not proven" };
  }

  /** A class by a text of its own among all kinds of experiments; what is known of it stands under that. */
  protected abstract keyOf(which: Class): string;

  /** A class in words. */
  protected abstract describe(which: Class): string;

  /** Runs the experiment: what kept the memory from being an alias, or undefined. What it makes goes on the undo list. */
  protected abstract experiment(which: Class, undo: Undo): string | undefined;

  #run(which: Class): Verdict {
    const undo: Undo = [];
    const failures: unknown[] = [];
    let seen: string | undefined;
    try {
      seen = this.experiment(which, undo);
    } catch (error) {
      failures.push(error);
    }
    throwAll([...failures, ...unwind(undo)], `proving aliasing on ${this.context.name}`);
    const where = this.describe(which);
    return seen === undefined
      ? { aliases: true, evidence: `proven by aliasing both ways, ${where}` }
      : { aliases: false, evidence: `${seen}, ${where}` };
  }
}

/** `address % 64 = 0`, or `any address`. */
export function multiple(what: string, of: number): string {
  return of === 1 ? `any ${what}` : `${what} % ${of} = 0`;
}

/** The largest power of two, up to 4096, that divides a number. */
export function divisorOf(value: bigint): number {
  let divisor = 4096;
  while (value % BigInt(divisor) !== 0n) divisor /= 2;
  return divisor;
}
