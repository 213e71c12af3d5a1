import { bytesAt } from "../conformance/bytes.ts";
import type { CudaContext, CudaKernel, CudaStream, CudaTensor } from "../../src/cuda/mod.ts";

/** It gives up by itself, so that no test hangs the device. */
const PATIENCE_MS = 5000;

const SOURCE = `
__device__ unsigned long long now() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}
extern "C" __global__ void hold(const volatile unsigned int* gate, unsigned char* to, unsigned long long count) {
  unsigned long long end = now() + ${PATIENCE_MS}000000ull;
  while (*gate == 0 && now() < end) {}
  for (unsigned long long i = threadIdx.x; i < count; i += blockDim.x) to[i] = 7;
}
extern "C" __global__ void later(unsigned char* to, unsigned long long count, unsigned long long nanoseconds) {
  unsigned long long end = now() + nanoseconds;
  while (now() < end) {}
  for (unsigned long long i = threadIdx.x; i < count; i += blockDim.x) to[i] = 7;
}
extern "C" __global__ void add(unsigned char* to, const unsigned char* from, unsigned long long count) {
  for (unsigned long long i = threadIdx.x; i < count; i += blockDim.x) to[i] = from[i] + 1;
}`;

const ONE_BLOCK = { groups: [1], groupSize: [256] } as const;

/** Kernels that do not end before a test says so, and what it takes to see what they have done. */
export class Held implements Disposable {
  readonly #gate: CudaTensor;
  readonly #word: Uint8Array;
  readonly #hold: CudaKernel;
  readonly #holdUnknown: CudaKernel;
  readonly #later: CudaKernel;
  readonly #add: CudaKernel;
  readonly #cuda: CudaContext;

  /** Closed. */
  constructor(cuda: CudaContext) {
    this.#cuda = cuda;
    this.#gate = cuda.pinned.allocate({ shape: [1], dtype: "u32" });
    this.#word = bytesAt(this.#gate.hostHandle!, 4); // the CPU's, while the kernel runs: samepage would wait for its end
    this.#word.fill(0);
    const program = cuda.program(SOURCE);
    // The gate by its number: no work is recorded on it.
    this.#hold = program.kernel("hold", ["unsigned long long", "unsigned char*", "unsigned long long"]);
    this.#holdUnknown = program.kernel("hold", ["unsigned long long", "unsigned long long", "unsigned long long"]);
    this.#later = program.kernel("later", ["unsigned char*", "unsigned long long", "unsigned long long"]);
    this.#add = program.kernel("add", ["unsigned char*", "const unsigned char*", "unsigned long long"]);
    using warm = cuda.allocate({ shape: [16], dtype: "u8" });
    using also = cuda.allocate({ shape: [16], dtype: "u8" });
    // Once beforehand: what is loaded at a kernel's first launch would wait for the kernels that run.
    this.later(warm, 0);
    this.add(also, warm);
    this.open();
    this.start(warm);
    cuda.stream.finish();
    this.#word.fill(0);
  }

  /** Has a kernel fill a tensor with 7 once the gate is open. */
  start(to: CudaTensor, stream: CudaStream = this.#cuda.stream): void {
    this.#hold.run(ONE_BLOCK, [this.#gate.address, to, to.layout.byteLength], { stream });
  }

  /** The same past samepage's books: the tensor's work is not known to it. */
  startUnknown(to: CudaTensor, stream: CudaStream): void {
    const { address, layout: { byteLength } } = to;
    this.#holdUnknown.run(ONE_BLOCK, [this.#gate.address, address, byteLength], { stream });
  }

  /** Has a kernel fill a tensor with 7 after some time. */
  later(to: CudaTensor, milliseconds: number, stream: CudaStream = this.#cuda.stream): void {
    this.#later.run(ONE_BLOCK, [to, to.layout.byteLength, BigInt(milliseconds) * 1_000_000n], { stream });
  }

  /** Has a kernel put the bytes of one tensor, plus 1, into another. */
  add(to: CudaTensor, from: CudaTensor, stream: CudaStream = this.#cuda.stream): void {
    this.#add.run(ONE_BLOCK, [to, from, to.layout.byteLength], { stream });
  }

  /** Lets the kernels go on. */
  open(): void {
    this.#word[0] = 1;
  }

  /** Opens it, and waits for all kernels of the context's stream. */
  [Symbol.dispose](): void {
    this.open();
    this.#cuda.stream.finish();
    this.#gate[Symbol.dispose]();
  }
}

/** Waits so many milliseconds; what the event loop has to do is done meanwhile. */
export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
