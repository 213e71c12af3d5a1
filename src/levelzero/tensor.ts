import { PointerTensor } from "../core/tensors/pointer.ts";
import type { Part } from "../core/tensors/tensor.ts";
import type { LevelZeroUsm } from "./usm.ts";

/** Unified shared memory of Level Zero's. Made by `levelZero.usm.allocate()`; its handle is its address. */
export class LevelZeroTensor extends PointerTensor {
  /** The kind of memory that it is. */
  declare readonly target: LevelZeroUsm;

  /** Its address, if the host reaches it. */
  protected override get hostAddress(): bigint | undefined {
    const { usm = "device" } = this.target.blockOf(this.grant.allocation) ?? {};
    return usm === "device" ? undefined : this.address;
  }

  /** A tensor over a part of its bytes. */
  protected override derive(part: Part): LevelZeroTensor {
    return new LevelZeroTensor(this.initOf(part));
  }
}
