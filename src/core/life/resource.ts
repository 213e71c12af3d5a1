import { Printed, withFacts } from "../printed.ts";
import type { Call } from "../contract.ts";
import { type Fence, fenceIn } from "../device/fence.ts";
import type { Line } from "../device/line.ts";
import { Work } from "../device/work.ts";
import { AccessError, DisposedError, warn } from "../errors.ts";
import type { Grant } from "../memory/grant.ts";
import {
  adopt,
  advance,
  begin,
  type Failed,
  leave,
  type Link,
  NONE_FAILED,
  raiseFailures,
  subtreeOf,
} from "./ending.ts";
import { NOWHERE, originInWords, originOf, type TokenHome } from "./finalizers.ts";
import type { Undo } from "./undo.ts";
import { drive, driveIfOver, driveInBackground, driveSync, isAwaited, waitPatiently } from "./waiting.ts";

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
  readonly owners?: readonly (Resource | undefined)[] | undefined;
  /** The resources that hold its bytes, if it holds none. They end with it, and take the work declared on it. */
  readonly parts?: readonly Resource[];
  /** The commands that return the bytes to the parent, if any are needed. */
  readonly giveBack?: GiveBack | undefined;
  /** @internal What else its end has to do. */
  readonly hooks?: EndHooks;
}

export interface EndHooks {
  /** Called when the end begins, before any wait: releases whatever others would wait for in vain. */
  giveUp(): void;
  /** The last work that the end waits for, if there is more; asked once its dependents have ended, and again after that. */
  lastWork(): Fence | undefined;
}

/** How the bytes of a map return to its parent: commands on a line, each submitted once the one before is over. */
export interface GiveBack {
  /** The line of the commands. Before the first, the host waits for the work that this line cannot wait for. */
  readonly line: Line;
  /** True if there is at most one command: once it is submitted, nothing but work in flight holds the bytes. */
  readonly once?: boolean;
  /** True if a command blocks while a promise holds its line up: before the first, the host waits for those promises. */
  readonly blocks?: boolean;
  /**
   * The next command: a map that publishes, or the unmap after it; undefined once nothing is left to do. Called once for
   * each `step`, from 0. `used` is false if no work was ever recorded on the resource or its dependents.
   */
  step(step: number, used: boolean): Call | undefined;
  /** The next part of the way back, by another driver. */
  readonly next?: GiveBack | undefined;
}

/** The kind of memory of a tensor, and whose it is. */
export interface Kind {
  readonly kind: string;
  readonly context: { readonly api: string; readonly name: string };
}

const NO_GRANTS: readonly Grant[] = [];
const NO_PARTS: readonly Resource[] = [];

/**
 * The end of life of every owner of native objects, as one state machine: dependents × lends × work in flight × release.
 * `dispose`, `disposeAsync`, `disposeAfter` and the finalizer drive the same end (ending.ts); they differ only in how they
 * wait (waiting.ts).
 */
export class Resource extends Printed {
  /** Its name, for messages. */
  readonly name: string;
  /** The bytes it borrowed. */
  readonly grants: readonly Grant[];
  /** The unfinished work on it. */
  readonly work: Work = new Work();
  /** @internal The kind of memory of its tensor or frame; set when that is made. */
  target: Kind | undefined;

  /** How far its end has come. */
  state: ResourceState = "live";

  // The rest is for the files of this folder. What few resources have is declared, and set on those alone: to set it on all
  // would take a tenth of the time that it takes to make one, and to read what is not set costs nothing.

  /** @internal The program's calls that made it, where those are traced. */
  declare readonly origin?: string | undefined;

  /** @internal Where its object is among those that the garbage collector may have to end. */
  place: number = NOWHERE;

  /** @internal Gives the token of its object, if a token is registered in place of the object. */
  declare tokenHome?: TokenHome;

  /** @internal The native objects it still owns. */
  readonly undo: Undo;
  /** @internal The commands that are left to return the bytes. */
  giveBack: GiveBack | undefined;
  /** @internal How many of them were asked for. */
  step = 0;
  /** @internal What else its end has to do. */
  declare readonly hooks?: EndHooks;
  /** @internal Its newest dependent. */
  newest: Link | undefined;
  /** @internal Its owners. */
  memberships: Link | undefined;
  /** @internal The promises that it is lent to. */
  declare holds?: Set<Promise<void>>;
  /** @internal The resource of the route's step before; it ends after this one. */
  declare intermediate?: Resource | undefined;
  /** @internal True if its end has begun the intermediate's. */
  declare drivesIntermediate?: boolean;
  /** @internal The name of the owner that it was disposed with. */
  declare endedBy?: string;
  /** What happened to it, in messages, if it was disposed by something that has a name of its own: `"published"`. */
  ending: string = "disposed";
  /** The name of what has taken it over, which alone may use it from then on. */
  declare takenBy?: string | undefined;
  /** @internal What a program can do to have it end, where something else has to end it. */
  declare remedy?: string | undefined;
  /** @internal True once `disposeAsync` reports its end to the program. */
  declare awaited?: boolean;
  /** @internal True once its work is over, and only the commands that return the bytes are in flight. */
  declare onlyReturns?: boolean;
  /** @internal What has failed, and was not reported yet. */
  failures: readonly Failed[] = NONE_FAILED;
  /** @internal What waits for its work have thrown: its end does not throw that again. */
  declare thrown?: Set<unknown>;
  /** @internal What it is an intermediate of, or a part of one, and which part. */
  declare madeFor?: { readonly resource: Resource; readonly part?: number };
  readonly #parts: readonly Resource[];
  /** True once a blocking dispose has driven its end, or left it to the background. */
  #blocked = false;

