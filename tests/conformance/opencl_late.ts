import type { Line } from "../../src/core/device/line.ts";
import type { OpenCLContext, OpenCLKernel, OpenCLQueue, OpenCLTensor } from "../../src/opencl/mod.ts";

const SOURCE = `
kernel void spin(global uint* x, uint turns) {
  size_t i = get_global_id(0);
  uint y = x[i] + (uint) i;
  for (uint t = 0; t < turns; t++) y = y * y + (t ^ 0x9e3779b9u);
  x[i] = y;
}`;

/** Work-items of the slow kernel. */
const ITEMS = 8192;

/** Its turns, which take about 10 to 50 milliseconds; llvmpipe cuts a loop short at 65,535. */
const TURNS = { cpu: 5_000, other: 5_000_000 } as const;

/**
 * A queue on which the work of a test comes late. The kernel in front of it takes tens of milliseconds, so a command
 * that does not wait finds the old bytes. The context's own queue runs beside it: its order hides no missing wait.
 */
export class LateQueue {
  readonly #queue: OpenCLQueue;
  readonly #spin: OpenCLKernel;
  readonly #numbers: OpenCLTensor;
  readonly #turns: number;

  /** All of it ends with the context. */
  constructor(context: OpenCLContext) {
    this.#queue = context.createQueue();
    this.#spin = context.program(SOURCE).kernel("spin");
    this.#numbers = context.allocate({ shape: [ITEMS], dtype: "u32" });
    this.#turns = context.device.type === "cpu" ? TURNS.cpu : TURNS.other;
  }

  /** The queue's line. */
  get line(): Line {
    return this.#queue.line;
  }

  /** The queue, busy for a while from now on. */
  busy(): OpenCLQueue {
    this.delay(this.#queue);
    return this.#queue;
  }

  /** Keeps any queue of the context busy for a while. */
  delay(queue: OpenCLQueue): void {
    this.#spin.run({ items: [ITEMS] }, [this.#numbers, this.#turns], { queue });
  }
}
