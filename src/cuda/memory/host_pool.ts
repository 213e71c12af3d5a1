import { type Address, NULL } from "../../../ffi/address.ts";
import { allOrNothing, undoAll } from "../../core/life/undo.ts";
import { mapPages, PAGE, unmapPages } from "../../core/native/blocks.ts";
import { permitted } from "../../core/native/library.ts";
import { bytesAt } from "../../core/native/pin.ts";
import { loadFunctions } from "../../guard/functions.ts";
import { assertMachine } from "../../guard/machine.ts";
import { giveCode, HEADER, removeIdleCode, SIZES, STATE, takeCode } from "./host_pool_code.ts";

export interface HostPoolInit {
  readonly context: bigint;
  /** cudaHostAlloc's flags. */
  readonly flags: number;
  readonly calls: Readonly<Record<"cuCtxPushCurrent" | "cudaHostAlloc" | "cuCtxPopCurrent", bigint>>;
  /** cudaFreeHost. */
  readonly free: (made: Address) => void;
}

const REMOVE_IDLE = { parameters: ["usize"], result: "u64" } as const;

/**
 * A pool of page-locked blocks that native code takes and returns on any thread. Its state and its code stay until the process
 * ends, because blocks may return as late as that.
 */
export class HostPool {
  /** `int (void **block, size_t alignment, size_t size)`: 0, or ENOMEM. */
  readonly take: Address;
  /** `void (void *block)` */
  readonly give: Address;
  readonly #state: DataView<ArrayBuffer>;
  readonly #removeIdle: (exponent: bigint) => bigint;
  readonly #free: HostPoolInit["free"];

  constructor({ context, flags, calls, free }: HostPoolInit) {
    const fields = { api: "cuda", fn: "cudaHostAlloc", hint: "Use cuda.pinned.pool()." };
    assertMachine("What gives native code pinned blocks", fields);
    const at = mapPages(NULL, PAGE);
    const load = () =>
      loadFunctions("cuda-host-pool", {
        take: takeCode(at),
        give: giveCode(at),
        removeIdle: removeIdleCode(at),
      });
    const functions = allOrNothing("making a pool", load, [() => unmapPages(at, PAGE)]);
    this.#state = new DataView(bytesAt(at, PAGE, "cuda", []).buffer);
    this.#state.setUint32(STATE.flags, flags, true);
    this.#state.setBigUint64(STATE.context, context, true);
    for (const [name, address] of Object.entries(calls)) {
      this.#state.setBigUint64(STATE[name as keyof typeof calls], address, true);
    }
    this.take = functions.take;
    this.give = functions.give;
    this.#removeIdle = permitted("to call by an address", "cuda", () => {
      const pointer = Deno.UnsafePointer.create<typeof REMOVE_IDLE>(functions.removeIdle)!;
      const call = new Deno.UnsafeFnPointer(pointer, REMOVE_IDLE);
      return (exponent) => call.call(exponent);
    });
    this.#free = free;
  }

  /** The bytes of its blocks: those in use, and the others. */
  get statistics(): { readonly lentBytes: number; readonly idleBytes: number } {
    // `lent` is read first: a block counts as lent while CUDA makes it, and as held only later.
    const [lent, held] = [STATE.lent, STATE.held].map((at) => Number(this.#state.getBigUint64(at, true)));
    return { lentBytes: lent, idleBytes: Math.max(0, held - lent) };
  }

  /** True while CUDA may make more blocks. Once it is false, {@link statistics} counts every block that is still made. */
  set open(open: boolean) {
    const { buffer, byteOffset } = this.#state;
    Atomics.store(new Int32Array(buffer, byteOffset + STATE.open, 1), 0, Number(open));
  }

  /**
   * Stops CUDA from making blocks, and frees the idle ones, which native code may take until then.
   *
   * @param ifEmpty called if no block is left: the pool hands out none until it is open again
   */
  close(ifEmpty: () => void): void {
    this.open = false;
    const ask = () => {
      const { lentBytes, idleBytes } = this.statistics;
      if (lentBytes + idleBytes === 0) ifEmpty();
    };
    undoAll([ask, () => this.trim()], "closing a pool of page-locked blocks");
  }

  trim(): void {
    const frees: (() => void)[] = [];
    for (let exponent = BigInt(SIZES.least); exponent <= SIZES.most; exponent++) {
      for (let block = this.#removeIdle(exponent); block !== NULL; block = this.#removeIdle(exponent)) {
        const header = new DataView(bytesAt(block + BigInt(HEADER.made) as Address, 8, "cuda", []).buffer);
        const made = header.getBigUint64(0, true) as Address;
        frees.push(() => this.#free(made));
      }
    }
    undoAll(frees, "freeing page-locked blocks");
  }
}
