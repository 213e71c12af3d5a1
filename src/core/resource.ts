import { AccessError, DisposedError, throwAll } from "./errors.ts";
import type { Fence } from "./fence.ts";
import type { Grant } from "./grant.ts";
import { warn } from "./warn.ts";

/**
 * The end of life: `live` → `closing` (what depends on it, and the lends in flight, are being ended) → `returning`
 * (its bytes are on their way back: work in flight is being waited for) → `freed`.
 */
export type ResourceState = "live" | "closing" | "returning" | "freed";

/** Native objects to release, newest last; run from the end. A plain array was measured faster than DisposableStack. */
export type Undo = (() => void)[];

/** Runs an undo list, newest first and complete even when a step fails; answers the failures. */
export function unwind(undo: Undo): unknown[] {
  const errors: unknown[] = [];
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
    try {
      step();
    } catch (error) {
      errors.push(error);
    }
  }
  return errors;
}

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
   * Submits what brings the bytes back to the parent (an unmap), after the given work. Called once; answers the fence
   * after which they are back, if anything was submitted.
   */
  readonly giveBack?: (work: readonly Fence[]) => Fence | undefined;
}

/** A lend in flight: nothing to block on, but it says when it is over. */
interface Hold {
  readonly over: Promise<void>;
  readonly end: () => void;
}

/** What an advance can stand before. */
type Obstacle = Fence | Hold;

/** Membership of a resource in its owner's list of dependents. */
interface Link {
  readonly owner: Resource;
  readonly member: Resource;
  newer: Link | undefined;
  older: Link | undefined;
}