  /** Takes `undo` and `grants` over. */
  constructor({ name, undo = [], grants = NO_GRANTS, owners, parts = NO_PARTS, giveBack, hooks }: ResourceInit) {
    super();
    this.name = name;
    this.grants = grants;
    this.undo = undo;
    this.giveBack = giveBack;
    if (hooks !== undefined) this.hooks = hooks;
    const origin = originOf();
    if (origin !== undefined) this.origin = origin;
    this.#parts = parts;
    for (let i = 0; i < parts.length; i++) adopt(this, parts[i]);
    for (let i = 0; i < grants.length; i++) {
      grants[i].resource = this;
      if (grants[i].isOwner) this.work.owners = grants;
      const lender = grants[i].loan?.parent?.resource;
      if (lender !== undefined) adopt(lender, this);
    }
    if (owners === undefined) return;
    for (let i = 0; i < owners.length; i++) if (owners[i] !== undefined) adopt(owners[i]!, this);
  }

  /** Its name, and whether it has ended. */
  toString(): string {
    return withFacts(this.name, [this.end]);
  }

  /** How it has ended, in a word; undefined while it can be used. */
  get end(): string | undefined {
    if (!this.isLive) return this.ending;
    return this.takenBy === undefined ? undefined : `taken over by ${this.takenBy}`;
  }

  /** True until its end begins. */
  get isLive(): boolean {
    return this.state === "live";
  }

  /**
   * True once its bytes are on their way back, and only work in flight holds them; for an intermediate, its owner's.
   */
  get onTheWayBack(): boolean {
    if (this.state === "live") return this.madeFor?.resource.onTheWayBack ?? false;
    return this.state === "returning" || (this.state === "closing" && !this.held);
  }

  /** True if that is so, and all commands that return its bytes are submitted: they are back once its work is over. */
  get awaitsWorkAlone(): boolean {
    return this.state === "returning" && this.giveBack === undefined;
  }

  /** The resource that it was made for: itself, unless it is an intermediate of a longer map, or a part of one. */
  get purpose(): Resource {
    if (this.madeFor === undefined) return this;
    const { resource: { purpose }, part } = this.madeFor;
    return part === undefined ? purpose : purpose.#parts[part] ?? purpose;
  }

  /** True while recorded work is unfinished. */
  get busy(): boolean {
    return this.work.next() !== undefined;
  }

  /** True while it or a dependent is lent to a promise. */
  get held(): boolean {
    return subtreeOf(this).some((resource) => resource.holds !== undefined && resource.holds.size > 0);
  }

  /** What a program can do to have it and its dependents end, where something else has to end them. */
  get wayOut(): string | undefined {
    return subtreeOf(this).find(({ remedy }) => remedy !== undefined)?.remedy;
  }

  /** Throws a {@link DisposedError} unless it is live, and an {@link AccessError} if it was taken over. */
  assertLive(): void {
    if (this.state !== "live" || this.takenBy !== undefined) throw this.#whyUnusable();
  }

