import { assertEquals } from "@std/assert";
import type { CudaContext } from "@samepage/interop/cuda";
import { openingOf } from "../../src/core/native/library.ts";

const SYMBOLS = {
  cudaMalloc: { parameters: ["buffer", "usize"], result: "u32" },
  cudaFree: { parameters: ["u64"], result: "u32" },
} as const;

/** Memory of a device, and libcudart's own functions for it. */
export class OwnersMemory implements Disposable {
  readonly #library = Deno.dlopen(openingOf("cudart")!.path!, SYMBOLS);
  readonly address: bigint;
  freed = 0;

  constructor(cuda: CudaContext, byteLength: number) {
    const out = new BigUint64Array(1);
    cuda.within(() => assertEquals(this.#library.symbols.cudaMalloc(out, BigInt(byteLength)), 0));
    this.address = out[0];
  }

  free(): void {
    this.freed++;
    assertEquals(this.#library.symbols.cudaFree(this.address), 0);
  }

  [Symbol.dispose](): void {
    this.#library.close();
  }
}
