import type { Call } from "../contract.ts";
import type { Fence } from "../device/fence.ts";
import type { Line } from "../device/line.ts";
import type { Work } from "../device/work.ts";
import type { EndHooks, GiveBack, Resource } from "./resource.ts";
import { unwind } from "./undo.ts";
import { messageOf, throwAll, warn } from "../errors.ts";
import type { Grant } from "../memory/grant.ts";
import type { Failure } from "../memory/allocation.ts";

/** What holds up the end: work in flight, or a lend, on which no call can block. */
export type Obstacle = Fence | Promise<void>;

/** Marks a resource and its dependents as disposed, and revokes their views. False if the end had begun before. */
export function begin(resource: Resource, by?: Resource): boolean {
  if (!close(resource, by)) return false;
  if (resource.newest !== undefined) closeDependents(resource);
  return true;
}

function closeDependents(resource: Resource): void {
  const owners = [resource];
  for (let i = 0; i < owners.length; i++) {
    for (let link = owners[i].newest; link !== undefined; link = link.older) {
      if (close(link.member, owners[i]) && link.member.newest !== undefined) owners.push(link.member);
    }
  }
}

function close(resource: Resource, by: Resource | undefined): boolean {
  if (resource.state !== "live") return false;
  resource.state = "closing";
  if (by !== undefined) {
    resource.endedBy = by.name;
    resource.ending = by.ending;
  }
  if (resource.hooks !== undefined) giveUp(resource, resource.hooks);
  const { grants } = resource;
  for (let i = 0; i < grants.length; i++) if (grants[i].allocation.liveViews > 0) revokeOf(grants[i], resource);
  return true;
}

function giveUp(resource: Resource, hooks: EndHooks): void {
  try {
    hooks.giveUp();
  } catch (error) {
    failed(resource, [error]);
  }
}

function revokeOf(grant: Grant, resource: Resource): void {
  try {
    grant.allocation.views?.revokeOf(grant);
  } catch (error) {
    failed(resource, [error]);
  }
}

/** Goes towards `freed`, dependents first, until it would have to wait; returns the obstacle. */
export function advance(resource: Resource): Obstacle | undefined {
  return resource.newest === undefined ? advanceAlone(resource) : advanceWithDependents(resource);
}

function advanceWithDependents(resource: Resource): Obstacle | undefined {
  const path = [resource];
  while (path.length > 0) {
    const at = path[path.length - 1];
    const member = at.newest?.member;
    if (member !== undefined) begin(member, at);
    if (member?.newest !== undefined) {
      path.push(member);
      continue;
    }
    const ended = member ?? at; // most dependents have none of their own: they need no place on the path
    const obstacle = advanceAlone(ended);
    if (obstacle !== undefined) return obstacle;
    if (ended === at) path.pop();
    if (path.length > 0) takeFailuresOf(ended, path[path.length - 1]);
  }
  return undefined;
}

/** Without dependents. */
function advanceAlone(resource: Resource): Obstacle | undefined {
  const { work, holds, hooks } = resource;
  if (holds !== undefined && holds.size > 0) return holds.values().next().value;
  if (resource.state === "closing") {
    if (hooks !== undefined) addLastWork(work, hooks);
    const { giveBack } = resource;
    const foreign = giveBack && beforeGivingBack(work, giveBack);
    if (foreign !== undefined) return foreign;
    resource.state = "returning";
    if (giveBack !== undefined) takeStep(resource, giveBack);
  }
  let next = work.next();
  while (next === undefined && resource.giveBack !== undefined) {
    resource.onlyReturns = true;
    takeStep(resource, resource.giveBack);
    next = work.next();
  }
  if (hooks !== undefined && resource.state === "returning") {
    while (next === undefined && addLastWork(work, hooks)) next = work.next();
  }
  if (next !== undefined) return next;
  if (resource.state === "returning") free(resource);
  if (resource.intermediate !== undefined) {
    const obstacle = advanceIntermediate(resource, resource.intermediate);
    if (obstacle !== undefined) return obstacle;
  }
  while (resource.memberships !== undefined) resign(resource.memberships);
  return undefined;
}

/** Ends the intermediate, unless its owner has begun to. */
function advanceIntermediate(resource: Resource, intermediate: Resource): Obstacle | undefined {
  resource.drivesIntermediate ||= begin(intermediate, resource);
  if (resource.drivesIntermediate) {
    const obstacle = advance(intermediate);
    if (obstacle !== undefined) return obstacle;
    takeFailuresOf(intermediate, resource);
  }
  resource.intermediate = undefined;
  return undefined;
}

/** The work to wait for here, because the line that gives the bytes back cannot wait for it. */
function beforeGivingBack(work: Work, { line, blocks = false }: GiveBack): Fence | undefined {
  if (blocks && line.gatesAt(line.submitted) !== undefined) return line.fence();
  return work.isClearFor(line) ? undefined : firstBeside(line, work, blocks);
}

