/**
 * The ways of the chain: the listing for a discrete GPU, the same without its transfers, and the listing for a Tegra
 * (CUDA for Tegra, §3.2).
 *
 * @module
 */
import { host, MapperGraph } from "@samepage/interop";
import type { CudaContext, CudaTensor } from "@samepage/interop/cuda";
import type { Choice } from "./choice.ts";
import { IMAGE } from "./image.ts";
import type { Kernels } from "./kernels.ts";

/** What the CPU does with an image. */
export type OnCpu = (pixels: Int32Array) => void;

/** One way: where the two ends of the chain lie, and how they are used. */
export abstract class Way implements Disposable {
  /** The context. */
  protected readonly cuda: CudaContext;
  /** The kernels, and what lies between them. */
  protected readonly kernels: Kernels;
  /** What the advisor says. */
  protected readonly choice: Choice;
  readonly #graph: MapperGraph;
  readonly #owned: Disposable[] = [];

  constructor(cuda: CudaContext, kernels: Kernels, choice: Choice) {
    this.cuda = cuda;
    this.kernels = kernels;
    this.choice = choice;
    this.#graph = new MapperGraph([host, cuda]);
  }

  /** From the CPU's image to the CPU's result; `useImage` looks at it once it is there. */
  abstract run(readImage: OnCpu, useImage: OnCpu): void;

  /** Memory that ends with it. */
  protected own(tensor: CudaTensor): CudaTensor {
    this.#owned.push(tensor);
    return tensor;
  }

  /** Has the CPU use memory that it reaches, once what was submitted on it is done. */
  protected onCpu(tensor: CudaTensor, access: "read" | "write", use: OnCpu): void {
    using seen = this.#graph.map(tensor, host, { access });
    use(seen.view({ dtype: "i32" }));
  }

  /** Gives the memory back. */
  [Symbol.dispose](): void {
    for (const owned of [this.#graph, ...this.#owned]) owned[Symbol.dispose]();
  }
}

/** Device memory at both ends, copied from and to pinned memory. */
export class Copied extends Way {
  readonly #h_a = this.own(this.cuda.pinned.allocate(IMAGE));
  readonly #h_d = this.own(this.cuda.pinned.allocate(IMAGE));
  readonly #d_a = this.own(this.cuda.allocate(IMAGE));
  readonly #d_d = this.own(this.cuda.allocate(IMAGE));

  override run(readImage: OnCpu, useImage: OnCpu): void {
    const { stream } = this.cuda;
    this.onCpu(this.#h_a, "write", readImage);
    stream.copy(this.#h_a, this.#d_a);
    this.kernels.run(this.#d_a, this.#d_d);
    stream.copy(this.#d_d, this.#h_d);
    this.onCpu(this.#h_d, "read", useImage);
  }
}

/** Pinned memory at both ends, which the kernels reach where it is. */
export class Pinned extends Way {
  /** The CPU only writes the input: the advisor may have it left out of the caches. */
  readonly #uploads = this.choice.input.flags.includes("cudaHostAllocWriteCombined");
  readonly #h_a = this.own(this.cuda.pinned.allocate({ ...IMAGE, writeCombined: this.#uploads }));
  readonly #h_d = this.own(this.cuda.pinned.allocate(IMAGE));

  override run(readImage: OnCpu, useImage: OnCpu): void {
    this.onCpu(this.#h_a, "write", readImage);
    this.kernels.run(this.#h_a, this.#h_d);
    this.onCpu(this.#h_d, "read", useImage);
  }
}

/** Unified memory at both ends, with the listing's hints: the input to the GPU ahead of the kernels, the result back. */
export class Unified extends Way {
  readonly #h_a = this.own(this.cuda.managed.allocate({ ...IMAGE, attach: "host" }));
  readonly #h_d = this.own(this.cuda.managed.allocate(IMAGE));

  override run(readImage: OnCpu, useImage: OnCpu): void {
    const { managed } = this.cuda;
    this.onCpu(this.#h_a, "write", readImage);
    managed.attach(this.#h_a, "global");
    this.kernels.run(this.#h_a, this.#h_d);
    managed.attach(this.#h_d, "host");
    this.onCpu(this.#h_d, "read", useImage);
    // For the next image, as they were allocated.
    managed.attach(this.#h_a, "host");
    managed.attach(this.#h_d, "global");
  }
}
