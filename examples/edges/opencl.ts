/**
 * The kernels of kernels.cl, in the order that makes edges of a photograph. Where their planes lie, and how the bytes
 * come there and back, is the business of by_mapping.ts and of by_copying.ts.
 *
 * @module
 */

import type { OpenCLContext, OpenCLKernel, OpenCLProgram, OpenCLTensor } from "@samepage/interop/opencl";
import { HIGH, LOW } from "./host.ts";
import source from "./kernels.cl" with { type: "text" };

/** A picture's size in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The memory that the kernels work on: 7 bytes a pixel. */
export interface Planes {
  /** The photograph: [height, width, 4] u8. Only read. */
  readonly rgba: OpenCLTensor;
  /** Grey, then blurred, then edges: [height, width] u8. */
  readonly edges: OpenCLTensor;
  /** Half-blurred rows, then the gradient: [height, width] u16. */
  readonly scratch: OpenCLTensor;
}

/** Called with a step's name when it is done. */
export type Lap = (step: string) => void;

/**
 * Launches hysteresis once, and returns whether there may be more to do: `launch` takes the flag that the kernel sets
 * to 1 where it changed a pixel. The flag is 0 beforehand.
 */
export type Spread = (launch: (changed: OpenCLTensor) => void) => boolean;

/** A work-item of hysteresis sweeps a square of so many pixels a side; at most 64. */
const TILE = 64;

/** Work sizes are rounded up to this, so that a driver can form work-groups whatever the picture's size. */
const GROUP = 64;

/** The kernels, built for a context's device. */
export class EdgeKernels implements Disposable {
  readonly #cl: OpenCLContext;
  readonly #program: OpenCLProgram;
  readonly #kernels: Map<string, OpenCLKernel>;

  constructor(cl: OpenCLContext) {
    this.#cl = cl;
    this.#program = cl.program(source);
    this.#kernels = new Map(this.#program.kernelNames.map((name) => [name, this.#program.kernel(name)]));
  }

  /**
   * Runs all steps. Each is waited for, so that `lap` can time it.
   *
   * @returns How many launches hysteresis took.
   */
  run({ rgba, edges, scratch }: Planes, { width, height }: Size, spread: Spread, lap: Lap): number {
    const pixels = [roundUp(width, GROUP), roundUp(height, GROUP)];
    const tiles = [Math.ceil(width / TILE), Math.ceil(height / TILE)];
    const done = (step: string) => {
      this.#cl.queue.finish();
      lap(step);
    };

    this.#kernel("grey").run({ items: pixels }, [rgba, edges, width, height]);
    done("grey");
    this.#kernel("blur_rows").run({ items: pixels }, [edges, scratch, width, height]);
    this.#kernel("blur_columns").run({ items: pixels }, [scratch, edges, width, height]);
    done("blur");
    this.#kernel("gradient").run({ items: pixels }, [edges, scratch, width, height]);
    done("gradient");
    this.#kernel("suppress").run({ items: pixels }, [scratch, edges, width, height, LOW, HIGH]);
    done("suppress");
    let launches = 1;
    while (
      spread((changed) => this.#kernel("hysteresis").run({ items: tiles }, [edges, changed, width, height, TILE]))
    ) {
      launches++;
    }
    done("hysteresis");
    this.#kernel("finish").run({ items: pixels }, [edges, width, height]);
    done("finish");
    return launches;
  }

  /** Releases the program, and its kernels before it. */
  [Symbol.dispose](): void {
    this.#program[Symbol.dispose]();
  }

  #kernel(name: string): OpenCLKernel {
    return this.#kernels.get(name)!;
  }
}

function roundUp(n: number, multiple: number): number {
  return Math.ceil(n / multiple) * multiple;
}
