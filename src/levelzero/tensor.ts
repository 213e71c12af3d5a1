import type { Part } from "../core/tensors/tensor.ts";
import { UnifiedTensor } from "../core/tensors/unified_device.ts";
import type { LevelZeroUsm } from "./usm.ts";

/** Unified shared memory of Level Zero's. Made by `levelZero.usm.allocate()`; its handle is its address. */
export class LevelZeroTensor extends UnifiedTensor {
  /** The kind of memory that it is. */
  declare readonly target: LevelZeroUsm;

  /** A tensor over a part of its bytes. */
  protected override derive(part: Part): LevelZeroTensor {
    return new LevelZeroTensor(this.initOf(part));
  }
}
