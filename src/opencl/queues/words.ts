import type { Address } from "../../../ffi/address.ts";
import { addressOf } from "../../core/native/pin.ts";

/** 64-bit words for a driver. Their addresses are made once: a new bigint costs as much as a native call. */
export class Words {
  /** The words. */
  readonly words: BigUint64Array<ArrayBuffer>;
  /** Their addresses. */
  readonly addresses: readonly Address[];

  /** `length` words, all 0. */
  constructor(length: number) {
    this.words = new BigUint64Array(length);
    const base = addressOf(this.words, "opencl");
    this.addresses = Array.from(this.words, (_, i) => base + BigInt(8 * i) as Address);
  }
}
