import type { Checks } from "../core/checks.ts";

const MAGIC = 0x07230203;

/** A private copy of a module's words. @throws {ArgumentError} if they are not SPIR-V. */
export function spirvIn(
  checks: Checks,
  given: unknown,
  hint: string,
  argument = "spirv",
  expected = "a Uint8Array or Uint32Array",
): Uint32Array<ArrayBuffer> {
  const bytes = checks.bytesIn(given, argument, expected);
  const words = bytes.length >= 20 && bytes.length % 4 === 0 ? new Uint32Array(bytes.slice().buffer) : undefined;
  if (words?.[0] === MAGIC) return words;
  throw checks.wrong(argument, "it is not SPIR-V of this machine's byte order.", hint);
}

/** Opcodes of the instructions that declare something. */
export const OP = {
  name: 5,
  memberName: 6,
  entryPoint: 15,
  executionMode: 16,
  int: 21,
  float: 22,
  vector: 23,
  image: 25,
  array: 28,
  runtimeArray: 29,
  struct: 30,
  pointer: 32,
  function: 54,
  parameter: 55,
  variable: 59,
  decorate: 71,
  memberDecorate: 72,
} as const;

/** A number, or a vector of such numbers. */
export interface SpirvNumber {
  readonly kind: "i" | "u" | "f";
  readonly bits: number;
  readonly lanes: number;
}

/** The instructions of a module, by their opcodes. */
export class SpirvModule {
  readonly #operands = new Map<number, Uint32Array[]>();

  constructor(words: Uint32Array, checks: Checks) {
    for (let at = 5; at < words.length;) {
      const [length, opcode] = [words[at] >>> 16, words[at] & 0xffff];
      if (length === 0 || at + length > words.length) throw checks.wrong("spirv", "it is cut off, or damaged.");
      const known = this.#operands.get(opcode);
      const operands = words.subarray(at + 1, at + length);
      if (known === undefined) this.#operands.set(opcode, [operands]);
      else known.push(operands);
      at += length;
    }
  }

  /** The entry points of an execution model: names, and the ids of their functions. */
  protected entriesOf(model: number): ReadonlyMap<string, number> {
    const entries = this.all(OP.entryPoint).filter((words) => words[0] === model);
    return new Map(entries.map((words) => [textIn(words.subarray(2)), words[1]]));
  }

  protected numberOf(id: number): SpirvNumber | undefined {
    const vector = this.find(OP.vector, id);
    const [of, lanes] = vector === undefined ? [id, 1] : [vector[1], vector[2]];
    const [int, float] = [this.find(OP.int, of), this.find(OP.float, of)];
    if (int !== undefined) return { kind: int[2] === 1 ? "i" : "u", bits: int[1], lanes };
    return float && { kind: "f", bits: float[1], lanes };
  }

  protected nameOf(id: number): string | undefined {
    const named = this.find(OP.name, id);
    return named && (textIn(named.subarray(1)) || undefined);
  }

  /** The instruction with this result id. */
  protected find(opcode: number, result: number): Uint32Array | undefined {
    return this.all(opcode).find(([id]) => id === result);
  }

  protected all(opcode: number): readonly Uint32Array[] {
    return this.#operands.get(opcode) ?? [];
  }
}

export function textIn(words: Uint32Array): string {
  const bytes = new Uint8Array(words.slice().buffer);
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}
