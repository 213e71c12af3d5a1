import { InteropError } from "../../core/errors.ts";
import type { OpenCLContext } from "../context.ts";
import { isPoCL } from "../devices/identity.ts";

/** The name of the kernel that is added to a source. */
const PROBE = "samepage_type_sizes";

/**
 * The sizes of the types that a program declares; no query reports them. If a driver does not check values of such types, a
 * kernel added to the same source reports the sizes of all wanted types at once. For those who write mappers.
 */
export class TypeSizes {
  readonly #context: OpenCLContext;
  readonly #source: string | undefined;
  readonly #options: string;
  readonly #known = new Map<string, number>();

  /** Without a source it knows no sizes. */
  constructor(context: OpenCLContext, source: string | undefined, options: string) {
    this.#context = context;
    this.#source = source;
    this.#options = options;
  }

  /** True if every driver refuses a value of a wrong length. PoCL 3.1 reads as many bytes as the type has. */
  get needless(): boolean {
    return !this.#context.devices.some(isPoCL);
  }

  /** The sizes of types by name, without those that cannot be found out. */
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
      // One type has no name, or the source is open at its end: types with names are asked for one by one.
      if (!(error instanceof InteropError)) throw error;
      if (types.length > 1) { for (const type of types) this.#ask([type]); }
    }
  }
}