  #whyUnusable(): DisposedError | AccessError {
    if (this.state === "live") {
      const what = `${this.name} can no longer be used: ${this.takenBy} has taken it over.`;
      return new AccessError(what, { api: "core" });
    }
    const { name, ending, endedBy } = this;
    const what = endedBy === undefined ? `${name} was ${ending}.` : `${name} was ${ending} with ${endedBy}.`;
    if (ending !== "disposed") {
      return new DisposedError(what, { api: "core", hint: "Use it before that, or a new one." });
    }
    if (endedBy === undefined) return new DisposedError(what, { api: "core" });
    const hint = `Keep ${endedBy} until the last use of all that depends on it.`;
    return new DisposedError(what, { api: "core", hint });
  }

  /** The same of it and of its parts, each of which may have ended by itself. */
  assertWhole(): void {
    this.assertLive();
    for (let i = 0; i < this.#parts.length; i++) this.#parts[i].assertLive();
  }

  /** Disposing `owner` disposes this first. Idempotent. */
  dependOn(owner: Resource): void {
    for (let link = this.memberships; link !== undefined; link = link.next) if (link.owner === owner) return;
    adopt(owner, this);
  }

  /** Ends it at once: it was made after the end of its owner. Failures on its bytes are left for their next user. */
  endLate(owner: Resource): void {
    this.partFrom(owner);
    this.ending = owner.ending;
    this.endedBy = owner.name;
    this.state = "freed";
    for (const grant of this.grants) grant.finish();
  }

  /** Takes {@link dependOn} back. */
  partFrom(owner: Resource): void {
    leave(this, owner);
  }

  /** Ends `intermediate`, the result of the route's step before, after itself. */
  own(intermediate: Resource): void {
    if (this.intermediate !== undefined) return this.intermediate.own(intermediate); // a chain has made one already
    intermediate.madeFor = { resource: this };
    for (const [i, part] of intermediate.#parts.entries()) part.madeFor = { resource: this, part: i };
    this.intermediate = intermediate;
  }

  /**
   * Takes away the views that conflict with a map, or with the earlier steps of its route, unless those have ended.
   *
   * @throws {AccessError} if a view cannot be taken away.
   */
  takeViews(): void {
    if (this.state !== "freed") { for (let i = 0; i < this.grants.length; i++) this.grants[i].revokeConflicting(); }
    for (let i = 0; i < this.#parts.length; i++) this.#parts[i].takeViews();
    this.intermediate?.takeViews();
  }

  /** Records the earlier work on its bytes. */
  inherit(fences: readonly Fence[]): void {
    for (const fence of fences) this.work.add(fence);
  }

  /**
   * Records work that a program declares.
   *
   * @param writes false if that work only reads
   * @throws {ArgumentError} if `fence` is not a fence.
   * @throws {DisposedError} if it or a part was disposed.
   */
  usedBy(fence: Fence, writes: boolean = true): void {
    fenceIn(fence, "fence");
    this.assertWhole();
    if (this.#parts.length === 0) return this.work.add(fence, writes);
    for (const part of this.#parts) part.usedBy(fence, writes);
  }

  /** Records a command in flight: on the parts, if it is made of such, for each may be used by itself. */
  record(line: Line, mark: number, wrote: boolean): void {
    if (this.#parts.length === 0) return this.work.record(line, mark, wrote);
    for (const part of this.#parts) part.record(line, mark, wrote);
  }

  /** A wait for its work throws an error to the program: its end does not throw that again. */
  noteThrown(error: unknown): void {
    (this.thrown ??= new Set()).add(error);
  }

  /** Holds off the end until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const holds = this.holds ??= new Set();
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
    if (!begin(this) && (this.state === "freed" || this.#blocked || !isAwaited(this))) return;
    this.#blocked = true;
    driveSync(this);
  }

  /** Ends it without blocking the event loop, or waits for an end that has begun. @throws like {@link dispose}. */
  async disposeAsync(): Promise<void> {
    const ending = this.disposeSoon();
    if (ending !== undefined) await ending;
  }

  /** The same; undefined where there is nothing to wait for: then it has ended. @throws like {@link dispose}. */
  disposeSoon(): Promise<void> | undefined {
    begin(this);
    this.awaited = true;
    if (advance(this) !== undefined) return this.#driven();
    raiseFailures(this);
  }

  async #driven(): Promise<void> {
    await drive(this);
    raiseFailures(this);
  }

  /** Ends it once `fence` is reached; returns at once. The bytes keep a failure. */
  disposeAfter(fence: Fence): void {
    this.usedBy(fence);
    begin(this);
    for (const part of this.#parts) advance(part); // each is on its way back at once: they do not wait for each other
    driveInBackground(this);
  }

  /** The same, but nothing waits in the background: who uses the bytes next, or ends an owner, looks whether it is over. */
  returnAfter(fence: Fence): void {
    this.usedBy(fence);
    begin(this);
  }

  /** Ends it (an intermediate: what it was made for) from a finalizer: in the background, with a warning. */
  finalize(): void {
    if (this.state === "live" && this.madeFor !== undefined) return this.madeFor.resource.finalize();
    const [inUse] = this.state === "live" ? this.holds ?? [] : [];
    if (inUse !== undefined) return void inUse.then(() => this.finalize()); // its call's promise may be all that is held
    const holdsNothing = this.#parts.length > 0 && this.#parts.every((part) => !part.isLive);
    if (!begin(this)) return;
    if (!holdsNothing) {
      const what = `${this.name} was never disposed; it is now, by the garbage collector. Use \`using\` or dispose it.`;
      warn(what + originInWords(this.origin));
    }
    driveInBackground(this);
  }

  /** Drives an end that has begun (for an intermediate: the end of its purpose), blocking. @throws all failures. */
  settle(): void {
    if (this.state === "live") return this.madeFor?.resource.settle();
    driveSync(this);
  }

  /** The same where only commands that give the bytes back are left; else it waits for nothing. @throws all failures. */
  settleIfOver(): void {
    if (this.state === "live") return this.madeFor?.resource.settleIfOver();
    driveIfOver(this);
  }

  /** The same as `settle` without blocking the event loop. The bytes keep a failure. */
  async settleAsync(): Promise<void> {
    if (this.state === "live") await this.madeFor?.resource.settleAsync();
    else await driveInBackground(this, waitPatiently);
  }
}
