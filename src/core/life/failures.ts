import { messageOf, throwAll, warn } from "../errors.ts";
import type { Failure } from "../memory/allocation.ts";
import type { Resource } from "./resource.ts";

export interface Failed {
  readonly error: unknown;
  /** The resource that failed: the one that ends, or one that ended with it. */
  readonly at: Resource;
}

export const NONE_FAILED: readonly Failed[] = [];

export function failed(resource: Resource, errors: readonly unknown[]): void {
  if (errors.length > 0) resource.failures = [...resource.failures, ...failedAt(resource, errors)];
}

/** Takes over the failures of a resource that ended with this one. */
export function takeFailuresOf(ended: Resource, resource: Resource): void {
  const failures = takeFailures(ended);
  if (failures.length > 0) resource.failures = [...resource.failures, ...failures];
}

export function raiseFailures(resource: Resource, doing: string = "disposing"): void {
  const failures = takeFailures(resource);
  if (failures.length > 0) throwAll(failures.map(({ error }) => error), `${doing} ${resource.name}`);
}

/** Keeps all failures on the bytes of the resources that failed, and on this one's, for their next user. */
export function keepFailures(resource: Resource): void {
  const kept = new Map<unknown, Failure>(); // an error that several resources share is reported once
  for (const { error, at } of takeFailures(resource)) {
    const failure = kept.get(error) ?? { error, told: false };
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
