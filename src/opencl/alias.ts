import { ArgumentError } from "../core/errors.ts";
import type { Undo } from "../core/undo.ts";
import { type AlignmentClass, BufferSpecimen, DRIVER_MEMORY } from "./alias_buffer.ts";
import { Trial } from "./alias_trial.ts";
import { kindOf } from "./check.ts";
import { divisorOf, multiple, Proofs, type Verdict } from "./proofs.ts";

/** The class of an address and a length. */
export function classOf(address: bigint, byteLength: number): AlignmentClass {
  return { address: divisorOf(address), length: byteLength % 64 === 0 ? 64 : 1 };
}

/**
 * Finds out, once per device and class, whether a buffer over host memory is that memory (law 1). All of it has to be
 * seen:
 * 1. The device, which has read the bytes before, answers to what the CPU has written since; the CPU, polling, sees
 *    random bytes of the answer. Between: enqueue and flush, no finish, map, read or migrate.
 * 2. The same where the CPU writes after the enqueue, before a user event lets the kernel start: so that a device that
 *    brings bytes over at every enqueue is found out.
 * 3. On CPU devices, whose memory is coherent: one byte of a kernel's is seen long before the next one: so that bytes
 *    which are brought back when a kernel ends are found out.
 *
 * A constant, a pointer that equals the one passed in, or anything seen after a finish, is no evidence.
 */
export class AliasProofs extends Proofs<AlignmentClass | typeof DRIVER_MEMORY> {
  /** Runs the proof for memory at this address (the driver's own, where it is unknown), unless it was run before. */
  prove(address: bigint | undefined, byteLength: number): Verdict {
    if (address !== undefined && typeof address !== "bigint") {
      throw new ArgumentError(`address: it is to be a bigint; got ${kindOf(address)}.`, {
        api: "opencl",
        argument: "address",
      });
    }
    return this.proveClass(classFor(address, byteLength));
  }

  /** The same where a failure proves nothing: it leaves the class unproven, to be tried again. */
  tryToProve(address: bigint | undefined, byteLength: number): void {
    this.tryToProveClass(classFor(address, byteLength));
  }

  /** What was found out: unproven is never alias. No native call. */
  judge(address: bigint | undefined, byteLength: number): Verdict {
    return this.judgeClass(classFor(address, byteLength));
  }

  /** @see {@link Proofs.keyOf} */
  protected keyOf(which: AlignmentClass | typeof DRIVER_MEMORY): string {
    return which === DRIVER_MEMORY ? which : `${which.address}/${which.length}`;
  }

  /** @see {@link Proofs.describe} */
  protected describe(which: AlignmentClass | typeof DRIVER_MEMORY): string {
    if (which === DRIVER_MEMORY) return "memory of the driver's own";
    return `${multiple("address", which.address)}, ${multiple("length", which.length)}`;
  }

  /** @see {@link Proofs.experiment} */
  protected experiment(which: AlignmentClass | typeof DRIVER_MEMORY, undo: Undo): string | undefined {
    return new Trial(this.context, new BufferSpecimen(this.context, which, undo)).run();
  }
}

function classFor(address: bigint | undefined, byteLength: number): AlignmentClass | typeof DRIVER_MEMORY {
  return address === undefined ? DRIVER_MEMORY : classOf(address, byteLength);
}
