/**
 * The kernels of kernels.cu, in the order that makes edges of a grey picture.
 *
 * @module
 */
import { host, type HostTensor, MapperGraph } from "@samepage/interop";
import type { CudaContext, CudaKernel, CudaProgram, CudaTensor } from "@samepage/interop/cuda";
import { HIGH, LOW } from "../edges/host.ts";
import source from "./kernels.cu" with { type: "text" };

/** The threads of a block, in x and y. */
const BLOCK = [32, 8];

/** Pixels along a side of the square that a block of hysteresis goes over. */
const TILE = 32;

const BYTES = "unsigned char*";
const WORDS = "unsigned short*";

/** The kernels' parameters. */
const PARAMETERS = {
  blur_rows: [`const ${BYTES}`, WORDS, "int", "int"],
  blur_columns: [`const ${WORDS}`, BYTES, "int", "int"],
  gradient: [`const ${BYTES}`, WORDS, "int", "int"],
  suppress: [`const ${WORDS}`, BYTES, "int", "int", "int", "int"],
  hysteresis: [BYTES, "int*", "int", "int"],
  finish: [`const ${BYTES}`, BYTES, "int", "int"],
} as const;

type Name = keyof typeof PARAMETERS;

/** Finds the edges of pictures of one size. Between the picture and the result lies memory of the GPU's own. */
export class CudaEdges implements Disposable {
  readonly #cuda: CudaContext;
  readonly #size: readonly [width: number, height: number];
  readonly #graph: MapperGraph;
  readonly #program: CudaProgram;
  readonly #kernels: ReadonlyMap<Name, CudaKernel>;
  /** Blurred, then classes. */
  readonly #bytes: CudaTensor;
  /** Half-blurred rows, then the gradient. */
  readonly #words: CudaTensor;
  /** What hysteresis says to the host, in memory that both see. */
  readonly #changed: CudaTensor;

  /** Compiles the kernels for the device (NVRTC). */
  constructor(cuda: CudaContext, width: number, height: number) {
    this.#cuda = cuda;
    this.#size = [width, height];
    this.#graph = new MapperGraph([host, cuda]);
    this.#program = cuda.program(source, { defines: { TILE } });
    const names = Object.keys(PARAMETERS) as Name[];
    this.#kernels = new Map(names.map((name) => [name, this.#program.kernel(name, PARAMETERS[name])]));
    this.#bytes = cuda.allocate({ shape: [height, width], dtype: "u8" });
    this.#words = cuda.allocate({ shape: [height, width], dtype: "u16" });
    this.#changed = cuda.pinned.allocate({ shape: [1], dtype: "i32" });
  }

  /**
   * Submits all steps; hysteresis is waited for, the last step is not.
   *
   * @param grey [height, width] u8, only read
   * @param edges [height, width] u8
   * @returns How many launches hysteresis took.
   */
  run(grey: CudaTensor, edges: CudaTensor): number {
    const [width, height] = this.#size;
    const [bytes, words] = [this.#bytes, this.#words];
    this.#launch("blur_rows", BLOCK, [grey, words, width, height]);
    this.#launch("blur_columns", BLOCK, [words, bytes, width, height]);
    this.#launch("gradient", BLOCK, [bytes, words, width, height]);
    this.#launch("suppress", BLOCK, [words, bytes, width, height, LOW, HIGH]);
    this.#clearChanged();
    let launches = 0;
    do {
      this.#launch("hysteresis", [TILE, TILE], [bytes, this.#changed, width, height]);
      launches++;
    } while (this.#clearChanged());
    this.#launch("finish", BLOCK, [bytes, edges, width, height]);
    return launches;
  }

  /** Gives its memory and the program back. */
  [Symbol.dispose](): void {
    for (const owned of [this.#changed, this.#words, this.#bytes, this.#program, this.#graph]) owned[Symbol.dispose]();
  }

  /** One block for each `covers` pixels. */
  #launch(name: Name, covers: readonly number[], args: readonly (CudaTensor | number)[]): void {
    const grid = this.#size.map((pixels, i) => Math.ceil(pixels / covers[i]));
    this.#kernels.get(name)!.run({ groups: grid, groupSize: BLOCK }, args, { stream: this.#cuda.stream });
  }

  /** Clears the flag that a kernel sets where it changed something, and returns what it was. Waits for that kernel. */
  #clearChanged(): boolean {
    using flag: HostTensor = this.#graph.map(this.#changed, host);
    const changed = flag.view({ dtype: "i32" });
    const had = changed[0] !== 0;
    changed[0] = 0;
    return had;
  }
}
