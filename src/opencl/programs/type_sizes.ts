import { NULL } from "../../../ffi/address.ts";
import { CL_MEM_ALLOC_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import { InteropError } from "../../core/errors.ts";
import { thenUndo } from "../../core/life/undo.ts";
import { bound, look, submit } from "../alias/kernels.ts";
import type { BaseContext } from "../base_context.ts";
import { createBuffer } from "../buffers/native.ts";
import { isPoCL } from "../devices/identity.ts";

const PROBE = "samepage_type_sizes";

/**
 * The sizes of the types that a program declares; no query reports them. If a driver does not check values of such types,
 * a kernel added to the same source reports the sizes of all wanted types at once. For mappers.
 */
export class TypeSizes {
  readonly #context: BaseContext;
  readonly #source: string | undefined;
  readonly #options: string;
  readonly #known = new Map<string, number>();

  /** Without a source it knows no sizes. */
  constructor(context: BaseContext, source: string | undefined, options: string) {
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
      const byteLength = types.length * 8;
      thenUndo("asking for sizes", (undo) => {
        const sizes = createBuffer(this.#context, CL_MEM_ALLOC_HOST_PTR, byteLength, NULL, undo);
        submit(queue, kernel, [1], [bound(sizes)]);
        const reported = look(
          { queue },
          sizes,
          "read",
          byteLength,
          (bytes) => new BigUint64Array(bytes.slice().buffer),
        );
        types.forEach((type, i) => this.#known.set(type, Number(reported[i])));
      });
    } catch (error) {
      // One type has no name, or the source is open at its end: types with names are asked for one by one.
      if (!(error instanceof InteropError)) throw error;
      if (types.length > 1) { for (const type of types) this.#ask([type]); }
    }
  }
}
