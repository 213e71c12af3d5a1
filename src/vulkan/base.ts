import type { Line } from "../core/device/line.ts";
import type { Proofs } from "../core/device/proofs.ts";
import type { MemoryTarget } from "../core/contract.ts";
import type { DeviceContext } from "../core/graph/device_context.ts";
import type { VulkanDriver } from "./driver.ts";
import type { VulkanLane } from "./lane.ts";
import type { OpenDevice } from "./open_device.ts";
import type { Staging } from "./staging.ts";
import type { VulkanTensor } from "./tensor.ts";

/** The members of a context that its parts use. */
export interface VulkanBase extends DeviceContext, MemoryTarget<VulkanTensor> {
  /** The open device. */
  readonly openDevice: OpenDevice;
  /** The driver of its lines. */
  readonly driver: VulkanDriver;
  /** The line of its own queue. */
  readonly line: Line<VulkanLane>;
  /** Copies bytes between the CPU and the device. */
  readonly staging: Staging;
  /** Proofs that the device uses host memory in place. */
  readonly proofs: Proofs<VulkanBase>;
}
