import { Printed } from "../printed.ts";
import { messageOf, warn } from "../errors.ts";
import { thenUndo, type Undo } from "../life/undo.ts";
import type { Tensor } from "../tensors/tensor.ts";

/** The result of an experiment: does the device use these bytes in place? */
export interface Verdict {
  /** True only if that was seen. */
  readonly aliases: boolean;
  /** What was seen. */
  readonly evidence: string;
  /** True if the driver refused to make the objects that the experiment needs. */
  readonly impossible?: true;
}

/** The verdict until an experiment has shown something else. */
export const UNPROVEN: Verdict = { aliases: false, evidence: "not proven" };

/** The verdict of an experiment. `missed` says what was not seen; undefined if everything was. */
export function verdictOf(missed: string | undefined, where: string): Verdict {
  const evidence = `${missed ?? "proven by aliasing both ways"}, ${where}`;
  return { aliases: missed === undefined, evidence };
}

/** A class of memory, of which all or none crosses in place: an experiment on a sample shows which. */
export interface SampleClass<T extends Tensor = Tensor> {
  /** What its memory has in common: `"device memory by its fd"`. */
  readonly name: string;
  /** Makes a sample of so many bytes, which the experiment maps to the other API; its dispose goes on the undo list. */
  make(byteLength: number, undo: Undo): T;
}

/** One side of an experiment with a sample: both block. */
export interface Witness {
  /** Who it is, in sentences. */
  readonly name: string;
  /** Writes all bytes of the sample. */
  write(bytes: Uint8Array): void;
  /** Reads them. */
  read(into: Uint8Array): void;
}

const TIMES = 3;

/**
 * What kept a sample from being one memory for both sides; undefined where nothing did. Each side writes random bytes, and
 * the other reads them: nothing comes between at which a driver could update a copy.
 */
export function unseen(one: Witness, other: Witness, byteLength: number): string | undefined {
  const seen = new Uint8Array(byteLength);
  for (let i = 0; i < 2 * TIMES; i++) {
    const [writer, reader] = i % 2 === 0 ? [one, other] : [other, one];
    const wrote = crypto.getRandomValues(new Uint8Array(byteLength));
    writer.write(wrote);
    reader.read(seen);
    if (wrote.some((byte, at) => byte !== seen[at])) {
      return `${reader.name} did not see what ${writer.name} had written`;
    }
  }
  return undefined;
}

let classes = 0;

/** A device uses all memory of one class in place, or none of it: an experiment on a sample decides. */
export class MemoryClass<C> extends Printed {
  /** What its memory has in common: `"address % 64 = 0, any length"`. */
  readonly name: string;
  /** Where its verdict stands: no two classes have the same number. */
  readonly number: number = classes++;
  /** Makes a sample in this context and experiments on it. What it makes goes on the undo list. */
  readonly experiment: (context: C, undo: Undo) => Verdict;

  /** Two classes differ even where their names do not. */
  constructor(name: string, experiment: (context: C, undo: Undo) => Verdict) {
    super();
    this.name = name;
    this.experiment = experiment;
  }

  /** Its name. */
  toString(): string {
    return `memory class ${this.name}`;
  }
}

/** A class whose verdict needs no experiment. */
export function settled<C>(name: string, verdict: Verdict): MemoryClass<C> {
  return new MemoryClass(name, () => verdict);
}

/** The verdicts on each set of devices, by the number of the class: a "no" takes a second or more. */
const VERDICTS = new Map<string, (Verdict | undefined)[]>();

/** What is proven about a context's devices: the memory used in place (law 1). The same devices share verdicts. */
export class Proofs<C extends { readonly name: string }> {
  readonly #context: C;
  readonly #verdicts: (Verdict | undefined)[];
  readonly #failed = new Set<MemoryClass<C>>();

  /**
   * Runs nothing yet.
   *
   * @param devices names the set of devices. Leave it out if the name may come to mean other devices: then the verdicts
   * are the context's own.
   */
  constructor(context: C, devices?: string) {
    this.#context = context;
    const known = devices === undefined ? undefined : VERDICTS.get(devices);
    this.#verdicts = known ?? [];
    if (known === undefined && devices !== undefined) VERDICTS.set(devices, this.#verdicts);
  }

  /** The verdict on a class. Runs its experiment unless that was done before. @throws what the experiment throws. */
  prove(which: MemoryClass<C>): Verdict {
    return this.#verdicts[which.number] ??= this.#run(which);
  }

  /**
   * Runs the experiment of a class unless that was done before. If the experiment fails, that is a warning, and this
   * context does not try it again: the class is unproven.
   */
  tryToProve(which: MemoryClass<C>): void {
    if (this.#verdicts[which.number] !== undefined || this.#failed.has(which)) return;
    try {
      this.prove(which);
    } catch (error) {
      this.#failed.add(which);
      warn(`the proof of aliasing on ${this.#context.name} failed, ${which.name}: ${messageOf(error)}`);
    }
  }

  /** The verdict on a class, as far as it is known. No native call. */
  judge(which: MemoryClass<C>): Verdict {
    return this.#verdicts[which.number] ?? UNPROVEN;
  }

  #run(which: MemoryClass<C>): Verdict {
    return thenUndo(`proving aliasing on ${this.#context.name}`, (undo) => which.experiment(this.#context, undo));
  }
}

/** Polls memory, and does nothing else. False if `holds` never did; it is asked once more at the end. */
export function until(holds: () => boolean, milliseconds: number): boolean {
  const end = performance.now() + milliseconds;
  for (;;) {
    const last = performance.now() >= end;
    if (holds()) return true;
    if (last) return false;
  }
}
