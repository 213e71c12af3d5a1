import { messageOf, throwAll } from "../../core/errors.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import { warn } from "../../core/warn.ts";
import type { OpenCLContext } from "../context.ts";
import type { OpenCLDevice } from "../device.ts";

/** What a proof came to. */
export interface Verdict {
  /** True only where aliasing was seen, both ways. */
  readonly aliases: boolean;
  /** What was seen. */
  readonly evidence: string;
  /** True where the driver would not even make what was to be looked at. */
  readonly impossible?: true;
}

/** What an experiment came to: nothing that kept the memory from being an alias, what did, or that there is no such. */
export type Outcome = string | undefined | { readonly impossible: string };

/** What is not proven is no alias. */
export const UNPROVEN: Verdict = { aliases: false, evidence: "not proven" };

/** What was found out, by devices and class: a "no" takes a second, and several where a device is well disguised. */
const VERDICTS = new Map<string, Map<string, Verdict>>();

/** Experiments of one kind on one device: each class of memory needs one, once. For those who write mappers. */
export abstract class Proofs<Class> {
  /** The context in which they are run. */
  protected readonly context: OpenCLContext;
  readonly #verdicts: Map<string, Verdict>;

  /** Nothing is run yet; what other contexts of the same devices have found out is known. */
  constructor(context: OpenCLContext) {
    this.context = context;
    this.#verdicts = knownOf(context.devices, VERDICTS, () => new Map());
  }

  /** Runs the proof of a class, unless it was run before. @throws {NativeCallError} where it cannot be run. */
  protected proveClass(which: Class): Verdict {
    const key = this.keyOf(which);
    let verdict = this.#verdicts.get(key);
    if (verdict === undefined) {
      verdict = runProof(this.context, this.describe(which), (undo) => this.experiment(which, undo));
      this.#verdicts.set(key, verdict);
    }
    return verdict;
  }

  /** The same where a failure proves nothing: it leaves the class unproven, to be tried again. */
  protected tryToProveClass(which: Class): void {
    attempt(this.context, () => this.proveClass(which));
  }

  /** What was found out: unproven is never alias. No native call. */
  protected judgeClass(which: Class): Verdict {
    return this.#verdicts.get(this.keyOf(which)) ?? UNPROVEN;
  }

  /** A class by a text of its own; what is known of it stands under that. */
  protected abstract keyOf(which: Class): string;

  /** A class in words. */
  protected abstract describe(which: Class): string;

  /** Runs the experiment. What it makes goes on the undo list. */
  protected abstract experiment(which: Class, undo: Undo): Outcome;
}

/**
 * What is known of some devices. A sub-device's proofs are not kept: an attached context may bring sub-devices, and a
 * handle that was released can come again for another one.
 */
export function knownOf<K>(devices: readonly OpenCLDevice[], known: Map<string, K>, none: () => K): K {
  if (devices.some((device) => device.parent !== undefined)) return none();
  const key = devices.map((device) => device.handle).sort().join();
  let kept = known.get(key);
  if (kept === undefined) known.set(key, kept = none());
  return kept;
}

/** Runs one experiment on memory that `where` names; what it made is released, whatever comes of it. */
export function runProof(
  context: OpenCLContext,
  where: string,
  experiment: (undo: Undo) => Outcome,
): Verdict {
  const undo: Undo = [];
  const failures: unknown[] = [];
  let seen: Outcome;
  try {
    seen = experiment(undo);
  } catch (error) {
    failures.push(error);
  }
  throwAll([...failures, ...unwind(undo)], `proving aliasing on ${context.name}`);
  if (typeof seen === "object") return { aliases: false, evidence: seen.impossible, impossible: true };
  return seen === undefined
    ? { aliases: true, evidence: `proven by aliasing both ways, ${where}` }
    : { aliases: false, evidence: `${seen}, ${where}` };
}

/** Runs a proof whose failure proves nothing. */
export function attempt(context: OpenCLContext, prove: () => unknown): void {
  try {
    prove();
  } catch (error) {
    warn(`the proof of aliasing on ${context.name} failed: ${messageOf(error)}`);
  }
}
