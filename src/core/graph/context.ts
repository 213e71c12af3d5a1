import type { DeviceId } from "../device/device_id.ts";
import type { Mapped } from "../tensors/mapped.ts";
import type { Kind, Resource } from "../life/resource.ts";
import type { Tensor } from "../tensors/tensor.ts";

export { type DeviceId, isSameDevice, plainUuid } from "../device/device_id.ts";

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
