import type { Target } from "../core/graph/context.ts";
import type { GiveBack, Resource } from "../core/life/resource.ts";
import type { Grant } from "../core/memory/grant.ts";
import { Frame } from "../core/tensors/frame.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import type { HostContext } from "../host/context.ts";
import type { HostTensor } from "../host/tensor.ts";
import type { Address, Place } from "../core/tensors/places.ts";

/** A copy in host memory. */
export interface HostCopy {
  /** Its address. */
  readonly address: Address;
  /** The grants of the lent bytes in the copy, which keeps its own lends and views. */
  readonly grants: readonly Grant[];
  /** The copy back; undefined if it is only read. */
  readonly giveBack: GiveBack | undefined;
}

/** A host tensor or frame over host memory; `place` locates each plane. */
export function onHost<T extends Tensor>(
  source: T | Frame<T>,
  target: Target,
  resource: Resource,
  place: (plane: T) => Place,
): HostTensor | Frame<HostTensor> {
  const host = target.context as HostContext;
  if (source instanceof Frame) {
    const { info, metadata } = source;
    return host.frame(resource, info, source.planes.map(place), { metadata, parent: source });
  }
  const { handle, layout } = place(source);
  return host.tensor(resource, handle, layout, source);
}
