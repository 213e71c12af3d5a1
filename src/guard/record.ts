/**
 * What thunks leave behind. Each thread has a record for each image: the clause that caught an exception, 0 if none was
 * thrown (64 bits), and the exception's address (64 bits).
 *
 * @module
 */
import type { Address } from "../../ffi/address.ts";

export const RECORD_SIZE = 16;

export const CAUGHT = {
  /** The exception derives from std::exception. */
  STD_EXCEPTION: 1,
  ANY: 2,
} as const;

export interface Taken {
  readonly clause: number;
  /** The address of its `_Unwind_Exception`. */
  readonly exception: Address;
}

/** The record of this thread: an isolate stays on its thread. */
export class ThrowRecord {
  /** The clause, in the first word. It is public because it is read after every call. */
  readonly clause: Int32Array;
  readonly #exception: BigUint64Array;

  constructor(address: Address) {
    const pointer = Deno.UnsafePointer.create(address)!;
    const memory = Deno.UnsafePointerView.getArrayBuffer(pointer, RECORD_SIZE);
    this.clause = new Int32Array(memory, 0, 1);
    this.#exception = new BigUint64Array(memory, 8, 1);
  }

  take(): Taken {
    const clause = this.clause[0];
    this.clause[0] = 0;
    return { clause, exception: this.#exception[0] as Address };
  }
}
