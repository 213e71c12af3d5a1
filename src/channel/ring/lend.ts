import { type MemoryTarget, portsOf } from "../../core/device/memory.ts";
import { Resource } from "../../core/life/resource.ts";
import type { Access } from "../../core/memory/access.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { tensorOver } from "../../core/tensors/over.ts";
import { Tensor } from "../../core/tensors/tensor.ts";

/** How a ring's frame is lent for one turn. */
export interface Lending {
  /** What the borrower may do. */
  readonly access: Access;
  /** What messages call what is lent. */
  readonly name: string;
  /** Called when it is disposed; must not reach it. */
  readonly atEnd: () => void;
}

/** Takes a frame over: it and its planes can be used by {@link lend} alone, until the returned function is called. */
export function takeOver(frame: Tensor | Frame, by: string): () => void {
  frame.revokeViews("read-write");
  markTaken(frame, by);
  return () => markTaken(frame, undefined);
}

/** Lends a ring's frame for one turn. */
export function lend<T extends Tensor | Frame>(frame: T, { access, name, atEnd }: Lending): T {
  const { takenBy } = frame.resource;
  markTaken(frame, undefined);
  try {
    frame.assertUsable(access);
    const turn = isOneBlock(frame) ? ofOneBlock(frame, access, name) : frame.borrow(access) as T;
    turn.resource.undo.unshift(atEnd);
    return turn;
  } finally {
    markTaken(frame, takenBy);
  }
}

function markTaken(frame: Tensor | Frame, by: string | undefined): void {
  frame.resource.takenBy = by;
  for (const plane of planesOf(frame)) plane.resource.takenBy = by;
}

/** Does it lie in one block that it holds as a whole, of a kind that makes tensors of a block? */
function isOneBlock(frame: Tensor | Frame): boolean {
  if (frame.resource.grants.length !== 1 || portsOf(frame.target)?.tensor === undefined) return false;
  const [{ rawHandle }] = planesOf(frame);
  return planesOf(frame).every((plane) => plane.rawHandle === rawHandle);
}

/** The same as `borrow()`, with one grant for all planes: a third of the time. */
function ofOneBlock<T extends Tensor | Frame>(parent: T, access: Access, name: string): T {
  const { target, resource: { grants: [whole] } } = parent;
  const grant = whole.lend(access, whole.start, whole.end, name);
  const resource = new Resource({ name, grants: [grant], owners: [parent.resource] });
  grant.revokeConflicting();
  const planes = planesOf(parent);
  const layouts = planes.map(({ layout }) => layout);
  const what = parent instanceof Frame ? { info: parent.info, metadata: parent.metadata } : {};
  return tensorOver(target as MemoryTarget, { handle: planes[0].rawHandle, layouts, resource, parent, ...what }) as T;
}

function planesOf(frame: Tensor | Frame): readonly Tensor[] {
  return frame instanceof Tensor ? [frame] : frame.planes;
}
