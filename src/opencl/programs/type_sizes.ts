import { InteropError } from "../../core/errors.ts";
import type { OpenCLContext } from "../context.ts";
import { isPoCL } from "../devices/identity.ts";

/** What the kernel is called that is put behind a source. */
const PROBE = "samepage_type_sizes";

/**
 * How many bytes the types have that a program declares itself: no query tells. Where a driver does not check what it is
 * given for one by value, a kernel that is put behind the same source is asked for all that are wanted at a time. For those
 * who write mappers.
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

  /** Does every driver refuse a value of a wrong length itself? PoCL 3.1 reads as many bytes as the type has. */
  get needless(): boolean {
    return !this.#context.devices.some(isPoCL);
  }

  /** The sizes of types, by their names; those that could not be found out now are left out. */
  of(types: readonly string[]): ReadonlyMap<string, number> {
    this.#ask([...new Set(types)].filter((type) => !this.#known.has(type)));
    return this.#known;
  }

  #ask(types: readonly string[]): void {
    if (this.#source === undefined || types.length === 0) return;
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
      types.forEach((type, i) => this.#known.set(type, Number(told[i])));
    } catch (error) {
      // A type without a name, a source that is open at its end: what has a name is found out by itself.
      if (!(error instanceof InteropError)) throw error;
      if (types.length > 1) { for (const type of types) this.#ask([type]); }
    }
  }
}
