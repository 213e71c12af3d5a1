import { messageOf, throwAll } from "../core/errors.ts";
import type { Verdict } from "../core/graph/plan.ts";
import { type Undo, unwind } from "../core/life/undo.ts";
import { warn } from "../core/warn.ts";
import { SCRATCH } from "./alias/scratch.ts";
import { trial, TRIAL_BYTES } from "./alias/trial.ts";
import type { CudaContext } from "./context.ts";
import type { CudaMemoryKind } from "./memory/block.ts";

/** What is not proven is no alias. */
const UNPROVEN: Verdict = { aliases: false, evidence: "not proven" };

/** An experiment would see what it looks for, and not that the pages go to and fro. */
const MOVES: Verdict = { aliases: false, evidence: "the driver moves managed memory to whoever touches it" };

/** A GPU without the host's page tables may have the driver bring it whole pages (HMM), and the CPU fetch them back. */
const MAY_MOVE: Verdict = { aliases: false, evidence: "the driver may move pageable memory to whoever touches it" };

/** An experiment would end the process: it has the CPU look while a kernel runs. */
const TURNS: Verdict = { aliases: false, evidence: "host and device take turns at managed memory" };

/** What was found out, by device and kind of memory. */
const VERDICTS = new Map<string, Verdict>();

/**
 * Is memory that host and kernels both reach the same bytes to both? Found out by an experiment, once a device and kind.
 * For those who write mappers.
 */
export class CudaAliasing {
  readonly #context: CudaContext;
  /** The kinds that were tried, be it in vain: a context asks once. */
  readonly #tried = new Set<CudaMemoryKind>();

  /** Made by the context. */
  constructor(context: CudaContext) {
    this.#context = context;
  }

  /** Runs the experiment, unless it was run before; where it cannot be run, the kind stays unproven, with a warning. */
  tryToProve(kind: CudaMemoryKind): void {
    if (this.#known(kind) !== undefined || SCRATCH[kind] === undefined) return;
    if (this.#tried.has(kind)) return;
    this.#tried.add(kind);
    try {
      VERDICTS.set(this.#key(kind), this.#prove(kind));
    } catch (error) {
      warn(`whether ${this.#context.name} uses ${kind} memory in place could not be tried: ${messageOf(error)}`);
    }
  }

  /** What is known of a kind of memory. No native call. */
  judge(kind: CudaMemoryKind): Verdict {
    return this.#known(kind) ?? UNPROVEN;
  }

  #known(kind: CudaMemoryKind): Verdict | undefined {
    const { integrated, concurrentManagedAccess, pageableMemoryAccessUsesHostPageTables: ats } =
      this.#context.device.attributes;
    if (kind === "pageable" && integrated !== 1 && ats !== 1) return MAY_MOVE;
    if (kind !== "managed") return VERDICTS.get(this.#key(kind));
    if (integrated !== 1) return MOVES;
    return concurrentManagedAccess === 1 ? VERDICTS.get(this.#key(kind)) : TURNS;
  }

  #key(kind: CudaMemoryKind): string {
    return `${this.#context.id.uuid} ${kind}`;
  }

  #prove(kind: CudaMemoryKind): Verdict {
    const undo: Undo = [];
    let verdict: Verdict;
    try {
      const scratch = SCRATCH[kind]!(this.#context, TRIAL_BYTES, undo);
      const missed = trial(this.#context, scratch, undo);
      const price = scratch.price === undefined ? "" : `; ${scratch.price}`;
      verdict = missed === undefined
        ? { aliases: true, evidence: `proven by aliasing while a kernel ran${price}` }
        : { aliases: false, evidence: `${missed}${price}` };
    } catch (error) {
      throwAll([error, ...unwind(undo)], "proving that memory is shared");
      throw error;
    }
    throwAll(unwind(undo), "ending a proof");
    return verdict;
  }
}
