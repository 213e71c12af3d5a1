/**
 * Small pictures of large frames, made where the frames are.
 *
 * @module
 */
import { type Frame, host, MapperGraph } from "@samepage/interop";
import type { CudaContext, CudaKernel, CudaProgram, CudaTensor } from "@samepage/interop/cuda";
import source from "./preview.cu" with { type: "text" };

/** Pixels in a row of a preview. */
export const WIDTH = 256;

/** The threads of a block, in x and y. */
const BLOCK = [32, 8];

/** Makes previews of frames of one size. They are RGB, in memory of the host's that the GPU writes. */
export class Previews implements Disposable {
  /** Rows of a preview. */
  readonly height: number;
  /** Bytes of one. */
  readonly byteLength: number;
  readonly #size: readonly [width: number, height: number];
  readonly #graph: MapperGraph;
  readonly #program: CudaProgram;
  readonly #kernel: CudaKernel;
  readonly #pixels: CudaTensor;

  /** Compiles the kernel (NVRTC). */
  constructor(cuda: CudaContext, width: number, height: number) {
    this.#size = [width, height];
    this.height = Math.round(WIDTH * height / width);
    this.byteLength = 3 * WIDTH * this.height;
    this.#graph = new MapperGraph([host, cuda]);
    this.#program = cuda.program(source, { name: "preview.cu" });
    const plane = ["const unsigned char*", "int"] as const;
    this.#kernel = this.#program.kernel("preview", [
      ...[...plane, ...plane, "int", "int"] as const,
      ...["unsigned char*", "int", "int"] as const,
    ]);
    this.#pixels = cuda.pinned.allocate({ shape: [this.height, WIDTH, 3], dtype: "u8" });
  }

  /** Makes one, and shows its pixels, which the next one replaces. */
  make(frame: Frame<CudaTensor>, show: (rgb: Uint8Array) => void): void {
    const [luma, chroma] = frame.planes;
    const groups = [WIDTH / BLOCK[0], Math.ceil(this.height / BLOCK[1])];
    const planes = [luma, luma.layout.strides[0], chroma, chroma.layout.strides[0], ...this.#size];
    this.#kernel.run({ groups, groupSize: BLOCK }, [...planes, this.#pixels, WIDTH, this.height]);
    using seen = this.#graph.map(this.#pixels, host, { access: "read" }); // waits for the kernel
    show(seen.view() as Uint8Array);
  }

  /** Gives the kernel and the memory back. */
  [Symbol.dispose](): void {
    this.#pixels[Symbol.dispose]();
    this.#kernel[Symbol.dispose]();
    this.#program[Symbol.dispose]();
    this.#graph[Symbol.dispose]();
  }
}
