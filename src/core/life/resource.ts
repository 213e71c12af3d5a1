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
 * The end of life: `live` → `closing` (what depends on it, and the lends in flight, are being ended) → `returning`
 * (its bytes are on their way back: work in flight is being waited for) → `freed`.
 */
export type ResourceState = "live" | "closing" | "returning" | "freed";

/** What a resource is made of. Nothing in it may reach a view: finalizers hold it. */
export interface ResourceInit {
  /** In words, for messages: `opencl tensor [4,4] u8`. */
  readonly name: string;
  /** The native objects it owns. */
  readonly undo?: Undo;
  /** The bytes it borrowed; they end with it. */
  readonly grants?: readonly Grant[];
  /** What has to outlive it: disposing an owner disposes this first. */
  readonly owners?: readonly (Resource | undefined)[];
  /**
   * What holds its bytes, where it holds none itself: they end with it, and what a program declares of it is declared of
   * each of them.
   */
  readonly parts?: readonly Resource[];
  /** How the bytes come back to the parent, where that takes work. */
  readonly giveBack?: GiveBack | undefined;
  /** Done the moment its end begins, before anything is waited for: what others might wait for in vain. */
  readonly giveUp?: () => void;
  /** The last work that its end waits for, asked once what depends on it has ended. */
  readonly endsAfter?: () => Fence;
}

/** How the bytes of a map come back to its parent: commands on a line, each submitted when the one before is over. */
export interface GiveBack {
  /** The line that takes them. Work that this cannot wait for on the device is waited for before the first. */
  readonly line: Line;
  /** Is all other work waited for before the first command? Where it is false or left out, that runs behind the work. */
  readonly afterWork?: boolean;
  /**
   * The command to submit next, a map that publishes or the unmap that follows it; undefined where nothing is left to do.
   * Called once for each `step`, from 0. `used` is false where no work was ever recorded on the resource or what
   * depended on it.
   */
  step(step: number, used: boolean): Call | undefined;
  /** What follows once this is done: another driver's part of the way back. */
  readonly next?: GiveBack | undefined;
}

/** What an advance can stand before: work, or a lend in flight, on which nothing can block. */
type Obstacle = Fence | Promise<void>;

/** What went wrong while a resource ended. */
interface Failed {
  readonly error: unknown;
  /** The resource that it happened to: this one, or one that ended with it. */
  readonly at: Resource;
}

/** A wait that has ended; work that goes on all the same is seen out by polling. */
interface EndedWait {
  readonly fence: Fence;
  /** What the wait failed with, until that is kept. */
  readonly errors: unknown[];
  /** When the work is given up. */
  readonly until: number;
}

/** Membership of a resource in its owner's list of dependents; and a place in the list of its own memberships. */
interface Link {
  readonly owner: Resource;
  readonly member: Resource;
  newer: Link | undefined;
  older: Link | undefined;
  next: Link | undefined;
}

/** How long a dispose polls work whose wait has ended before it, in milliseconds, until it gives its memory up for lost. */
const LOST_AFTER_MS = 10_000;

const NONE: readonly Failed[] = [];
const NO_PARTS: readonly Resource[] = [];

/**
 * The end of life of everything that owns something native, as one state machine: dependents × lends × work in flight
 * × release. `dispose`, `disposeAsync`, `disposeAfter` and the finalizer all drive the same {@link #advance}; they
 * differ only in how they wait. For those who write mappers.
 */
export class Resource {
  /** In words, for messages. */
  readonly name: string;
  /** The bytes it borrowed. */
  readonly grants: readonly Grant[];
  /** The kind of memory that its tensor or frame is of; set when that is made. */
  target: Target | undefined;
  #state: ResourceState = "live";
  #endedBy: string | undefined;
  /** The work recorded on it that was not seen over. */
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
  /** Has a blocking dispose driven its end? Then it has come, or was left to the background. */
  #blocked = false;
  /** Has a program asked to be told of its end? */
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

  /** Where in its life it is. */
  get state(): ResourceState {
    return this.#state;
  }

  /** True until its end begins. */
  get isLive(): boolean {
    return this.#state === "live";
  }