/** A function of its own: where there is one line, no closure is made. */
function firstBeside(line: Line, work: Work, blocks: boolean): Fence | undefined {
  const isGated = (fence: Fence) => blocks && fence.line.gatesAt(fence.mark) !== undefined;
  return work.fences.find((fence) => !line.canWaitFor(fence.line, fence.mark) || isGated(fence));
}

/** True if there is work that the end has to wait for, and did not know of. */
function addLastWork(work: Work, hooks: EndHooks): boolean {
  const last = hooks.lastWork();
  if (last === undefined) return false;
  work.add(last);
  return !last.line.wasOver(last.mark);
}

function takeStep(resource: Resource, giveBack: GiveBack): void {
  const { work } = resource;
  const { line } = giveBack;
  let call: Call | undefined;
  try {
    call = giveBack.step(resource.step++, work.used);
    if (call !== undefined) {
      work.forget(); // asks about the work: a driver may never end a command behind work that has failed (PoCL 3.1)
      work.add(work.isClearFor(line) ? line.submitRaw(call) : line.submitRaw(call, work.fences));
      if (!giveBack.once) return;
    }
    resource.giveBack = giveBack.next;
    resource.step = 0;
  } catch (error) {
    resource.giveBack = undefined;
    if (call?.partial) work.add(line.fence());
    failed(resource, [error]);
  }
}

function free(resource: Resource): void {
  const { grants } = resource;
  for (let i = 0; i < grants.length; i++) {
    const { allocation, start, end } = grants[i];
    for (let kept; (kept = allocation.takeFailure(start, end));) failed(resource, [kept.error]);
  }
  const errors = unwind(resource.undo);
  if (errors.length > 0) failed(resource, errors);
  for (let i = 0; i < grants.length; i++) grants[i].finish();
  // It leaves the intermediates, which must not wait for it. The other owners keep it until those are gone.
  for (let at = resource.intermediate; at !== undefined; at = at.intermediate) leave(resource, at);
  resource.state = "freed";
}

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

export function leave(member: Resource, owner: Resource): void {
  for (let link = member.memberships; link !== undefined; link = link.next) if (link.owner === owner) resign(link);
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

export interface Failed {
  readonly error: unknown;
  /** The resource that failed: the one that ends, or one that ended with it. */
  readonly at: Resource;
}

export const NONE_FAILED: readonly Failed[] = [];

export function failed(resource: Resource, errors: readonly unknown[]): void {
  resource.failures = [...resource.failures, ...failedAt(resource, errors)];
}

/** Takes over the failures of a resource that ended with this one. */
function takeFailuresOf(ended: Resource, resource: Resource): void {
  const failures = takeFailures(ended);
  if (failures.length > 0) resource.failures = [...resource.failures, ...failures];
}

export function raiseFailures(resource: Resource, doing: string = "disposing"): void {
  if (resource.failures === NONE_FAILED && !resource.work.mayHaveFailed) return;
  const failures = takeFailures(resource);
  if (failures.length > 0) throwAll(failures.map(({ error }) => error), `${doing} ${resource.name}`);
}

/** Keeps all failures on the bytes of the resources that failed, and on this one's, for their next user. */
export function keepFailures(resource: Resource): void {
  const kept = new Map<unknown, Failure>(); // an error that several resources share is reported once
  for (const { error, at } of takeFailures(resource)) {
    const failure = kept.get(error) ?? { error, reported: false };
    kept.set(error, failure);
    keep(resource, failure, at);
  }
}

function keep(resource: Resource, failure: Failure, at: Resource): void {
  const grants = at === resource ? resource.grants : [...resource.grants, ...at.grants];
  if (grants.length === 0) warn(`${resource.name} failed after its dispose: ${messageOf(failure.error)}`);
  // Bytes without an owner have no next user: they count only if no other bytes are left.
  const owned = grants.filter(({ allocation }) => allocation.peers > 0);
  for (const { allocation, start, end } of owned.length > 0 ? owned : grants) {
    allocation.keepFailure(start, end, failure);
  }
}

/** Returns each failure once, and none that a wait for the resource has thrown. */
function takeFailures(resource: Resource): readonly Failed[] {
  const ofWork = resource.work.takeFailures();
  const failures = ofWork.length === 0 ? resource.failures : [...failedAt(resource, ofWork), ...resource.failures];
  resource.failures = NONE_FAILED;
  const { thrown } = resource;
  return thrown === undefined ? failures : failures.filter(({ error }) => !thrown.has(error));
}

function failedAt(at: Resource, errors: readonly unknown[]): Failed[] {
  return errors.map((error) => ({ error, at }));
}
