import type { Address } from "../../../ffi/address.ts";
import { addressOf } from "../../core/native/pin.ts";

/** Words of 64 bits for a driver to read and write. Their addresses are made once: a new bigint costs as much as a call. */
export class Words {
  /** The words. */
  readonly words: BigUint64Array<ArrayBuffer>;
  /** Where each of them lies. */
  readonly addresses: readonly Address[];

  /** So many words, all 0. */
  constructor(length: number) {
    this.words = new BigUint64Array(length);
    const base = addressOf(this.words, "opencl");
    this.addresses = Array.from(this.words, (_, i) => base + BigInt(8 * i) as Address);
  }
}
