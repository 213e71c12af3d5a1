/**
 * An OpenCL Gaussian over the planes of a picture.
 *
 * @module
 */
import type { OpenCLContext, OpenCLKernel, OpenCLProgram, OpenCLTensor } from "@samepage/interop/opencl";

/** Sigma is 2 pixels: nine weights of 1/256. */
const SOURCE = `
constant int W[9] = { 7, 17, 31, 45, 56, 45, 31, 17, 7 };

/** A pass along rows (dx = 1) or columns (dy = 1), from and to bytes. */
kernel void pass(global const uchar *from, int stride, global uchar *to, int toStride, int2 size, int2 step) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  int sum = 128;
  for (int i = -4; i <= 4; i++) {
    int2 p = clamp(at + i * step, (int2)(0), size - 1);
    sum += W[i + 4] * from[p.y * stride + p.x];
  }
  to[at.y * toStride + at.x] = sum >> 8;
}`;

/** The kernels, and what lies between their two passes: memory of the device's own. */
export class Blur implements Disposable {
  readonly #cl: OpenCLContext;
  readonly #program: OpenCLProgram;
  readonly #pass: OpenCLKernel;
  #between: OpenCLTensor | undefined;

  /** Builds the kernel. */
  constructor(cl: OpenCLContext) {
    this.#cl = cl;
    this.#program = cl.program(SOURCE);
    this.#pass = this.#program.kernel("pass");
  }

  /** Blurs planes of bytes into others of the same shapes. */
  run(from: readonly OpenCLTensor[], to: readonly OpenCLTensor[]): void {
    for (const [i, plane] of from.entries()) {
      const [height, width] = plane.layout.shape;
      const between = this.#between ??= this.#cl.allocate({ shape: [height, width], dtype: "u8" }); // luma is first
      const [stride, toStride] = [plane, to[i]].map(({ layout }) => layout.strides[0]);
      const items = [width, height];
      this.#pass.run({ items }, [plane, stride, between, width, [width, height], [1, 0]]);
      this.#pass.run({ items }, [between, width, to[i], toStride, [width, height], [0, 1]]);
    }
  }

  /** Gives them back. */
  [Symbol.dispose](): void {
    this.#between?.[Symbol.dispose]();
    this.#pass[Symbol.dispose]();
    this.#program[Symbol.dispose]();
  }
}
