import { Printed, withFacts } from "../printed.ts";
import { type Access, covers, reads } from "../memory/access.ts";
import { type Fence, unlessAborted, type WaitOptions } from "../device/fence.ts";
import type { Line, Usable } from "../device/line.ts";
import type { Work } from "../device/work.ts";
import type { Target } from "../graph/context.ts";
import { AccessError, throwAll } from "../errors.ts";
import { raiseFailures } from "../life/ending.ts";
import { registerLater, type Token, unregister } from "../life/finalizers.ts";
import { shortList } from "../life/undo.ts";
import type { Grant } from "../memory/grant.ts";
import { type Described, PlacedPlane } from "./described.ts";
import type { Resource } from "../life/resource.ts";
import { ORIGIN, type Route } from "../graph/route.ts";

const NOBODY: readonly Grant[] = [];
const NO_FENCES: readonly Fence[] = [];

/** What every tensor and frame is made of. */
export interface MappedInit {
  /** The kind of memory, and its context. */
  readonly target: Target;
  /** What it was mapped or sliced from; kept alive. */
  readonly parent?: Mapped | undefined;
  /** Its end of life; its grants are this object's. A plane of a frame shares the frame's until it needs its own. */
  readonly resource: Resource | PlacedPlane;
}

const NONE: readonly Mapped[] = [];

let ids = 0;

/** A tensor or a frame: something that can be mapped. Disposing what was mapped is the unmap. */
export abstract class Mapped extends Printed implements Usable, Disposable, AsyncDisposable {
  /** Its number in this process. Unlike an address or a handle, it never comes again. For mappers. */
  readonly id: number = ++ids;
  /** The kind of memory, and its context. */
  readonly target: Target;
  /** What it was mapped or sliced from. */
  readonly parent: Mapped | undefined;
  #resource: Resource | undefined;
  /** @internal The garbage collector watches this in its place; set only on objects that are lent repeatedly. */
  declare token?: Token | undefined;
  /** What it is a part of, while that has one end of life for both. */
  readonly #part: PlacedPlane | undefined;
  #route: Route | (() => Route) = ORIGIN;
  #described: Described | undefined;
  /** The frames that were made of it: it keeps them alive, as they keep it. */
  #frames: readonly Mapped[] = NONE;

  /** Takes the resource over. */
  constructor(init: MappedInit) {
    super();
    this.target = init.target;
    this.parent = init.parent;
    const { resource } = init;
    if (resource instanceof PlacedPlane) {
      this.#part = resource;
      return;
    }
    this.#resource = resource;
    resource.target = init.target;
    const { tokenHome } = resource;
    if (tokenHome === undefined) registerLater(this, resource);
    else this.token = tokenHome.take(resource);
  }

  /** Its end of life. For mappers. */
  get resource(): Resource {
    return this.#resource ?? this.#ownResource();
  }

