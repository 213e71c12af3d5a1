import type { Failure } from "../memory/allocation.ts";
import type { Call } from "../device/driver.ts";
import { type Fence, fenceIn } from "../device/fence.ts";
import type { Line } from "../device/line.ts";
import { Work } from "../device/work.ts";
import type { Target } from "../graph/context.ts";
import { AccessError, DisposedError, messageOf, throwAll } from "../errors.ts";
import type { Grant } from "../memory/grant.ts";
import { sleepSync } from "../native/sleep.ts";
import { type Undo, unwind } from "./undo.ts";
import { warn } from "../warn.ts";

/**
 * The end of life: `live` → `closing` (its dependents and lends end) → `returning` (its bytes are on their way back; it
 * waits for work in flight) → `freed`.
 */
export type ResourceState = "live" | "closing" | "returning" | "freed";

/** What a resource is made of. Finalizers hold it, so it must not reach a view. */
export interface ResourceInit {
  /** Its name, for messages: `opencl tensor [4,4] u8`. */
  readonly name: string;
  /** The native objects it owns. */
  readonly undo?: Undo;
  /** The bytes it borrowed; they go back when it ends. */
  readonly grants?: readonly Grant[];
  /** The resources that outlive it: disposing an owner disposes this first. */
  readonly owners?: readonly (Resource | undefined)[];
  /** The resources that hold its bytes, if it holds none. They end with it, and take the work declared on it. */
  readonly parts?: readonly Resource[];
  /** The commands that return the bytes to the parent, if any are needed. */
  readonly giveBack?: GiveBack | undefined;
  /** Called when its end begins, before any wait: releases whatever others would wait for in vain. */
  readonly giveUp?: () => void;
  /** The last work that its end waits for; asked once its dependents have ended. */
  readonly endsAfter?: () => Fence;
}

/** How the bytes of a map return to its parent: commands on a line, each submitted once the one before is over. */
export interface GiveBack {
  /** The line of the commands. Before the first, the host waits for the work that this line cannot wait for. */
  readonly line: Line;
  /** True if the host waits for all work before the first command; else that command waits on the device. */
  readonly afterWork?: boolean;
  /**
   * The next command: a map that publishes, or the unmap after it; undefined once nothing is left to do. Called once for
   * each `step`, from 0. `used` is false if no work was ever recorded on the resource or its dependents.
   */
  step(step: number, used: boolean): Call | undefined;
  /** The next part of the way back, by another driver. */
  readonly next?: GiveBack | undefined;
}

/** What holds up the end: work in flight, or a lend, on which no call can block. */
type Obstacle = Fence | Promise<void>;

/** A failure during the end of a resource. */
interface Failed {
  readonly error: unknown;
  /** The resource that failed: this one, or one that ended with it. */
  readonly at: Resource;
}

/** A wait that has ended. If its work has not, the work is polled. */
interface EndedWait {
  readonly fence: Fence;
  /** The errors of the wait that were not kept yet. */
  readonly errors: unknown[];
  /** When to give the work up. */
  readonly until: number;
}

/** A resource in its owner's list of dependents, and in the list of its own memberships. */
interface Link {
  readonly owner: Resource;
  readonly member: Resource;
  newer: Link | undefined;
  older: Link | undefined;
  next: Link | undefined;
}

/** How long a dispose polls work that goes on after its wait has ended, in milliseconds. Then its memory is given up. */
const LOST_AFTER_MS = 10_000;

const NONE: readonly Failed[] = [];
const NO_PARTS: readonly Resource[] = [];

/**
 * The end of life of every owner of native objects, as one state machine: dependents × lends × work in flight × release.
 * `dispose`, `disposeAsync`, `disposeAfter` and the finalizer all drive the same {@link #advance}; they differ only in how
 * they wait. For those who write mappers.
 */
