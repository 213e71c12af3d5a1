import type { Checks } from "../core/checks.ts";
import { type Element, scalar } from "../core/device/types.ts";
import type { DType } from "../core/layout/dtype.ts";
import { NUMBERS } from "../core/layout/numbers.ts";
import { OP, SpirvModule, type SpirvNumber } from "./module.ts";

const KERNEL = 6;
const DECORATION = { parameter: 38, noWrite: 6 } as const;

/** Address spaces by storage class. */
const STORAGE: ReadonlyMap<number, KernelPointer["space"]> = new Map([
  [0, "constant"],
  [4, "local"],
  [5, "global"],
  [7, "private"],
]);

/** A pointer that a kernel takes. */
export interface KernelPointer {
  /** Its address space. A private pointer is a struct that is passed by value. */
  readonly space: "global" | "constant" | "local" | "private" | "generic";
  /** True if the kernel only reads there. */
  readonly isConst: boolean;
}

/** A parameter of a kernel, as its SPIR-V declares it. */
export interface SpirvParameter {
  /** What errors call its type: `"global f32*"`, `"i32"`. */
  readonly type: string;
  /** Its name in the source, if the compiler kept it. */
  readonly name: string | undefined;
  /** Set if it is a pointer. */
  readonly pointer?: KernelPointer;
  /** The number or vector that it is or points to. SPIR-V keeps no sign, and a byte pointer may be a void pointer. */
  readonly element: Element | undefined;
}

/** A module of kernels, as OpenCL, SYCL and Level Zero take it. */
export class KernelModule extends SpirvModule {
  readonly #checks: Checks;
  readonly #entries: ReadonlyMap<string, number>;

  constructor(words: Uint32Array, checks: Checks) {
    super(words, checks);
    this.#checks = checks;
    this.#entries = this.entriesOf(KERNEL);
    if (this.#entries.size > 0) return;
    throw checks.wrong("spirv", "it has no kernels.", "Shaders are for Vulkan; compile OpenCL C or SYCL.");
  }

  get kernelNames(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** The parameters of one of its kernels. */
  parameters(name: string): readonly SpirvParameter[] {
    const entry = this.#entries.get(name)!;
    const functions = this.all(OP.function);
    const at = functions.findIndex((words) => words[1] === entry);
    if (at < 0) throw this.#checks.wrong("spirv", `it declares the kernel ${name} but has no code for it.`);
    const [begin, end] = [functions[at].byteOffset, functions[at + 1]?.byteOffset ?? Infinity];
    return this.all(OP.parameter)
      .filter(({ byteOffset }) => byteOffset > begin && byteOffset < end)
      .map(([type, id]) => this.#parameter(type, id));
  }

  #parameter(type: number, id: number): SpirvParameter {
    const name = this.nameOf(id);
    const to = this.find(OP.pointer, type);
    if (to === undefined) {
      const number = this.numberOf(type);
      return { type: number === undefined ? "struct" : named(number), name, element: number && elementOf(number) };
    }
    const space = STORAGE.get(to[1]) ?? "generic";
    const number = this.numberOf(to[2]);
    const isConst = space === "constant" ||
      this.all(OP.decorate).some((words) =>
        words[0] === id && words[1] === DECORATION.parameter && words[2] === DECORATION.noWrite
      );
    const isTyped = number !== undefined && number.bits > 8;
    const of = number === undefined ? "struct" : isTyped ? named(number) : "void";
    const element = isTyped ? elementOf(number) : undefined;
    return { type: `${isConst ? "const " : ""}${space} ${of}*`, name, pointer: { space, isConst }, element };
  }
}

function named({ kind, bits, lanes }: SpirvNumber): string {
  return `${kind === "f" ? "f" : "i"}${bits}${lanes === 1 ? "" : `x${lanes}`}`;
}

/** Undefined for numbers that no tensor holds. An integer matches both the signed and the unsigned dtype of its width. */
function elementOf({ kind, bits, lanes }: SpirvNumber): Element | undefined {
  const dtypes = (kind === "f" ? [`f${bits}`] : [`u${bits}`, `i${bits}`]) as [DType];
  if (!Object.hasOwn(NUMBERS, dtypes[0])) return undefined;
  const { numbers } = scalar(...dtypes);
  const whole = kind === "f" ? numbers : numbers.within(-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits) - 1n);
  const size = numbers.size * (lanes === 3 ? 4 : lanes);
  return { numbers: whole, dtypes, lanes, size, align: size };
}
