import { shown } from "../core/argument.ts";
import { ArgumentError } from "../core/errors.ts";
import { BytesSpecimen } from "./alias/bytes.ts";
import { DRIVER_MEMORY, hostMemory, hostNumber, MemoryKind } from "./alias/memory.ts";
import { Trial } from "./alias/trial.ts";
import { kindOf } from "./check.ts";
import type { OpenCLContext } from "./context.ts";
import { attempt, knownOf, runProof, UNPROVEN, type Verdict } from "./alias/proofs.ts";

/** What was found out, by devices and number of the kind: a "no" takes a second, or several. */
const VERDICTS = new Map<string, (Verdict | undefined)[]>();

/**
 * Which memory is asked about: that at a host address, behind a buffer; the driver's own (undefined); or memory of a
 * kind that is not told by its address.
 */
export type MemoryAsked = bigint | undefined | MemoryKind;

/** The kinds in a row: that of the driver's own memory first. @throws {ArgumentError} for what is no kind of memory. */
function numberOf(memory: MemoryAsked, byteLength: number): number {
  if (memory === undefined) return DRIVER_MEMORY.number;
  if (memory instanceof MemoryKind) return memory.number;
  if (typeof memory !== "bigint") throw wrong("address", `it is to be a bigint; got ${kindOf(memory)}.`);
  if (!Number.isSafeInteger(byteLength)) throw wrong("byteLength", `${shown(byteLength)} is no whole number.`);
  return hostNumber(memory, byteLength);
}

/**
 * Finds out, once per device and kind of memory, whether what the device uses is the memory that the CPU sees (law 1).
 * Of a context with several devices each has to show all of it, on the same memory in turn: a driver may move a buffer
 * between devices that it leaves in place for one. All of it has to be seen:
 * 1. The device, which has read the bytes before, answers to what the CPU has written since; the CPU, polling, sees
 *    random bytes of the answer. Between: enqueue and flush, no finish, map, read or migrate.
 * 2. The same where the CPU writes after the enqueue, before a user event lets the kernel start: so that a device that
 *    brings bytes over at every enqueue is found out.
 * 3. On CPU devices, whose memory is coherent: one byte of a kernel's is seen long before the next one: so that bytes
 *    which are brought back when a kernel ends are found out.
 *
 * A constant, a pointer that equals the one passed in, or anything seen after a finish, is no evidence.
 */
export class AliasProofs {
  readonly #context: OpenCLContext;
  readonly #verdicts: (Verdict | undefined)[];

  /** Nothing is run yet; what other contexts of the same devices have found out is known. */
  constructor(context: OpenCLContext) {
    this.#context = context;
    this.#verdicts = knownOf(context.devices, VERDICTS, () => []);
  }

  /**
   * Runs the proof for memory of this kind, or at this address and of this length, unless it was run before.
   *
   * @throws {ArgumentError} for what is neither.
   */
  prove(memory: MemoryAsked, byteLength: number = 0): Verdict {
    return this.#verdicts[numberOf(memory, byteLength)] ??= this.#run(
      typeof memory === "bigint" ? hostMemory(memory, byteLength) : memory ?? DRIVER_MEMORY,
    );
  }

  /** The same where a failure proves nothing: it leaves the kind unproven, to be tried again. */
  tryToProve(memory: MemoryAsked, byteLength: number = 0): void {
    attempt(this.#context, () => this.prove(memory, byteLength));
  }

  /** What was found out: unproven is never alias. No native call. */
  judge(memory: MemoryAsked, byteLength: number = 0): Verdict {
    return this.#verdicts[numberOf(memory, byteLength)] ?? UNPROVEN;
  }

  #run(kind: MemoryKind): Verdict {
    return runProof(this.#context, kind.name, (undo) => {
      return new Trial(this.#context, new BytesSpecimen(this.#context, kind, undo), undo).run();
    });
  }
}

function wrong(argument: string, what: string): ArgumentError {
  return new ArgumentError(`${argument}: ${what}`, { api: "opencl", argument });
}