export class Resource {
  /** Its name, for messages. */
  readonly name: string;
  /** The bytes it borrowed. */
  readonly grants: readonly Grant[];
  /** The kind of memory of its tensor or frame; set when that is made. */
  target: Target | undefined;
  #state: ResourceState = "live";
  #endedBy: string | undefined;
  /** The unfinished work on it. */
  readonly work: Work = new Work();
  #undo: Undo;
  #giveBack: GiveBack | undefined;
  #step = 0;
  readonly #endsAfter: (() => Fence) | undefined;
  readonly #giveUp: (() => void) | undefined;
  readonly #parts: readonly Resource[];
  #holds: Set<Promise<void>> | undefined;
  #newest: Link | undefined;
  #memberships: Link | undefined;
  #intermediate: Resource | undefined;
  #drivesIntermediate = false;
  /** True once a blocking dispose has driven its end, or left it to the background. */
  #blocked = false;
  /** True once `disposeAsync` reports its end to the program. */
  #awaited = false;
  #madeFor: Resource | undefined;
  #errors: readonly Failed[] = NONE;

  /** Takes `undo` and `grants` over. */
  constructor(init: ResourceInit) {
    this.name = init.name;
    this.#undo = init.undo ?? [];
    this.grants = init.grants ?? [];
    this.#giveBack = init.giveBack;
    this.#giveUp = init.giveUp;
    this.#endsAfter = init.endsAfter;
    this.#parts = init.parts ?? NO_PARTS;
    for (const part of this.#parts) this.#adopt(part);
    for (const grant of this.grants) grant.resource = this;
    for (const owner of init.owners ?? []) if (owner !== undefined) owner.#adopt(this);
  }

  /** Its state. */
  get state(): ResourceState {
    return this.#state;
  }

  /** True until its end begins. */
  get isLive(): boolean {
    return this.#state === "live";
  }

  /**
   * True once its bytes are on their way back, and only work in flight holds them. An intermediate follows the resource
   * that it was made for.
   */
  get onTheWayBack(): boolean {
    if (this.#state === "live") return this.#madeFor?.onTheWayBack ?? false;
    return this.#state === "returning" || (this.#state === "closing" && !this.held);
  }

  /** The resource that it was made for: itself, unless it is an intermediate of a longer map. */
  get purpose(): Resource {
    return this.#madeFor?.purpose ?? this;
  }

  /** True while recorded work is unfinished. */
  get busy(): boolean {
    return this.work.next() !== undefined;
  }

  /** True while it or a dependent is lent to a promise. */
  get held(): boolean {
    return this.#subtree().some((resource) => resource.#holds !== undefined && resource.#holds.size > 0);
  }

  /** Throws a {@link DisposedError} unless it is live. */
  assertLive(): void {
    if (this.#state === "live") return;
    throw new DisposedError(
      `${this.name} was disposed${this.#endedBy === undefined ? "" : ` with ${this.#endedBy}`}.`,
      {
        api: "core",
      },
    );
  }

  /** Disposing `owner` disposes this first. Idempotent. */
  dependOn(owner: Resource): void {
    for (let link = this.#memberships; link !== undefined; link = link.next) if (link.owner === owner) return;
    owner.#adopt(this);
  }

  /** Ends `intermediate`, which the graph made on the way here, after itself. */
  own(intermediate: Resource): void {
    if (this.#intermediate !== undefined) return this.#intermediate.own(intermediate); // a chain has made one already
    intermediate.#madeFor = this;
    this.#intermediate = intermediate;
  }

  /** Records the earlier work on its bytes. */
  inherit(fences: readonly Fence[]): void {
    for (const fence of fences) this.work.add(fence);
  }

  /**
   * Records work that a program declares.
   *
   * @throws {ArgumentError} if `fence` is not a fence.
   * @throws {DisposedError} if it or a part was disposed.
   */
  usedBy(fence: Fence): void {
    fenceIn(fence, "fence");
    for (const one of [this, ...this.#parts]) one.assertLive();
    if (this.#parts.length === 0) this.work.add(fence);
    else for (const part of this.#parts) part.usedBy(fence);
  }

  /** Holds off the end until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const holds = this.#holds ??= new Set();
    holds.add(promise);
    return () => {
      holds.delete(promise);
      resolve();
    };
  }

  /**
   * Ends it, and blocks until its work is done, even if {@link disposeAsync} has begun. With a lend in flight it returns at
   * once, and the end comes when the lend settles; so it does if the end was left to the background.
   *
   * @throws all failures, once everything else was done.
   */
  dispose(): void {
    if (!this.#begin(undefined) && (this.#state === "freed" || this.#blocked || !this.#isAwaited())) return;
    this.#blocked = true;
    this.settle();
  }

  /** Ends it without blocking the event loop, or waits for an end that has begun. @throws like {@link dispose}. */
  async disposeAsync(): Promise<void> {
    this.#begin(undefined);
    this.#awaited = true;
    await this.#driveAsync();
    this.#raise();
  }

  /** Ends it once `fence` is reached; returns at once. The bytes keep a failure. */
  disposeAfter(fence: Fence): void {
    this.usedBy(fence);
    this.#begin(undefined);
    for (const part of this.#parts) part.#advance(); // each is on its way back at once: they do not wait for each other
    this.#driveLater();
  }

  /** Ends it (an intermediate: what it was made for) from a finalizer: in the background, with a warning. */
  finalize(): void {
    if (this.#state === "live" && this.#madeFor !== undefined) return this.#madeFor.finalize();
    if (!this.#begin(undefined)) return;
    warn(`${this.name} was never disposed; it is now, by the garbage collector. Use \`using\` or dispose it.`);
    this.#driveLater();
  }

  /** Drives an end that has begun (for an intermediate: the end of its purpose), blocking. @throws all failures. */
  settle(): void {
    if (this.#state === "live") return this.#madeFor?.settle();
    let ended: EndedWait | undefined;
    for (let obstacle = this.#advance(); obstacle !== undefined; obstacle = this.#advance()) {
      if (obstacle instanceof Promise) {
        this.#leaveToBackground();
        break;
      }
      if (ended !== undefined && isSame(obstacle, ended.fence)) {
        this.#outlast(ended);
        sleepSync(1);
        continue;
      }
      ended = endedWait(obstacle);
      try {
        obstacle.waitSync();
      } catch (error) {
        if (error instanceof AccessError) {
          this.#leaveToBackground();
          throw error;
        }
        ended.errors.push(error);
      }
    }
    this.#raise();
  }

  /** Marks the whole subtree as disposed, and revokes its views. False if the end had begun before. */
  #begin(endedBy: string | undefined): boolean {
    if (!this.#close(endedBy)) return false;
    if (this.#newest === undefined) return true;
    const closed: Resource[] = [this];
    for (let i = 0; i < closed.length; i++) {
      for (let link = closed[i].#newest; link !== undefined; link = link.older) {
        if (link.member.#close(closed[i].name)) closed.push(link.member);
      }
    }
    return true;
  }

  /** Marks it alone. */
  #close(endedBy: string | undefined): boolean {
    if (this.#state !== "live") return false;
    this.#state = "closing";
    this.#endedBy = endedBy;
    try {
      this.#giveUp?.();
    } catch (error) {
      this.#failed([error]);
    }
    for (const grant of this.grants) {
      try {
        if (grant.allocation.liveViews > 0) grant.allocation.views?.revokeOf(grant);
      } catch (error) {
        this.#failed([error]);
      }
    }
    return true;
  }

  /** It and its dependents, owners first. No recursion: slices of slices may be nested deeply. */
  #subtree(): Resource[] {
    const found: Resource[] = [this];
    for (let i = 0; i < found.length; i++) {
      for (let link = found[i].#newest; link !== undefined; link = link.older) found.push(link.member);
    }
    return found;
  }

  /** Goes towards `freed`, dependents first, until it would have to wait; returns the obstacle. */
  #advance(): Obstacle | undefined {
    if (this.#newest === undefined) return this.#advanceAlone();
    const path: Resource[] = [this];
    while (path.length > 0) {
      const at = path[path.length - 1];
      if (at.#newest !== undefined) {
        const { member } = at.#newest;
        member.#begin(at.name);
        path.push(member);
        continue;
      }
      const obstacle = at.#advanceAlone();
      if (obstacle !== undefined) return obstacle;
      path.pop();
      if (path.length > 0) path[path.length - 1].#takeFailuresOf(at);
    }
    return undefined;
  }

  /** The same without dependents. */
  #advanceAlone(): Obstacle | undefined {
    if (this.#holds !== undefined && this.#holds.size > 0) return this.#holds.values().next().value;
    if (this.#state === "closing") {
      const foreign = this.#beforeGivingBack();
      if (foreign !== undefined) return foreign;
      this.#state = "returning";
      this.#takeStep();
    }
    let work = this.work.next();
    while (work === undefined && this.#giveBack !== undefined) {
      this.#takeStep();
      work = this.work.next();
    }
    if (work !== undefined) return work;
    if (this.#state === "returning") this.#free();
    const obstacle = this.#advanceIntermediate();
    if (obstacle !== undefined) return obstacle;
    while (this.#memberships !== undefined) this.#resign(this.#memberships);
    return undefined;
  }

  /** Ends the intermediate, unless its owner has begun to. */
  #advanceIntermediate(): Obstacle | undefined {
    const intermediate = this.#intermediate;
    if (intermediate === undefined) return undefined;
    this.#drivesIntermediate ||= intermediate.#begin(this.name);
    if (this.#drivesIntermediate) {
      const obstacle = intermediate.#advance();
      if (obstacle !== undefined) return obstacle;
      this.#takeFailuresOf(intermediate);
    }
    this.#intermediate = undefined;
    return undefined;
  }

  /** The work to wait for here, because the line that gives the bytes back cannot wait for it. */
  #beforeGivingBack(): Fence | undefined {
    const { work } = this;
    if (this.#endsAfter !== undefined) work.add(this.#endsAfter());
    if (this.#giveBack === undefined || work.line === undefined) return undefined;
    const { line, afterWork } = this.#giveBack;
    return afterWork ? work.next() : work.fences.find((fence) => !line.canWaitFor(fence.line, fence.mark));
  }

  /** Submits the next command that gives the bytes back. */
  #takeStep(): void {
    if (this.#giveBack === undefined) return;
    const { work } = this;
    const { line, next } = this.#giveBack;
    let call: Call | undefined;
    try {
      call = this.#giveBack.step(this.#step++, work.used);
      if (call === undefined) [this.#giveBack, this.#step] = [next, 0];
      // `fences` polls the work first: a driver may never end a command behind work that has failed (PoCL 3.1).
      else work.add(line.submitRaw(call, work.fences));
    } catch (error) {
      this.#giveBack = undefined;
      if (call?.partial) work.add(line.fence());
      this.#failed([error]);
    }
  }

  #free(): void {
    for (const { allocation, start, end } of this.grants) {
      for (let kept; (kept = allocation.takeFailure(start, end));) this.#failed([kept.error]);
    }
    this.#failed(unwind(this.#undo));
    for (const grant of this.grants) grant.finish();
    // It leaves the intermediates, which must not wait for it. The other owners keep it until those are gone.
    for (let at = this.#intermediate; at !== undefined; at = at.#intermediate) this.#leaveOwner(at);
    this.#state = "freed";
  }

  /** The work goes on after its wait has ended: keeps the errors, and gives the work up after a while. */
  #outlast(ended: EndedWait): void {
    this.#failed(ended.errors.splice(0));
    if (performance.now() > ended.until) { for (const resource of this.#subtree()) resource.#abandon(ended.fence); }
  }

  /** The work may never end: keeps its memory for good, because the work may still write to it. */
  #abandon(fence: Fence): void {
    if (this.work.abandon(fence.line)) {
      warn(`work on ${this.name} could not be waited for; its memory is kept for good.`);
      for (const grant of this.grants) grant.allocation.escaped = true;
    }
    if (this.#intermediate === undefined) return;
    for (const resource of this.#intermediate.#subtree()) resource.#abandon(fence);
  }

  /** Returns each failure once. */
  #takeErrors(): readonly Failed[] {
    const failures = this.work.takeFailures();
    const errors = failures.length === 0 ? this.#errors : [...this.#here(failures), ...this.#errors];
    this.#errors = NONE;
    return errors;
  }

  /** Throws all failures. */
  #raise(): void {
    const errors = this.#takeErrors();
    if (errors.length > 0) throwAll(errors.map(({ error }) => error), `disposing ${this.name}`);
  }

  #failed(errors: readonly unknown[]): void {
    if (errors.length > 0) this.#errors = [...this.#errors, ...this.#here(errors)];
  }

  #here(errors: readonly unknown[]): Failed[] {
    return errors.map((error) => ({ error, at: this }));
  }

  /** Takes over the failures of a resource that ended with this one. */
  #takeFailuresOf(ended: Resource): void {
    const errors = ended.#takeErrors();
    if (errors.length > 0) this.#errors = [...this.#errors, ...errors];
  }

  /** True if a `disposeAsync`, its own or an owner's, drives its end and reports it. */
  #isAwaited(): boolean {
    const owners = new Set<Resource>([this]);
    for (const each of owners) {
      if (each.#awaited) return true;
      for (let link = each.#memberships; link !== undefined; link = link.next) owners.add(link.owner);
    }
    return false;
  }

  /** A blocking dispose can go no further: the end goes on in the background. */
  #leaveToBackground(): void {
    if (!this.#isAwaited()) this.#driveLater();
  }

  /** Drives the end in the background. The bytes keep the failures for their next user. */
  async #driveLater(): Promise<void> {
    await this.#driveAsync();
    const failures = new Map<unknown, Failure>(); // an error that several resources share is told once
    for (const { error, at } of this.#takeErrors()) {
      const failure = failures.get(error) ?? { error, told: false };
      failures.set(error, failure);
      this.#keep(failure, at);
    }
  }

  async #driveAsync(): Promise<void> {
    let ended: EndedWait | undefined;
    for (let obstacle = this.#advance(); obstacle !== undefined; obstacle = this.#advance()) {
      if (obstacle instanceof Promise) await obstacle;
      else if (ended !== undefined && isSame(obstacle, ended.fence)) {
        this.#outlast(ended);
        await new Promise((resolve) => setTimeout(resolve, 1));
      } else {
        ended = endedWait(obstacle);
        try {
          await obstacle.wait();
        } catch (error) {
          ended.errors.push(error);
        }
      }
    }
  }

  /** Keeps a failure on the bytes of the resource that failed, and on this one's. */
  #keep(failure: Failure, at: Resource): void {
    const grants = at === this ? this.grants : [...this.grants, ...at.grants];
    if (grants.length === 0) warn(`${this.name} failed after its dispose: ${messageOf(failure.error)}`);
    // Bytes without an owner will not be asked: they count only if there are no others.
    const had = grants.filter(({ allocation }) => allocation.peers > 0);
    for (const { allocation, start, end } of had.length > 0 ? had : grants) {
      allocation.keepFailure(start, end, failure);
    }
  }

  #adopt(member: Resource): void {
    const link: Link = { owner: this, member, newer: undefined, older: this.#newest, next: member.#memberships };
    if (this.#newest !== undefined) this.#newest.newer = link;
    this.#newest = link;
    member.#memberships = link;
  }

  #leaveOwner(owner: Resource): void {
    for (let link = this.#memberships; link !== undefined; link = link.next) {
      if (link.owner === owner) this.#resign(link);
    }
  }

  #resign(link: Link): void {
    if (this.work.used) link.owner.work.used = true;
    if (this.#memberships === link) this.#memberships = link.next;
    else {
      let before = this.#memberships!;
      while (before.next !== link) before = before.next!;
      before.next = link.next;
    }
    if (link.older !== undefined) link.older.newer = link.newer;
    if (link.newer !== undefined) link.newer.older = link.older;
    else link.owner.#newest = link.older;
  }
}

function isSame(obstacle: Obstacle, fence: Fence): boolean {
  return !(obstacle instanceof Promise) && obstacle.line === fence.line && obstacle.mark === fence.mark;
}

function endedWait(fence: Fence): EndedWait {
  return { fence, errors: [], until: performance.now() + LOST_AFTER_MS };
}