/** How long a dispose polls work whose native wait failed, in milliseconds, before it gives its memory up for lost. */
const LOST_AFTER_MS = 10_000;

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * The end of life of everything that owns something native, as one state machine: dependents × lends × work in flight
 * × release. `dispose`, `disposeAsync`, `disposeAfter` and the finalizer all drive the same {@link #advance}; they
 * differ only in how they wait.
 */
export class Resource {
  /** In words, for messages. */
  readonly name: string;
  /** The bytes it borrowed. */
  readonly grants: readonly Grant[];
  #state: ResourceState = "live";
  #endedBy: string | undefined;
  #undo: Undo;
  #giveBack: ResourceInit["giveBack"];
  #work: Fence[] = [];
  #holds: Hold[] | undefined;
  #newest: Link | undefined;
  #links: Link[] = [];
  #intermediate: Resource | undefined;
  #drivesIntermediate = false;
  #errors: unknown[] = [];

  /** Takes `undo` and `grants` over. */
  constructor(init: ResourceInit) {
    this.name = init.name;
    this.#undo = init.undo ?? [];
    this.grants = init.grants ?? [];
    this.#giveBack = init.giveBack;
    for (const grant of this.grants) grant.resource = this;
    for (const owner of init.owners ?? []) if (owner !== undefined) owner.#adopt(this);
  }

  /** Where in its life it is. */
  get state(): ResourceState {
    return this.#state;
  }

  /** The work recorded on it that has not been seen done. */
  get work(): readonly Fence[] {
    return this.#work;
  }

  /** Is any recorded work still unfinished? Work that failed counts as finished, and is thrown by the dispose. */
  get busy(): boolean {
    while (this.#work.length > 0) {
      if (!this.#over(this.#work[0])) return true;
      this.#work.shift()![Symbol.dispose]();
    }
    return false;
  }

  /** @throws {DisposedError} unless it is live. */
  assertLive(): void {
    if (this.#state === "live") return;
    throw new DisposedError(`${this.name} was disposed${this.#endedBy === undefined ? "" : ` with ${this.#endedBy}`}.`, {
      api: "core",
    });
  }

  /** Disposing `owner` disposes this first. */
  dependOn(owner: Resource): void {
    owner.#adopt(this);
  }

  /** This ends `intermediate` after itself: what the graph made on the way here. */
  own(intermediate: Resource): void {
    this.#intermediate = intermediate;
  }

  /** Records work that uses it; takes the fence over. What is done already is forgotten on the way. */
  record(fence: Fence): void {
    if (this.#work.length > 0 && this.#over(this.#work[0])) this.#work.shift()![Symbol.dispose]();
    this.#work.push(fence);
  }

  /** Holds off the end until the answered function is called (once). */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const hold: Hold = {
      over: promise,
      end: () => {
        this.#holds!.splice(this.#holds!.indexOf(hold), 1);
        resolve();
      },
    };
    (this.#holds ??= []).push(hold);
    return hold.end;
  }

  /**
   * Ends it, blocking until its work is done. Where a lend is in flight it returns at once and ends when that settles.
   *
   * @throws every failure on the way, after all else was done.
   */
  dispose(): void {
    if (!this.#begin(undefined)) return;
    this.settle();
  }

  /** Ends it without blocking the event loop; where its end has begun already, waits for it. @throws like {@link dispose}. */
  async disposeAsync(): Promise<void> {
    this.#begin(undefined);
    await this.#driveAsync();
    throwAll(this.#takeErrors(), `disposing ${this.name}`);
  }

  /** Ends it once `fence` is reached, and returns at once; a failure is kept on the bytes. Retains the fence. */
  disposeAfter(fence: Fence): void {
    this.assertLive();
    this.#work.push(fence.retain());
    this.#begin(undefined);
    this.#driveLater();
  }

  /** Ends it from a finalizer: in the background, with a warning. */
  finalize(): void {
    if (!this.#begin(undefined)) return;
    warn(`${this.name} was never disposed; it is now, by the garbage collector. Use \`using\` or dispose it.`);
    this.#driveLater();
  }

  /** Drives an end that has begun, blocking, as far as it goes. @throws what failed. */
  settle(): void {
    for (let obstacle = this.#advance(); obstacle !== undefined; obstacle = this.#advance()) {
      if ("over" in obstacle) {
        this.#driveLater(obstacle);
        break;
      }
      try {
        obstacle.waitSync();
      } catch (error) {
        if (error instanceof AccessError) {
          this.#driveLater();
          throw error;
        }
        this.#outlast(obstacle, error);
      }
    }
    throwAll(this.#takeErrors(), `disposing ${this.name}`);
  }

  /** Marks the whole subtree as disposed, and takes its views away. False where it had begun before. */
  #begin(endedBy: string | undefined): boolean {
    if (this.#state !== "live") return false;
    this.#state = "closing";
    this.#endedBy = endedBy;
    for (let link = this.#newest; link !== undefined; link = link.older) link.member.#begin(this.name);
    for (const grant of this.grants) {
      if (grant.allocation.liveViews > 0) grant.allocation.views?.revokeWithin(grant);
    }
    return true;
  }

  /** Goes as far towards `freed` as it can without waiting; answers what it stands before. */
  #advance(): Obstacle | undefined {
    while (this.#newest !== undefined) {
      const { member } = this.#newest;
      member.#begin(this.name);
      const obstacle = member.#advance();
      if (obstacle !== undefined) return obstacle;
      this.#errors.push(...member.#takeErrors());
    }
    if (this.#holds !== undefined && this.#holds.length > 0) return this.#holds[0];
    if (this.#state === "closing") this.#return();
    while (this.#work.length > 0) {
      const fence = this.#work[this.#work.length - 1];
      if (!this.#over(fence)) return fence;
      this.#work.pop()![Symbol.dispose]();
    }
    if (this.#state === "returning") this.#free();
    const obstacle = this.#advanceIntermediate();
    if (obstacle !== undefined) return obstacle;
    while (this.#links.length > 0) this.#leave(this.#links[this.#links.length - 1]);
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
      this.#errors.push(...intermediate.#takeErrors());
    }
    this.#intermediate = undefined;
    return undefined;
  }

  #return(): void {
    this.#state = "returning";
    if (this.#giveBack === undefined) return;
    try {
      const back = this.#giveBack(this.#work);
      if (back !== undefined) this.#work.push(back);
    } catch (error) {
      this.#errors.push(error);
    }
    this.#giveBack = undefined;
  }

  #free(): void {
    this.#errors.push(...unwind(this.#undo));
    for (const grant of this.grants) {
      grant.finish();
      for (let kept; (kept = grant.allocation.takeFailure(grant.start, grant.end));) this.#errors.push(kept.error);
    }
    // The other owners keep it until the intermediate, which must not wait for it, is gone as well.
    const link = this.#links.find((l) => l.owner === this.#intermediate);
    if (link !== undefined) this.#leave(link);
    this.#state = "freed";
  }

  /** True once a fence is reached, or failed: then its error is kept. */
  #over(fence: Fence): boolean {
    try {
      return fence.reached();
    } catch (error) {
      this.#errors.push(error);
      return true;
    }
  }

  /** A native wait failed: keep its error where the work itself did not fail, and see the work out by polling. */
  #outlast(fence: Fence, error: unknown): void {
    const end = performance.now() + LOST_AFTER_MS;
    try {
      if (fence.reached()) return;
      this.#errors.push(error);
      while (!fence.reached()) {
        if (performance.now() > end) return this.#abandon(fence);
        Atomics.wait(sleeper, 0, 0, 1);
      }
    } catch {
      // The work itself failed: #over will find the same failure and keep it.
    }
  }

  /** Work that neither ends nor can be waited for: its memory is kept for good, so that nothing can write into it. */
  #abandon(fence: Fence): void {
    warn(`work on ${this.name} could not be waited for; its memory is kept for good.`);
    for (const grant of this.grants) grant.allocation.escaped = true;
    const at = this.#work.indexOf(fence);
    if (at >= 0) this.#work.splice(at, 1)[0][Symbol.dispose]();
    for (let link = this.#newest; link !== undefined; link = link.older) link.member.#abandon(fence);
    if (this.#intermediate !== undefined) this.#intermediate.#abandon(fence);
  }

  #takeErrors(): unknown[] {
    const errors = this.#errors;
    if (errors.length > 0) this.#errors = [];
    return errors;
  }

  /** Drives the end in the background; what fails is kept on the bytes for whoever uses them next. */
  async #driveLater(after?: Hold): Promise<void> {
    await after?.over;
    await this.#driveAsync();
    for (const error of this.#takeErrors()) this.#keep(error);
  }

  async #driveAsync(): Promise<void> {
    for (let obstacle = this.#advance(); obstacle !== undefined; obstacle = this.#advance()) {
      try {
        await ("over" in obstacle ? obstacle.over : obstacle.wait());
      } catch (error) {
        this.#outlast(obstacle as Fence, error);
      }
    }
  }

  #keep(error: unknown): void {
    if (this.grants.length === 0) warn(`${this.name} failed after its dispose: ${error}`);
    for (const { allocation, start, end } of this.grants) allocation.keepFailure(start, end, error);
  }

  #adopt(member: Resource): void {
    const link: Link = { owner: this, member, newer: undefined, older: this.#newest };
    if (this.#newest !== undefined) this.#newest.newer = link;
    this.#newest = link;
    member.#links.push(link);
  }

  #leave(link: Link): void {
    this.#links.splice(this.#links.indexOf(link), 1);
    if (link.older !== undefined) link.older.newer = link.newer;
    if (link.newer !== undefined) link.newer.older = link.older;
    else link.owner.#newest = link.older;
  }
}
