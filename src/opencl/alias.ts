import { shown } from "../core/argument.ts";
import { ArgumentError, messageOf, throwAll } from "../core/errors.ts";
import { type Undo, unwind } from "../core/undo.ts";
import { warn } from "../core/warn.ts";
import { type AlignmentClass, DRIVER_MEMORY, Trial } from "./alias_trial.ts";
import { kindOf } from "./check.ts";
import type { OpenCLContext } from "./context.ts";
import type { OpenCLDevice } from "./device.ts";

/** What a proof came to. */
export interface Verdict {
  /** True only where aliasing was seen, both ways. */
  readonly aliases: boolean;
  /** What was seen. */
  readonly evidence: string;
}

/** What was found out, by devices and number of the class: a "no" takes a second, or several. */
const VERDICTS = new Map<string, (Verdict | undefined)[]>();

const UNPROVEN: Verdict = { aliases: false, evidence: "not proven" };

/** The class of an address and a length. */
export function classOf(address: bigint, byteLength: number): AlignmentClass {
  return { address: divisorOf(address), length: byteLength % 64 === 0 ? 64 : 1 };
}

/** The largest power of two, up to 4096, that divides an address. */
function divisorOf(address: bigint): number {
  const low = Number(BigInt.asUintN(12, address));
  return low === 0 ? 4096 : low & -low;
}

/** Classes in a row: that of the driver's own memory first. @throws {ArgumentError} for what is no address or length. */
function numberOf(address: bigint | undefined, byteLength: number): number {
  if (address === undefined) return 0;
  if (typeof address !== "bigint") throw wrong("address", `it is to be a bigint; got ${kindOf(address)}.`);
  if (!Number.isSafeInteger(byteLength)) throw wrong("byteLength", `${shown(byteLength)} is no whole number.`);
  return 1 + 2 * Math.log2(divisorOf(address)) + Number(byteLength % 64 === 0);
}

/**
 * Finds out, once per device and class, whether a buffer over host memory is that memory (law 1). Of a context with
 * several devices each has to show all of it, on the same buffer in turn: a driver may move a buffer between devices that
 * it leaves in place for one. All of it has to be seen:
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
    this.#verdicts = verdictsOn(context.devices);
  }

  /** Runs the proof for memory at this address (the driver's own, where it is unknown), unless it was run before. */
  prove(address: bigint | undefined, byteLength: number): Verdict {
    return this.#verdicts[numberOf(address, byteLength)] ??= this.#run(
      address === undefined ? DRIVER_MEMORY : classOf(address, byteLength),
    );
  }

  /** The same where a failure proves nothing: it leaves the class unproven, to be tried again. */
  tryToProve(address: bigint | undefined, byteLength: number): void {
    try {
      this.prove(address, byteLength);
    } catch (error) {
      warn(`the proof of aliasing on ${this.#context.name} failed: ${messageOf(error)}`);
    }
  }

  /** What was found out: unproven is never alias. No native call. */
  judge(address: bigint | undefined, byteLength: number): Verdict {
    return this.#verdicts[numberOf(address, byteLength)] ?? UNPROVEN;
  }

  /** Everything that was found out so far, a verdict for each class. No native call. */
  verdicts(): readonly Verdict[] {
    return this.#verdicts.filter((verdict) => verdict !== undefined);
  }

  #run(which: AlignmentClass | typeof DRIVER_MEMORY): Verdict {
    const undo: Undo = [];
    const failures: unknown[] = [];
    let seen: string | undefined;
    try {
      seen = new Trial(this.#context, which, undo).run();
    } catch (error) {
      failures.push(error);
    }
    throwAll([...failures, ...unwind(undo)], `proving aliasing on ${this.#context.name}`);
    const where = which === DRIVER_MEMORY
      ? "memory of the driver's own"
      : `${multiple("address", which.address)}, ${multiple("length", which.length)}`;
    return seen === undefined
      ? { aliases: true, evidence: `proven by aliasing both ways, ${where}` }
      : { aliases: false, evidence: `${seen}, ${where}` };
  }
}

/** Sub-devices come and go, and their handles come again: what one has shown is not told of the next. */
function verdictsOn(devices: readonly OpenCLDevice[]): (Verdict | undefined)[] {
  if (devices.some((device) => device.parent !== undefined)) return [];
  const key = devices.map((device) => device.handle).sort().join();
  let verdicts = VERDICTS.get(key);
  if (verdicts === undefined) VERDICTS.set(key, verdicts = []);
  return verdicts;
}

function wrong(argument: string, what: string): ArgumentError {
  return new ArgumentError(`${argument}: ${what}`, { api: "opencl", argument });
}

function multiple(what: string, of: number): string {
  return of === 1 ? `any ${what}` : `${what} % ${of} = 0`;
}