  /**
   * True once its bytes are on their way back, and nothing but work in flight holds them: the bytes of an intermediate
   * are when what it was made for is.
   */
  get onTheWayBack(): boolean {
    if (this.#state === "live") return this.#madeFor?.onTheWayBack ?? false;
    return this.#state === "returning" || (this.#state === "closing" && !this.held);
  }

  /** What it was made for in the end: itself, unless it is an intermediate of a longer map. */
  get purpose(): Resource {
    return this.#madeFor?.purpose ?? this;
  }

  /** Is any recorded work still unfinished? */
  get busy(): boolean {
    return this.work.next() !== undefined;
  }

  /** Is a lend in flight on it, or on what depends on it? */
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

  /** This ends `intermediate` after itself: what the graph made on the way here. */
  own(intermediate: Resource): void {
    if (this.#intermediate !== undefined) return this.#intermediate.own(intermediate); // a chain has made one already
    intermediate.#madeFor = this;
    this.#intermediate = intermediate;
  }

  /** Records the work that its bytes were in before they came here. */
  inherit(fences: readonly Fence[]): void {
    for (const fence of fences) this.work.add(fence);
  }

  /**
   * Records work that a program declares.
   *
   * @throws {ArgumentError} for what is no fence.
   * @throws {DisposedError} unless it is live, and so are its parts.
   */
  usedBy(fence: Fence): void {
    fenceIn(fence, "fence");
    for (const one of [this, ...this.#parts]) one.assertLive();
    if (this.#parts.length === 0) this.work.add(fence);
    else for (const part of this.#parts) part.usedBy(fence);
  }

  /** Holds off the end until the answered function is called. */
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
   * Ends it, blocking until its work is done, also where {@link disposeAsync} has begun that. Where a lend is in flight it
   * returns at once and ends when that settles; so it does where the end was left to the background.
   *
   * @throws every failure on the way, after all else was done.
   */
  dispose(): void {
    if (!this.#begin(undefined) && (this.#state === "freed" || this.#blocked || !this.#isAwaited())) return;
    this.#blocked = true;
    this.settle();
  }

  /** Ends it without blocking the event loop; where its end has begun already, waits for it. @throws like {@link dispose}. */
  async disposeAsync(): Promise<void> {
    this.#begin(undefined);
    this.#awaited = true;
    await this.#driveAsync();
    this.#raise();
  }

  /** Ends it once `fence` is reached, and returns at once; a failure is kept on the bytes. */
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

  /** Drives an end that has begun (an intermediate's: of what it was made for), blocking, as far as it goes. @throws what failed. */
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

  /** Marks the whole subtree as disposed, and takes its views away. False where it had begun before. */
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

  /** It and all that depends on it, owners first. No recursion: a program may slice slices of slices as it likes. */
  #subtree(): Resource[] {
    const found: Resource[] = [this];
    for (let i = 0; i < found.length; i++) {
      for (let link = found[i].#newest; link !== undefined; link = link.older) found.push(link.member);
    }
    return found;
  }

  /** Goes as far towards `freed` as it can without waiting, dependents first; answers what it stands before. */
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

  /** The same once nothing depends on it any more. */
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

  /** Ends what the graph made on the way here, unless somebody else (its own owner) has begun to. */
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

  /** Work that the line which gives the bytes back cannot wait for on the device. */
  #beforeGivingBack(): Fence | undefined {
    const { work } = this;
    if (this.#endsAfter !== undefined) work.add(this.#endsAfter());
    if (this.#giveBack === undefined || work.line === undefined) return undefined;
    const { line, afterWork } = this.#giveBack;
    return afterWork ? work.next() : work.fences.find((fence) => !line.canWaitFor(fence.line, fence.mark));
  }

  /** Submits the next command of those that give the bytes back. */
  #takeStep(): void {
    if (this.#giveBack === undefined) return;
    const { work } = this;
    const { line, next } = this.#giveBack;
    let call: Call | undefined;
    try {
      call = this.#giveBack.step(this.#step++, work.used);
      if (call === undefined) [this.#giveBack, this.#step] = [next, 0];
      // The work is asked now: a driver may never end what is submitted behind work that has failed already (PoCL 3.1).
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
    // The other owners keep it until the intermediates, which must not wait for it, are gone as well.
    for (let at = this.#intermediate; at !== undefined; at = at.#intermediate) this.#leaveOwner(at);
    this.#state = "freed";
  }

  /** The work goes on though its wait has ended: keeps the error, once, and after a while gives the work up. */
  #outlast(ended: EndedWait): void {
    this.#failed(ended.errors.splice(0));
    if (performance.now() > ended.until) { for (const resource of this.#subtree()) resource.#abandon(ended.fence); }
  }

  /** Work that neither ends nor can be waited for: its memory is kept for good, so that nothing can write into it. */
  #abandon(fence: Fence): void {
    if (this.work.abandon(fence.line)) {
      warn(`work on ${this.name} could not be waited for; its memory is kept for good.`);
      for (const grant of this.grants) grant.allocation.escaped = true;
    }
    if (this.#intermediate === undefined) return;
    for (const resource of this.#intermediate.#subtree()) resource.#abandon(fence);
  }

  /** Hands out, once, all that failed. */
  #takeErrors(): readonly Failed[] {
    const failures = this.work.takeFailures();
    const errors = failures.length === 0 ? this.#errors : [...this.#here(failures), ...this.#errors];
    this.#errors = NONE;
    return errors;
  }

  /** Throws all that failed. */
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

  /** What failed of a resource that ended with this one is told by this one. */
  #takeFailuresOf(ended: Resource): void {
    const errors = ended.#takeErrors();
    if (errors.length > 0) this.#errors = [...this.#errors, ...errors];
  }

  /** Is there somebody who drives its end and tells the program of it: of it, or of an owner with which it ends? */
  #isAwaited(): boolean {
    const owners = new Set<Resource>([this]);
    for (const each of owners) {
      if (each.#awaited) return true;
      for (let link = each.#memberships; link !== undefined; link = link.next) owners.add(link.owner);
    }
    return false;
  }

  /** A blocking dispose goes no further: the rest of the end comes in the background. */
  #leaveToBackground(): void {
    if (!this.#isAwaited()) this.#driveLater();
  }

  /** Drives the end in the background; what fails is kept on the bytes for whoever uses them next. */
  async #driveLater(): Promise<void> {
    await this.#driveAsync();
    const failures = new Map<unknown, Failure>(); // the same error of several resources is told once
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

  /** Keeps a failure on the bytes of the resource that it happened to, and on this one's. */
  #keep(failure: Failure, at: Resource): void {
    const grants = at === this ? this.grants : [...this.grants, ...at.grants];
    if (grants.length === 0) warn(`${this.name} failed after its dispose: ${messageOf(failure.error)}`);
    // What nobody has any more asks nobody: it comes into account only where there is nothing else.
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
