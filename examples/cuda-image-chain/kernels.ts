import type { CudaContext, CudaKernel, CudaProgram, CudaTensor } from "@samepage/interop/cuda";
import { HEIGHT, IMAGE, WIDTH } from "./image.ts";
import source from "./kernels.cu" with { type: "text" };

/** Threads of a block, along a row. */
const THREADS = 256;

/** The three kernels, and what lies between them: only kernels use that, so it is the device's own memory. */
export class Kernels implements Disposable {
  readonly #program: CudaProgram;
  readonly #kernels: readonly CudaKernel[];
  readonly #d_b: CudaTensor;
  readonly #d_c: CudaTensor;

  constructor(cuda: CudaContext) {
    this.#program = cuda.program(source);
    this.#kernels = ["k1", "k2", "k3"].map((name) => this.#program.kernel(name, ["const int*", "int*", "int", "int"]));
    this.#d_b = cuda.allocate(IMAGE);
    this.#d_c = cuda.allocate(IMAGE);
  }

  /** Submits k1, k2, k3. */
  run(from: CudaTensor, to: CudaTensor): void {
    const [k1, k2, k3] = this.#kernels;
    const launch = { groups: [Math.ceil(WIDTH / THREADS), HEIGHT], groupSize: [THREADS] };
    k1.run({ ...launch, sharedBytes: 4 * (THREADS + 2) }, [from, this.#d_b, WIDTH, HEIGHT]);
    k2.run(launch, [this.#d_b, this.#d_c, WIDTH, HEIGHT]);
    k3.run(launch, [this.#d_c, to, WIDTH, HEIGHT]);
  }

  /** Gives them back. */
  [Symbol.dispose](): void {
    for (const owned of [this.#d_c, this.#d_b, this.#program]) owned[Symbol.dispose]();
  }
}
