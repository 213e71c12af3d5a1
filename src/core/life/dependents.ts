import type { Resource } from "./resource.ts";

/** A resource in its owner's list of dependents, and in the list of its own owners. */
export interface Link {
  /** The owner ends after the member. */
  readonly owner: Resource;
  readonly member: Resource;
  /** The next newer one in the owner's list. */
  newer: Link | undefined;
  /** The next older one there. */
  older: Link | undefined;
  /** The next in the member's list. */
  next: Link | undefined;
}

export function adopt(owner: Resource, member: Resource): void {
  const link: Link = { owner, member, newer: undefined, older: owner.newest, next: member.memberships };
  if (owner.newest !== undefined) owner.newest.newer = link;
  owner.newest = link;
  member.memberships = link;
}

export function isOwnedBy(member: Resource, owner: Resource): boolean {
  for (let link = member.memberships; link !== undefined; link = link.next) if (link.owner === owner) return true;
  return false;
}

export function leave(member: Resource, owner: Resource): void {
  for (let link = member.memberships; link !== undefined; link = link.next) if (link.owner === owner) resign(link);
}

export function leaveAll(member: Resource): void {
  while (member.memberships !== undefined) resign(member.memberships);
}

/** A resource and its dependents, owners first. No recursion: slices of slices may be nested deeply. */
export function subtreeOf(resource: Resource): Resource[] {
  const found = [resource];
  for (let i = 0; i < found.length; i++) {
    for (let link = found[i].newest; link !== undefined; link = link.older) found.push(link.member);
  }
  return found;
}

export function ownersOf(resource: Resource): Iterable<Resource> {
  const found = new Set([resource]);
  for (const each of found) {
    for (let link = each.memberships; link !== undefined; link = link.next) found.add(link.owner);
  }
  return found;
}

function resign(link: Link): void {
  const { owner, member, newer, older } = link;
  if (member.work.used) owner.work.used = true;
  if (member.memberships === link) member.memberships = link.next;
  else {
    let before = member.memberships!;
    while (before.next !== link) before = before.next!;
    before.next = link.next;
  }
  if (older !== undefined) older.newer = newer;
  if (newer !== undefined) newer.older = older;
  else owner.newest = older;
}
