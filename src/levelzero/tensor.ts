import { UnifiedTensor } from "../core/tensors/unified_device.ts";
import type { LevelZeroUsm } from "./usm.ts";

/** Unified shared memory of Level Zero's. Made by `levelZero.usm.allocate()`; its handle is its address. */
export class LevelZeroTensor extends UnifiedTensor {
  /** The kind of memory that it is. */
  declare readonly target: LevelZeroUsm;
}

/** What programs map tensors to. */
export const LEVELZERO_USM = { tensors: LevelZeroTensor, title: "levelZero.usm" } as const;