  #ownResource(): Resource {
    const resource = this.#part!.resource();
    resource.target = this.target;
    return this.#resource = resource;
  }

  /** True for what this class has made, and not for a proxy of it. For mappers. */
  static owns(value: unknown): value is Mapped {
    return typeof value === "object" && value !== null && #frames in value;
  }

  /** In words, for messages: `host tensor [4,4] u8`. */
  get name(): string {
    return this.resource.name;
  }

  /** The bytes it holds; one, but for frames whose planes lie in several allocations. */
  get grants(): readonly Grant[] {
    return this.resource.grants;
  }

  /** How it came here from `parent`: each step, its transfer, and how many bytes moved. */
  get route(): Route {
    if (typeof this.#route === "function") this.#route = this.#route();
    return this.#route;
  }

  /** What it may be used for: the least of its grants. */
  get access(): Access {
    if (this.#resource === undefined) return this.#part!.access;
    const { grants } = this;
    for (let i = 0; i < grants.length; i++) if (grants[i].access !== "read-write") return grants[i].access;
    return "read-write";
  }

  /** What a route has to know of it: nothing of that ever changes. */
  get described(): Described {
    return this.#described ??= this.describe();
  }

  /** Makes {@link described}. */
  protected abstract describe(): Described;

  /** Its work, the work of its parts, of what it is a part of, and of its peers. For mappers. */
  get works(): readonly Work[] {
    const works: Work[] = [];
    this.#eachWork((work, works) => works.push(work), works);
    return works;
  }

  /** The work in flight that a writer of its bytes has to wait for. */
  get work(): Fence[] {
    return this.workBefore("write");
  }

  /** The work in flight that a map has to wait for. For mappers. */
  workBefore(access: Access): Fence[] {
    const fences: Fence[] = [];
    this.#eachWork(access === "read" ? addFencesBeforeReading : addFences, fences);
    return fences;
  }

  /** Work that samepage did not submit, and that such an access has to wait for: kernel fences. For backends. */
  outsideWork(access: Access): readonly Fence[] {
    const { parts } = this;
    let found = NO_FENCES;
    for (let i = 0; i < parts.length; i++) {
      const fences = parts[i].outsideWork(access);
      if (fences.length > 0) found = found.concat(fences);
    }
    return found;
  }

  /** What to wait for next, of all that work. */
  protected get unfinished(): Fence | undefined {
    const fences: Fence[] = [];
    this.#eachWork((work, found) => {
      const next = found.length === 0 ? work.next() : undefined;
      if (next !== undefined) found.push(next);
    }, fences);
    return fences[0];
  }

  /**
   * What was lent of its bytes, by it or by what it is a part of, and is on the way back. The holder of a map knows the
   * map's work; a disposed map has no holder.
   */
  get #returning(): readonly Grant[] {
    return this.grants.flatMap((grant) => {
      const target = grant.resource?.target ?? this.target; // a frame's images may be of several formats
      let owner = grant;
      while (owner.parent?.resource?.target === target) owner = owner.parent;
      return owner.returningIn(grant.start, grant.end);
    });
  }

  #raiseFailures(): void {
    raiseFailures(this.resource, "waiting for");
    for (const part of this.parts) if (part.#resource !== undefined) part.#raiseFailures();
  }

  /** Visits all works that may be in flight, with `to`, so that no visitor has to be a closure. */
  #eachWork<T>(visit: (work: Work, to: T) => unknown, to: T): void {
    const { parts, resource: { work } } = this;
    if (work.line !== undefined) visit(work, to);
    for (let i = 0; i < parts.length; i++) if (parts[i].#resource !== undefined) parts[i].#eachWork(visit, to);
    for (let at = this.parent; at?.target === this.target; at = at.parent) {
      if (at.resource.work.line !== undefined) visit(at.resource.work, to);
    }
    const peers = peersOf(this);
    for (let i = 0; i < peers.length; i++) visit(peers[i].resource!.work, to);
  }

  /** For mappers. @see {@link Usable.isReadyFor} */
  isReadyFor(line: Line, access: Access): boolean {
    const { resource } = this;
    const { grants, work } = resource;
    if (!resource.isLive || grants.length !== 1 || this.parts.length > 0) return false;
    const { allocation, loan } = grants[0];
    return work.isClearFor(line) && allocation.liveViews === 0 && allocation.roots.size < 2 && loan === undefined &&
      this.parent?.target !== this.target &&
      covers(grants[0].access, access) && grants[0].lendsNothing;
  }

  /** For mappers. @see {@link Usable.revokeViews} */
  revokeViews(access: Access): void {
    for (const grant of this.grants) grant.revokeConflicting(access);
  }

  /** What it is made of: a frame, of its planes. */
  protected get parts(): readonly Mapped[] {
    return NONE;
  }

  /** Leaves the finalizer to the whole: it ends with its parts, and either keeps the other from being collected. */
  protected static endWithWhole(parts: readonly Mapped[]): void {
    for (const { resource } of parts) unregister(resource);
  }

  /** Ends another after itself, and is the one whose finalizer would. For mappers. */
  own(intermediate: Mapped): void {
    this.resource.own(intermediate.resource);
    unregister(intermediate.resource);
  }

  /** It is a plane of `frame` now, and keeps it alive. For mappers. */
  joinFrame(frame: Mapped): void {
    this.#frames = [...this.#frames, frame];
  }

  /** Lends all of it to a child of the same kind. */
  abstract borrow(access: Access): Mapped;

  /**
   * May it be used so, now? Returns the grants whose bytes are on their way back and have to be waited for. For mappers.
   *
   * @throws {DisposedError} where it, a tensor that it is made of, or what it came from, was disposed.
   * @throws {AccessError} where its bytes are lent out, or its access does not cover this one.
   */
  usable(access: Access): readonly Grant[] {
    if (this.#resource === undefined && this.#part!.isFree(access)) return NOBODY;
    this.resource.assertLive();
    const { grants } = this;
    return grants.length === 1 ? grants[0].conflicts(access) : conflictsOf(grants, access);
  }

  /** Like {@link usable} where nothing waits: bytes on their way back are a conflict. For mappers. */
  assertUsable(access: Access): void {
    this.assertReturned(this.usable(access));
  }

  /**
   * Waits, without blocking, until the bytes have come back that {@link usable} finds on their way now. They keep what
   * fails: {@link raiseKept}. For mappers.
   *
   * @throws like {@link usable}; the signal's reason.
   */
  async returned(access: Access, { signal }: WaitOptions = {}): Promise<void> {
    for (const { resource } of this.usable(access)) {
      signal?.throwIfAborted();
      const settled = resource!.settleAsync();
      await (signal === undefined ? settled : unlessAborted(settled, signal));
    }
  }

  /** Those of these grants whose bytes are on their way back, and have unfinished work. The others come back here. */
  protected stillReturning(returning: readonly Grant[]): readonly Grant[] {
    return returning.length === 0 ? NOBODY : unsettled(returning);
  }

  /** Throws an {@link AccessError} where {@link stillReturning} finds any. */
  protected assertReturned(returning: readonly Grant[]): void {
    const still = this.stillReturning(returning);
    if (still.length > 0) throw this.#notReturned(still[0]);
  }

  #notReturned(unfinished: Grant): AccessError {
    const wayOut = unfinished.resource?.wayOut;
    const hint = wayOut === undefined
      ? "Await tensor.finished() first: it waits until they are back."
      : `${wayOut} Then await tensor.finished().`;
    const what = wayOut === undefined ? "on their way back from" : "still lent to";
    return new AccessError(`${this.name} cannot be used yet: its bytes are ${what} ${unfinished.holder}.`, {
      api: "core",
      hint,
    });
  }

  /** Throws, once, all that failed on these bytes after its dispose had returned. For mappers. */
  raiseKept(): void {
    const { grants } = this;
    let errors: unknown[] | undefined;
    for (let i = 0; i < grants.length; i++) {
      const { allocation, start, end } = grants[i];
      for (let kept; (kept = allocation.takeFailure(start, end));) (errors ??= []).push(kept.error);
    }
    if (errors !== undefined) throwAll(errors, `${this.name} was on its way back`);
  }

  /** The weakest access that it offers: what a look at its handle needs. */
  protected get leastAccess(): Access {
    return reads(this.access) ? "read" : "write";
  }

  /**
   * Declares work on its `handle` that samepage did not submit: its end waits for the fence.
   *
   * @throws {DisposedError} where it was disposed.
   */
  usedBy(fence: Fence): void {
    this.resource.usedBy(fence);
  }

  /**
   * Waits until all work on it is done that was submitted so far, by whichever API, without blocking and without the
   * unmap: it stays as it is. Work on what is mapped from it is the map's: ask that one. A map of its bytes that was
   * disposed and is on the way back is waited for until the bytes have come back.
   *
   * @throws what made the work, or the way back, fail; its dispose does not throw that again.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using tensor = cl.allocate({ shape: [1024], dtype: "f32" });
   * cl.queue.fill(tensor, 1);
   * await tensor.finished();
   * ```
   */
  async finished(): Promise<void> {
    this.resource.assertLive();
    try {
      for (const fence of this.outsideWork("read-write")) await fence.wait();
      const returning = this.#returning;
      for (const { resource } of returning) await resource!.settleAsync();
      if (returning.length > 0) this.raiseKept();
      for (let fence = this.unfinished; fence !== undefined; fence = this.unfinished) await fence.wait();
      this.#raiseFailures(); // of work that was over before
    } catch (error) {
      this.resource.noteThrown(error);
      throw error;
    }
  }

  /**
   * Disposes it once `fence` is reached, and returns at once. Until then its bytes are "returning": the host may not
   * touch them, while maps of them, and commands on what it was made of, wait for that by themselves. What fails later is
   * thrown, once, by the next map, view or dispose of them.
   */
  disposeAfter(fence: Fence): void {
    this.resource.disposeAfter(fence);
    unregister(this.resource, this);
  }

  /** In one line: its name, its route, and whether it was disposed. `console.log` shows the same. */
  toString(): string {
    return withFacts(this.name, this.facts());
  }

  /** What {@link toString} says besides its name. */
  protected facts(): (string | undefined)[] {
    return [...this.route.steps.map(({ edge, transfer }) => `${edge} ${transfer}`), this.resource.end];
  }

  /** What `JSON.stringify` makes of it: a description, without its bytes. */
  abstract override toJSON(): object;

  /** Set by the graph, once. For mappers. */
  arrivedBy(route: Route | (() => Route)): void {
    this.#route = route;
  }

  /**
   * Gives the bytes back to `parent`, after all work recorded on it is done; blocks until then, also where
   * `[Symbol.asyncDispose]` has begun that. Idempotent. After {@link disposeAfter}, and while a promise holds the bytes, it
   * returns at once.
   */
  [Symbol.dispose](): void {
    const resource = this.#resource ?? this.#ownResource();
    unregister(resource, this);
    resource.dispose();
  }

  /** The same without blocking the event loop; lends in flight are waited for too. */
  [Symbol.asyncDispose](): Promise<void> {
    unregister(this.resource, this);
    return this.resource.disposeAsync();
  }

  /** The same; undefined where there is nothing to wait for: then it has ended. For mappers. */
  disposeSoon(): Promise<void> | undefined {
    unregister(this.resource, this);
    return this.resource.disposeSoon();
  }
}

