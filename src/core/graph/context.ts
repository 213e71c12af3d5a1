import type { Mapped } from "../tensors/mapped.ts";
import type { Kind, Resource } from "../life/resource.ts";
import type { Tensor } from "../tensors/tensor.ts";

/** Identifies a device: two contexts with the same `uuid` (or `pci`) are on the same one. */
export interface DeviceId {
  /** The driver's UUID as 32 hexadecimal digits, if it has one. */
  readonly uuid?: string;
  /** `domain:bus:device.function`, if the driver tells it. */
  readonly pci?: string;
}

/** True if both name one device. A device without a UUID and a PCI address is known to be no other's. */
export function isSameDevice(one: DeviceId, other: DeviceId): boolean {
  return (one.uuid !== undefined && one.uuid === other.uuid) || (one.pci !== undefined && one.pci === other.pci);
}

/** An open API on one device. */
export interface Context extends Disposable {
  /** The API's name: `"host"`, `"opencl"`. */
  readonly api: string;
  /** The device's name, for messages. */
  readonly name: string;
  /** Identifies the device. */
  readonly id: DeviceId;
  /** The kinds of memory that tensors can be mapped to here. */
  readonly targets: readonly Target[];
  /** Its end of life; everything in the context ends first. Undefined if the context never ends. */
  readonly resource: Resource | undefined;
}

/** A node of the graph: one kind of memory in one context. A context with one main kind is that target itself. */
export interface Target<T extends Tensor = Tensor> {
  /** The kind's name, which edges use: `"opencl"`. */
  readonly kind: string;
  /** The context whose memory it is. */
  readonly context: Context;
  /** True for a tensor of this memory. `graph.map` takes its result type from it. */
  is(value: Mapped): value is T;
}

/** `opencl (NVIDIA H200)`: how a target is named in messages. */
export function nameOf(target: Kind): string {
  return target.kind === target.context.name ? target.kind : `${target.kind} (${target.context.name})`;
}

/** A UUID in the form of {@link DeviceId}: 32 hexadecimal digits, without dashes and without nvidia-smi's `GPU-`. */
export function plainUuid(text: string): string {
  return text.replace(/^GPU-/i, "").replaceAll("-", "").toLowerCase();
}
