import { InteropError } from "../../core/errors.ts";
import type { OpenCLContext } from "../context.ts";

/** What the kernel is called that is put behind a source. */
const PROBE = "samepage_type_sizes";

/** Takes bytes of any length for a value, and reads as many as its type has (3.1). */
const UNCHECKED = "Portable Computing Language";

/**
 * How many bytes the types have that a program declares itself: no query tells. Where a driver does not check what it is
 * given for one by value, a kernel that is put behind the same source is asked, once for all that are wanted at a time.
 */
export class TypeSizes {
  readonly #context: OpenCLContext;
  readonly #source: string | undefined;
  readonly #options: string;
  readonly #known = new Map<string, number>();

  /** Without a source nothing can be found out. */
  constructor(context: OpenCLContext, source: string | undefined, options: string) {
    this.#context = context;
    this.#source = source;
    this.#options = options;
  }

  /** Does every driver refuse a value of a wrong length itself? */
  get needless(): boolean {
    return this.#context.devices.every(({ platform }) => platform !== UNCHECKED);
  }

  /** The size of each type, by its name; 0 where it cannot be found out. */
  of(types: readonly string[]): ReadonlyMap<string, number> {
    const wanted = [...new Set(types)].filter((type) => !this.#known.has(type));
    if (wanted.length > 0) this.#ask(wanted).forEach((size, i) => this.#known.set(wanted[i], size));
    return this.#known;
  }

  #ask(types: readonly string[]): readonly number[] {
    const none = types.map(() => 0);
    if (this.#source === undefined) return none;
    const lines = types.map((type, i) => `  samepage_sizes[${i}] = sizeof(${type});`);
    const source = `${this.#source}\nkernel void ${PROBE}(global ulong *samepage_sizes) {\n${lines.join("\n")}\n}\n`;
    try {
      using program = this.#context.program(source, { options: this.#options });
      using kernel = program.kernel(PROBE);
      using queue = this.#context.createQueue(); // the context's own may wait for an event that is not set
      using sizes = this.#context.allocate({ shape: [types.length], dtype: "u64" });
      kernel.run([1], [sizes], { queue });
      const told = new BigUint64Array(types.length);
      queue.read(sizes, told);
      return Array.from(told, Number);
    } catch (error) {
      if (error instanceof InteropError) return none; // a type without a name, a source that is open at its end
      throw error;
    }
  }
}
