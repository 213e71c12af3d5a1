import { Resource } from "../life/resource.ts";
import type { Undo } from "../life/undo.ts";
import type { Access } from "./access.ts";
import { Allocation, type Block } from "./allocation.ts";
import { Grant } from "./grant.ts";
import { findAllocation, findByHandle, join, leave, tellByHandle } from "./peers.ts";

/** What a tensor or frame owns. */
export interface Owning {
  /** Its name, for messages. */
  readonly name: string;
  /** The block, new or adopted. */
  readonly allocation: Allocation;
  /** Which of the block's bytes it has; all of them where this is left out. */
  readonly start?: number;
  readonly end?: number;
  /** What it may be used for; anything where this is left out. */
  readonly access?: Access;
  /** What has to outlive it. */
  readonly owners?: readonly (Resource | undefined)[];
  /** What else it owns; taken over. Its steps run before the block is left. */
  readonly undo?: Undo;
}

/** The end of life of a tensor or frame that owns its bytes, alone or with peers. The last of them frees the block. */
export function own({ name, allocation, access = "read-write", owners = [], undo = [], ...range }: Owning): Resource {
  const { start = 0, end = allocation.block.byteLength } = range;
  join(allocation);
  undo.unshift(() => leave(allocation));
  const grants = [Grant.root(allocation, start, end, access, name)];
  return new Resource({ name, grants, owners, undo });
}

/** The block at an address: the one that is known there, or a new one. */
export function adopt(address: bigint, byteLength: number, make: () => Block): Allocation {
  return findAllocation(address, byteLength) ?? new Allocation(make());
}

/** The block that a native object is: the one that is known by its handle, or a new one. */
export function adoptHandle(kind: string, handle: bigint, make: () => Block): Allocation {
  const known = findByHandle(kind, handle);
  if (known !== undefined) return known;
  const allocation = new Allocation(make());
  tellByHandle(kind, handle, allocation);
  return allocation;
}
