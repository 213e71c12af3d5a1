/**
 * Edges by copying, to compare: the photograph is written to buffers of OpenCL's own, which were made beforehand, and
 * the result is read from them.
 *
 * @module
 */

import type { HostTensor } from "@samepage/interop";
import type { OpenCLContext, OpenCLTensor } from "@samepage/interop/opencl";
import type { EdgeKernels, Lap, Planes, Size } from "./opencl.ts";

/** Sends the photograph, finds edges, fetches them. */
export class ByCopying implements Disposable {
  /** One byte a pixel, row by row: after a run, 255 on an edge and 0 elsewhere. */
  readonly edges: Uint8Array<ArrayBuffer>;
  readonly #cl: OpenCLContext;
  readonly #kernels: EdgeKernels;
  readonly #size: Size;
  readonly #pixels: HostTensor;
  readonly #planes: Planes;
  readonly #changed: OpenCLTensor;

  /** `pixels` is the photograph in host memory, [height, width, 4] u8; it stays yours. */
  constructor(cl: OpenCLContext, kernels: EdgeKernels, pixels: HostTensor) {
    const [height, width] = pixels.layout.shape;
    this.#cl = cl;
    this.#kernels = kernels;
    this.#size = { width, height };
    this.#pixels = pixels;
    this.edges = new Uint8Array(width * height);
    this.#planes = {
      rgba: cl.allocate({ shape: [height, width, 4], dtype: "u8" }),
      edges: cl.allocate({ shape: [height, width], dtype: "u8" }),
      scratch: cl.allocate({ shape: [height, width], dtype: "u16" }),
    };
    this.#changed = cl.allocate({ shape: [1], dtype: "i32" });
  }

  /** From the photograph to {@linkcode edges}. */
  run(lap: Lap): void {
    const { queue } = this.#cl;
    const spread = (launch: (changed: OpenCLTensor) => void): boolean => {
      const flag = new Int32Array([0]);
      queue.write(this.#changed, flag);
      launch(this.#changed);
      queue.read(this.#changed, flag);
      return flag[0] !== 0;
    };
    queue.write(this.#planes.rgba, this.#pixels.view({ access: "read" }));
    lap("to the device");
    this.#kernels.run(this.#planes, this.#size, spread, lap);
    queue.read(this.#planes.edges, this.edges);
    lap("to the host");
  }

  /** Gives the buffers back. */
  [Symbol.dispose](): void {
    for (const tensor of [...Object.values(this.#planes), this.#changed]) tensor[Symbol.dispose]();
  }
}
