import type { Target } from "../../core/graph/context.ts";
import type { GiveBack, Resource } from "../../core/life/resource.ts";
import type { Grant } from "../../core/memory/grant.ts";
import { Frame } from "../../core/tensors/frame.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import type { HostContext } from "../../host/context.ts";
import type { HostTensor } from "../../host/tensor.ts";
import type { Address, Place } from "./planes.ts";

/** A copy in memory of the host, and how it is written back. */
export interface HostCopy {
  /** Where it begins. */
  readonly address: Address;
  /** The lent bytes, where they are shown: what is lent of them, and which views there are, is the copy's matter. */
  readonly grants: readonly Grant[];
  /** Undefined where nothing was written. */
  readonly giveBack: GiveBack | undefined;
}

/** What the host has at hand, as a tensor or frame of its own; `place` says where each plane is. */
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
