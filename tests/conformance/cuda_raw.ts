import type { Address } from "../../ffi/address.ts";
import { cudaMemcpyDefault, cudaStreamNonBlocking } from "../../ffi/cuda_runtime/constants.ts";
import { cudaErrorNotReady } from "../../ffi/cuda_runtime/errors.ts";
import type { CudaRuntime } from "../../ffi/cuda_runtime/functions.ts";
import type { CudaStream as StreamHandle } from "../../ffi/cuda_runtime/handles.ts";
import { SYMBOLS } from "../../ffi/cuda_runtime/symbols.ts";
import { openingOf } from "../../src/core/native/library.ts";
import { until } from "./bytes.ts";

let library: CudaRuntime | undefined;

/** CUDA's runtime as C has it: opened by the tests for themselves, and known to nothing in samepage. */
function raw(): CudaRuntime {
  return library ??= Deno.dlopen(openingOf("cudart")!.path!, SYMBOLS).symbols as unknown as CudaRuntime;
}

/** Bytes that a kernel of `copy(to, at, from, begin, count)` finds. */
export interface Place {
  /** What kernels call the first one. */
  readonly address: Address;
  /** How many there are. */
  readonly length: number;
}

/** Threads of a block. */
const BLOCK = 256;

/** A stream of the tests' own, and a kernel that copies bytes on it. */
export class RawStream implements Disposable {
  readonly #within: <R>(call: () => R) => R;
  readonly #kernel: Address;
  readonly #stream: StreamHandle;

  /** `within` makes the device the thread's; `kernel` is `copy` of cuda_end.ts. */
  constructor(within: <R>(call: () => R) => R, kernel: Address) {
    this.#within = within;
    this.#kernel = kernel;
    this.#stream = within(() =>
      out((at) => raw().cudaStreamCreateWithFlags(at, cudaStreamNonBlocking))
    ) as StreamHandle;
  }

  /** Submits a kernel that puts these bytes there, and no more; what it returns polls until it is done. */
  write({ address, length }: Place, bytes: Uint8Array<ArrayBuffer>): () => Promise<void> {
    return this.#within(() => {
      const from = this.#scratch(bytes);
      this.#copy(address, from, length);
      return () => this.#done(from);
    });
  }

  /** Has a kernel put bytes elsewhere, and fetches them from there. */
  async read({ address, length }: Place): Promise<Uint8Array> {
    const bytes = new Uint8Array(new ArrayBuffer(length));
    const to = this.#within(() => {
      const to = this.#scratch(bytes);
      this.#copy(to, address, length);
      return to;
    });
    await this.#idle();
    this.#within(() => check(raw().cudaMemcpy(addressOf(bytes), to, BigInt(length), cudaMemcpyDefault)));
    this.#within(() => check(raw().cudaFree(to)));
    return bytes;
  }

  [Symbol.dispose](): void {
    this.#within(() => check(raw().cudaStreamDestroy(this.#stream)));
  }

  /** A launch as C makes it: each argument is passed by the address of its value. */
  #copy(to: Address, from: Address, length: number): void {
    const values = BigUint64Array.of(to, from, BigInt(length));
    const base = addressOf(values);
    const args = BigUint64Array.from(values, (_, i) => base + 8n * BigInt(i));
    const grid = Uint32Array.of(Math.ceil(length / BLOCK), 1, 1);
    check(raw().cudaLaunchKernel(this.#kernel, grid, Uint32Array.of(BLOCK, 1, 1), args, 0n, this.#stream));
    keep(values); // the launch has copied them by now
  }

  /**
   * Memory of the device with these bytes, for what the stream is given next. Its own order sees to that: cudaMemcpy may
   * return while the last bytes of pageable memory are on their way, and no such stream waits for it.
   */
  #scratch(bytes: Uint8Array<ArrayBuffer>): Address {
    const address = out((at) => raw().cudaMalloc(at, BigInt(bytes.length))) as Address;
    const length = BigInt(bytes.length);
    check(raw().cudaMemcpyAsync(address, addressOf(bytes), length, cudaMemcpyDefault, this.#stream));
    return address;
  }

  async #done(from: Address): Promise<void> {
    await this.#idle();
    this.#within(() => check(raw().cudaFree(from)));
  }

  async #idle(): Promise<void> {
    let code = 0;
    const over = await until(() => (code = raw().cudaStreamQuery(this.#stream)) !== cudaErrorNotReady);
    raw().cudaGetLastError(); // "not ready" is kept as an error
    if (!over || code !== 0) throw new Error(`the kernel that copies ended with ${code}`);
  }
}

/** Once its buffer was asked for, a small array no longer lies in V8's heap, which moves things. */
function addressOf({ buffer, byteOffset }: ArrayBufferView<ArrayBuffer>): Address {
  return BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(buffer))) + BigInt(byteOffset) as Address;
}

function out(create: (at: BigUint64Array<ArrayBuffer>) => number): bigint {
  const at = new BigUint64Array(1);
  check(create(at));
  return at[0];
}

function check(code: number): void {
  if (code !== 0) throw new Error(`the tests' own CUDA call failed with ${code}`);
}

/** Keeps something alive until here. */
function keep(_: unknown): void {}