function addFences(work: Work, fences: Fence[]): void {
  fences.push(...work.fences);
}

function addFencesBeforeReading(work: Work, fences: Fence[]): void {
  fences.push(...work.fencesBefore(false));
}

/** A function of its own, as the others here: one that makes closures allocates when it begins. */
function conflictsOf(grants: readonly Grant[], access: Access): readonly Grant[] {
  return grants.flatMap((grant) => grant.conflicts(access));
}

function unsettled(returning: readonly Grant[]): readonly Grant[] {
  for (const { resource } of returning) resource!.settleIfOver();
  return returning.filter((grant) => grant.returning);
}

/** The grants of the owners of the same bytes as a tensor: as what it is a part of, where that was not lent either. */
function peersOf(mapped: Mapped): readonly Grant[] {
  let owner = mapped.resource;
  for (let at = mapped.parent; at?.target === mapped.target; at = at.parent) owner = at.resource;
  const { grants } = owner;
  if (grants.length === 0) return NOBODY;
  if (grants.length === 1) return grants[0].allocation.busy.size === 0 ? NOBODY : grants[0].busyPeers;
  return busyPeersOf(grants, mapped);
}

function busyPeersOf(grants: readonly Grant[], mapped: Mapped): readonly Grant[] {
  const blocks = mapped.grants.map(({ allocation }) => allocation);
  return grants.flatMap((grant) => blocks.includes(grant.allocation) ? grant.busyPeers : NOBODY);
}

/** Lends all of its bytes. */
export function lentBy({ grants }: Mapped, access: Access, name: string): Grant[] {
  const lent = shortList<Grant>();
  for (let i = 0; i < grants.length; i++) lent.push(grants[i].lend(access, grants[i].start, grants[i].end, name));
  return lent;
}
