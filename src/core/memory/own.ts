import { type GiveBack, Resource } from "../life/resource.ts";
import { newUndo, type Undo, undone } from "../life/undo.ts";
import type { Access } from "./access.ts";
import { Allocation, type Block } from "./allocation.ts";
import { Grant } from "./grant.ts";
import { findAllocation, findPlace, join, leave, type Place, registerByHandle } from "./peers.ts";

/** The ownership of a tensor or frame. */
export interface Owning {
  /** Its name, for messages. */
  readonly name: string;
  /** The block, new or adopted. */
  readonly allocation: Allocation;
  /** Where its range of the block's bytes begins; 0 if left out. */
  readonly start?: number;
  /** Where that ends; the block's end if left out. */
  readonly end?: number;
  /** Its access; `"read-write"` if left out. */
  readonly access?: Access | undefined;
  /** The resources that outlive it. */
  readonly owners?: readonly (Resource | undefined)[] | undefined;
  /** Its other native objects; taken over. Released before it leaves the block. */
  readonly undo?: Undo | undefined;
  /** The commands that its end makes, if any. The last of them may call `leave`, which frees the block if no peer is left. */
  readonly giveBack?: ((leave: () => void) => GiveBack | undefined) | undefined;
}

/**
 * The end of life of a tensor or frame that owns its bytes, alone or with peers. The last one frees the block.
 *
 * @throws {DisposedError} if the bytes come back from a loan, and the lender's end has begun. `undo` is the caller's then.
 */
export function own(
  {
    name,
    allocation,
    start = 0,
    end = allocation.block.byteLength,
    access = "read-write",
    owners,
    undo = newUndo(),
    giveBack,
  }: Owning,
): Resource {
  join(allocation); // first of all: a question about a loan may end it, and free the block
  const leave = leaving(allocation);
  const grants = [rootOf(allocation, start, end, access, name, leave)];
  if (undo.length === 0) undo.push(leave);
  else undo.unshift(leave);
  return new Resource({ name, grants, owners, undo, giveBack: giveBack?.(leave) });
}

function rootOf(
  allocation: Allocation,
  start: number,
  end: number,
  access: Access,
  name: string,
  leave: () => void,
): Grant {
  try {
    return Grant.root(allocation, start, end, access, name);
  } catch (error) { // the lender's end has begun
    throw undone(error, [leave], "joining a block");
  }
}

function leaving(allocation: Allocation): () => void {
  let isOwner = true;
  return () => {
    if (!isOwner) return;
    isOwner = false;
    leave(allocation);
  };
}

/** The block at an address: a known one, or a new one. */
export function adopt(address: bigint, byteLength: number, make: () => Block): Allocation {
  return findAllocation(address, byteLength) ?? new Allocation(make());
}

/** The block of a native object, and where the object begins in it: as known by its handle, or a new block. */
export function adoptHandle(kind: string, handle: bigint, make: () => Block): Place {
  const known = findPlace(kind, handle);
  if (known !== undefined) return known;
  const allocation = new Allocation(make());
  registerByHandle(kind, handle, allocation);
  return { allocation, start: 0, lasts: true };
}
