import type { MemoryTarget } from "../device/memory.ts";
import { nameOf } from "../graph/context.ts";
import { ArgumentError } from "../errors.ts";
import { type FrameInfo, frameInfo, planeLayouts } from "../layout/frame_info.ts";
import { describeLayout, type Layout, layout, type LayoutInit } from "../layout/layout.ts";
import { Resource } from "../life/resource.ts";
import { Allocation, type Block } from "../memory/allocation.ts";
import { own } from "../memory/own.ts";
import { Frame } from "./frame.ts";
import type { Mapped } from "./mapped.ts";
import type { Metadata } from "./metadata.ts";
import type { Tensor } from "./tensor.ts";

/** What lies where in native memory, and whose it is. */
export interface Placement {
  /** What the tensors are made with. */
  readonly handle: unknown;
  /** Where each plane lies, counted from the handle; of a tensor there is one. */
  readonly layouts: readonly Layout[];
  /** Its one grant begins with the first byte of the first plane. */
  readonly resource: Resource;
  /** Of a frame: what it is. */
  readonly info?: FrameInfo | undefined;
  /** Of a frame: what is known of it. */
  readonly metadata?: Metadata | undefined;
  /** What it was mapped from. */
  readonly parent?: Mapped | undefined;
}

/** Makes the tensor, or the frame, of memory that one resource holds: for those who write backends. */
export function tensorOver<T extends Tensor>(target: MemoryTarget<T>, at: Placement): T | Frame<T> {
  const { handle, layouts, resource, info, metadata } = at;
  const parent = at.parent === undefined ? {} : { parent: at.parent };
  if (info === undefined) return target.ports.tensor!({ target, handle, layout: layouts[0], resource, ...parent });
  const first = Math.min(...layouts.map(({ byteOffset }) => byteOffset));
  const [grant] = resource.grants;
  const planes = (frame: Frame<T>) =>
    layouts.map((layout, i) => {
      const name = `plane ${i} of ${resource.name}`;
      const start = grant.start + layout.byteOffset - first;
      const grants = [grant.facet(start, start + layout.byteLength, name)];
      const part = new Resource({ name, grants, owners: [resource] });
      return target.ports.tensor!({ target, handle, layout, resource: part, parent: frame });
    });
  return new Frame<T>({ target, resource, info, planes, ...parent, ...(metadata === undefined ? {} : { metadata }) });
}

/** New memory of a kind, as a tensor: for those who write backends. @throws {LayoutError} for a layout that is none. */
export function allocateTensor<T extends Tensor>(target: MemoryTarget<T>, init: LayoutInit): T {
  const at = layout(init);
  return owned(target, `tensor ${describeLayout(at)}`, [at]) as T;
}

/** New memory of a kind, one block for all planes of a frame: for those who write backends. */
export function allocateFrame<T extends Tensor>(target: MemoryTarget<T>, given: FrameInfo): Frame<T> {
  const info = frameInfo(given);
  return owned(target, `frame ${info.format}`, planeLayouts(info), info) as Frame<T>;
}

function owned<T extends Tensor>(
  target: MemoryTarget<T>,
  what: string,
  layouts: readonly Layout[],
  info?: FrameInfo,
): T | Frame<T> {
  const { kind, ports, context } = target;
  if (ports.allocate === undefined) {
    throw new ArgumentError(`${nameOf(target)} has no memory of its own.`, { api: context.api });
  }
  if (ports.tensor === undefined) {
    throw new ArgumentError(`${nameOf(target)} allocates, and has no ports.tensor().`, { api: context.api });
  }
  context.resource?.assertLive();
  const end = layouts[layouts.length - 1].byteOffset + layouts[layouts.length - 1].byteLength;
  const { handle, address, release } = ports.allocate(end);
  const block: Block = { kind, byteLength: end, free: () => release(), ...(address === undefined ? {} : { address }) };
  const start = layouts[0].byteOffset;
  const allocation = new Allocation(block);
  const resource = own({ name: `${kind} ${what}`, allocation, start, end, owners: [context.resource] });
  return tensorOver(target, { handle, layouts, resource, info });
}
