import { Printed, withFacts } from "../printed.ts";
import { type Access, accessOf } from "../memory/access.ts";
import { aKind, literal, type Names, NO_OPTIONS, object, optionsIn, unexpected } from "../argument.ts";
import { type Context, contextInWords, nameOf, portsOf, type Target } from "./context.ts";
import { AccessError, ArgumentError, reasonOf, type Refusal, throwAll, withRemedy } from "../errors.ts";
import { allowed, Edges, type Found, type FoundStep, search } from "./search.ts";
import { Checks, isBytes, OF_BYTES } from "../checks.ts";
import { type Fence, fenceIn } from "../device/fence.ts";
import type { Grant } from "../memory/grant.ts";
import { Frame } from "../tensors/frame.ts";
import { lentBy, Mapped } from "../tensors/mapped.ts";
import { ask, isStep, linesInWords, make, type Mapper, type ProbedStep } from "./mapper.ts";
import { Resource } from "../life/resource.ts";
import { newUndo, type Undo, unwind } from "../life/undo.ts";
import { noEdge, noRoute, Route, type Step } from "./route.ts";
import type { Tensor } from "../tensors/tensor.ts";

/** Options of {@link Graph.map}. */
export interface MapOptions {
  /** How the result will be used; the source's own access by default. */
  readonly access?: Access;
  /** Your own work on the source's bytes, which has to finish before the map touches them. */
  readonly after?: Fence;
  /** Whether a step may copy bytes. `"never"` by default: a route with such a step is refused. */
  readonly copy?: "never" | "allow";
}

const checks: Checks = new Checks("core");

const OPTIONS: Names<MapOptions> = { access: true, after: true, copy: true };
const COPY = { never: true, allow: true };

/** The tensors of a target: of `typeof cv.mat | typeof cv.umat`, a Mat or a UMat. */
export type TensorOf<G extends Target> = G extends Target<infer T> ? T : never;

/** What a map to a target makes: a frame of a frame, a tensor of a tensor. */
export type MapOf<S extends Tensor | Frame, G extends Target> = S extends Frame ? Frame<TensorOf<G>> : TensorOf<G>;

/** Contexts and the edges between them. It finds the route from one memory to another, maps along it, and explains it. */
export class Graph extends Printed implements Disposable {
  readonly #edges: Edges;
  readonly #targets: readonly Target[];
  readonly #contexts: readonly Context[];
  readonly #resource = new Resource({ name: "the mapper graph" });

  /** A graph over these contexts, which you still own. Where costs are equal, the table's first edge wins. */
  constructor(
    contexts: Iterable<Context>,
    mappers: Iterable<Mapper> | ((contexts: readonly Context[]) => Iterable<Mapper>),
  ) {
    super();
    if (isContext(contexts)) throw noList(contexts);
    this.#contexts = [...new Set(checks.listIn(contexts, "contexts"))];
    for (const context of this.#contexts) {
      if (!Array.isArray(object(context, "contexts").targets)) throw noContext(context);
    }
    this.#targets = this.#contexts.flatMap((context) => context.targets);
    const edges = typeof mappers === "function" ? mappers(this.#contexts) : mappers;
    this.#edges = new Edges(checks.listIn(edges, "mappers"));
  }

  /**
   * Maps to a target along the cheapest route: the fewest copies, then migrations, host waits and steps. Disposing the
   * result unmaps it. While it lives, the source's bytes are lent.
   *
   * @throws {NoRouteError} if every route is closed; `refused` says why.
   * @throws {AccessError} if the bytes are lent to another holder.
   * @throws {DisposedError} if source, target or graph was disposed.
   */
  map<S extends Tensor | Frame, G extends Target>(source: S, target: G, options: MapOptions = NO_OPTIONS): MapOf<S, G> {
    const asked = options === NO_OPTIONS ? NOTHING_ASKED : optionsOf(options);
    this.#assertPossible(source, target);
    let ready = readyFor(source, asked);
    source.raiseKept();
    const waited = ready.returning.length > 0 && settleUnsubmitted(ready.returning);
    if (waited) ready = readyFor(source, asked);
    const { steps, refused } = this.#search(source, target, ready, asked.copy);
    if (steps === undefined) throw noRoute(source.name, nameOf(target), refused);
    const { mapped, taken } = this.#walk(source, steps, ready, asked.copy === "allow");
    mapped.arrivedBy(() => new Route(stepsOf(taken, waited), refused));
    return mapped as MapOf<S, G>;
  }

  /**
   * The route that `map` would take, with the transfer of each step, and why better routes are closed. If none is open, or
   * the bytes are lent, it has refusals only.
   *
   * @throws like {@link map}, but neither NoRouteError nor, for lent bytes, AccessError: the closed route has the reason.
   */
  explain(source: Mapped, target: Target, options: MapOptions = NO_OPTIONS): Route {
    const asked = optionsOf(options);
    this.#assertPossible(source, target);
    const held = heldBy(source, asked.access ?? source.access);
    if (held !== undefined) {
      return new Route([], [{ edge: `${source.target.kind}→${target.kind}`, ...reasonOf(held) }], false);
    }
    const ready = readyFor(source, asked);
    const { steps, refused } = this.#search(source, target, ready, asked.copy);
    if (steps === undefined) return new Route([], refused, false);
    const waited = ready.returning.some(isUnsubmitted);
    return new Route(stepsOf(steps, waited), refused, true, steps.length === 0 ? whyLentWaits(ready) : undefined);
  }

  /** Its contexts, in one line. `console.log` shows the same. */
  toString(): string {
    const contexts = this.#contexts.map(contextInWords);
    return withFacts(`mapper graph of ${contexts.join(", ")}`, [this.#resource.end]);
  }

  /** Disposes every map made through this graph; the contexts stay open. */
  [Symbol.dispose](): void {
    this.#resource.dispose();
  }

  /** Disposes them without blocking the event loop. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resource.disposeAsync();
  }

  #assertPossible(source: Mapped, target: Target): void {
    if (!Mapped.owns(source)) throw noSource(source);
    const { context, kind } = (target ?? {}) as Partial<Target>;
    if (typeof context !== "object" || typeof kind !== "string") throw noTarget(target); // queues have a context, too
    this.#resource.assertLive();
    target.context.resource?.assertLive();
    if (!this.#contexts.includes(source.target.context)) throw notInGraph(source.target.context, "source");
    if (!this.#contexts.includes(target.context)) throw notInGraph(target.context, "target");
  }

  #search(source: Mapped, goal: Target, { access, waits }: Ready, copy: MapOptions["copy"]): Found {
    const query = { source: source.described, goal, access, waits, copies: copy === "allow" };
    const found = search(query, this.#edges, this.#targets);
    const { steps, refused } = found;
    if (refused.length > 0) return withCopies(found, source);
    return steps === undefined ? this.#noEdge(source, goal) : found;
  }

  #noEdge(source: Mapped, goal: Target): Found {
    const [from, to] = [source.target.kind, goal.kind];
    const there = this.#targets.map(({ kind }) => kind);
    return { steps: undefined, refused: [noEdge({ from, to, edgesFrom: this.#edges.sourcesOf(to), there })] };
  }

  /** A map to where the source is already lends the same bytes once more. */
  #borrowed(source: Mapped, access: Access): Mapped {
    const borrowed = source.borrow(access);
    borrowed.resource.dependOn(this.#resource);
    return borrowed;
  }

  #walk(
    source: Mapped,
    steps: readonly FoundStep[],
    ready: Ready,
    copies: boolean,
  ): { readonly mapped: Mapped; readonly taken: readonly FoundStep[] } {
    const { access } = ready;
    if (steps.length === 0) {
      waitFor(ready);
      return { mapped: this.#borrowed(source, access), taken: steps };
    }
    // The host waits before the first step, whichever step needs it: if the wait is refused, no step has been taken.
    let waited = false;
    for (let i = 0; i < steps.length; i++) waited ||= steps[i].step.hostWait;
    const { mapper, target, step } = steps[0];
    const first = waited
      ? takeAfterWait(mapper, source, target, access, step, ready, copies)
      : { mapped: takeStep(mapper, source, target, access, step, ready), step };
    let at = first.mapped;
    let taken = waited ? steps.with(0, { mapper, target, step: first.step }) : steps;
    try {
      at.resource.dependOn(this.#resource);
      for (let i = 1; i < steps.length; i++) {
        const { mapper, target } = steps[i];
        const next = takeNextStep(mapper, at, target, access, copies);
        at = next.mapped;
        at.resource.dependOn(this.#resource);
        taken = taken.with(i, { mapper, target, step: next.step });
      }
      at.resource.takeViews(); // last: if a step fails, the views are as they were
    } catch (error) {
      throwAll([error, ...disposed(at)], `mapping ${source.name}`);
      throw error;
    }
    return { mapped: at, taken };
  }
}

/** Where a gap closes an edge, and there is nothing else to do about it: a copy has none. */
function withCopies({ steps, refused }: Found, { target }: Mapped): Found {
  const call = portsOf(target)?.denseCopy;
  const remedy = `Copy it to memory without gaps${call === undefined ? "" : `: ${call}`}.`;
  const isOfGaps = (one: Refusal) => one.remedy === undefined && one.argument?.startsWith("strides") === true;
  return { steps, refused: refused.map((one) => isOfGaps(one) ? { ...one, remedy } : one) };
}

export interface Pending {
  readonly waits: readonly Fence[];
  /** The holders that are giving the bytes back. */
  readonly returning: readonly Grant[];
}

interface Ready extends Pending {
  readonly access: Access;
}

interface Asked {
  readonly access: Access | undefined;
  readonly after: Fence | undefined;
  readonly copy: MapOptions["copy"];
}

/** What to wait for before the bytes are touched. @throws {AccessError} if they are lent; what made `after` fail. */
function readyFor(source: Mapped, asked: Asked): Ready {
  const access = asked.access ?? source.access;
  const returning = source.usable(access);
  const waits = source.workBefore(access);
  const outside = source.outsideWork(access);
  if (outside.length > 0) waits.push(...outside);
  for (let i = 0; i < returning.length; i++) waits.push(...returning[i].resource!.work.fences);
  // One that is over needs no wait: a device could not wait for a promise that has settled.
  if (asked.after?.reached() === false) waits.push(asked.after);
  return { access, returning, waits };
}

/** Why the bytes cannot be used with this access now: they are lent, or were lent for less. */
function heldBy(source: Mapped, access: Access): AccessError | undefined {
  try {
    source.usable(access);
  } catch (error) {
    if (error instanceof AccessError) return error;
    throw error;
  }
}

const NOTHING_ASKED: Asked = { access: undefined, after: undefined, copy: undefined };

const NOTHING: Pending = { waits: [], returning: [] };

/**
 * One step: lends the bytes and maps, or leaves everything as it was. Views stay: {@link Resource.takeViews} takes them away
 * once all steps are taken.
 * @throws {AccessError} if the bytes were lent since the search.
 */
export function takeStep(
  mapper: Mapper,
  source: Mapped,
  target: Target,
  access: Access,
  step: ProbedStep,
  pending: Pending,
): Mapped {
  if (step.parts !== undefined) return takePlanes(mapper, source as Frame, access, step.parts, pending);
  const lent = source.usable(access); // checked again: while the host waited, bytes may have come back
  for (let i = 0; i < lent.length; i++) if (!pending.returning.includes(lent[i])) throw lentMeanwhile(source, lent[i]);
  const name = `${mapOf(target)}${source.resource.name}`;
  const grants = lentBy(source, access, name);
  const undo = newUndo();
  let mapped: Mapped;
  try {
    mapped = make(mapper, source, target, { step, grants, waits: pending.waits, undo, name });
  } catch (error) {
    const failures = givenUp(undo, grants);
    throwAll([error, ...failures], `mapping ${source.name}`);
    throw error;
  }
  if (pending.returning.length > 0) coverBy(grants, pending.returning);
  return mapped;
}

/** The planes of a frame that lie in several blocks, or become images, are mapped one by one: all of them, or none. */
function takePlanes(
  mapper: Mapper,
  source: Frame,
  access: Access,
  steps: readonly ProbedStep[],
  pending: Pending,
): Frame {
  const planes: Tensor[] = [];
  try {
    for (const [i, plane] of source.planes.entries()) {
      planes.push(takeStep(mapper, plane, steps[i].result.target, access, steps[i], pending) as Tensor);
    }
    const frame = Frame.of(planes, source.info, source.metadata);
    frame.resource.dependOn(source.resource);
    return frame;
  } catch (error) {
    const failures = planes.reverse().flatMap(disposed);
    throwAll([error, ...failures], `mapping ${source.name}`);
    throw error;
  }
}

function lentMeanwhile(source: Mapped, { holder }: Grant): AccessError {
  return new AccessError(`${source.name} has been lent to ${holder}.`, { api: "core" });
}

function coverBy(grants: readonly Grant[], returning: readonly Grant[]): void {
  for (const earlier of returning) {
    if (earlier.resource!.giveBack !== undefined) continue; // it may have commands left to submit
    for (const grant of grants) earlier.coverBy(grant);
  }
}

/**
 * Undoes what a failed mapper did. A resource that it made may have commands left, which would use what is undone. A chain
 * has begun the end of what it made, which ends the grants, too.
 */
function givenUp(undo: Undo, grants: readonly Grant[]): readonly unknown[] {
  const { resource } = grants[0];
  if (resource?.isLive === false) return [];
  if (resource !== undefined) resource.giveBack = undefined;
  const failures = [...unwind(undo), ...unwind([() => resource?.dispose()])];
  for (const grant of grants) grant.finish();
  return failures;
}

/**
 * Disposes a map; returns what fails. Views go where its end goes on in the background, because its commands have the bytes
 * until then. A function of its own, so that a map that succeeds makes no closure.
 */
export function disposed(mapped: Mapped): readonly unknown[] {
  return unwind([() => mapped.resource.takeViews(), () => mapped[Symbol.dispose]()]);
}

const PREFIXES = new WeakMap<Target, string>();

function mapOf(target: Target): string {
  let prefix = PREFIXES.get(target);
  if (prefix === undefined) PREFIXES.set(target, prefix = `${nameOf(target)} map of `);
  return prefix;
}

/**
 * The next step of a longer route. Its mapper is probed again, because the steps before it have been taken since. The
 * result ends `source` after itself.
 * @throws {NoRouteError} if the mapper refuses now, or would copy, and copies are not allowed.
 */
export function takeNextStep(
  mapper: Mapper,
  source: Mapped,
  target: Target,
  access: Access,
  copies: boolean,
): { readonly mapped: Mapped; readonly step: ProbedStep } {
  const pending: Pending = { waits: [...source.workBefore(access), ...source.outsideWork(access)], returning: [] };
  const step = probeNow(mapper, source, target, access, pending, copies);
  const taken = step.hostWait
    ? takeAfterWait(mapper, source, target, access, step, pending, copies)
    : { mapped: takeStep(mapper, source, target, access, step, pending), step };
  taken.mapped.own(source);
  return taken;
}

/**
 * The host waits, and the mapper is probed again, because bytes may have come back and objects ended meanwhile. The step
 * that was taken is returned, with the wait.
 */
function takeAfterWait(
  mapper: Mapper,
  source: Mapped,
  target: Target,
  access: Access,
  { hostWait, waitReason }: ProbedStep,
  pending: Pending,
  copies: boolean,
): { readonly mapped: Mapped; readonly step: ProbedStep } {
  waitFor(pending);
  const step = probeNow(mapper, source, target, access, NOTHING, copies);
  return { mapped: takeStep(mapper, source, target, access, step, NOTHING), step: { ...step, hostWait, waitReason } };
}

/** @throws {NoRouteError} if the mapper refuses, or would copy, and copies are not allowed. */
function probeNow(
  mapper: Mapper,
  source: Mapped,
  target: Target,
  access: Access,
  { waits }: Pending,
  copies: boolean,
): ProbedStep {
  const step = allowed(ask(mapper, source.described, target, access, waits), mapper, copies);
  if (isStep(step)) return step;
  throw noRoute(source.name, nameOf(target), [step]);
}

/**
 * True if no device can wait for these bytes to come back: the commands are not submitted yet, because they stand behind
 * another context's work, or a later step.
 */
function isUnsubmitted(grant: Grant): boolean {
  return grant.resource!.state !== "returning";
}

/** The host waits for such bytes. True if there were any. */
function settleUnsubmitted(returning: readonly Grant[]): boolean {
  const unsubmitted = returning.filter(isUnsubmitted);
  for (const grant of unsubmitted) grant.resource!.settle();
  return unsubmitted.length > 0;
}

function waitFor({ waits, returning }: Pending): void {
  for (const fence of waits) fence.waitSync();
  for (const grant of returning) grant.resource!.settle();
}

const ON_THEIR_WAY = "the bytes are on their way back, by commands that are not submitted yet";

/** Why the host waits before the same memory is lent once more; undefined if it does not. */
function whyLentWaits({ waits, returning }: Pending): string | undefined {
  if (returning.length > 0) return "the bytes are on their way back";
  return waits.length === 0 ? undefined : `no command is made that could wait for the work of ${linesInWords(waits)}`;
}

/** The steps of a route. `waited`: the host has to wait before the first one. */
function stepsOf(steps: readonly FoundStep[], waited: boolean): Step[] {
  return steps.map(({ step: { edge, transfer, hostWait, waitReason, bytesMoved, evidence } }, i) => {
    const step = { edge, transfer, hostWait, ...(hostWait ? { waitReason } : {}), bytesMoved, evidence };
    return hostWait || !waited || i > 0 ? step : { ...step, hostWait: true, waitReason: ON_THEIR_WAY };
  });
}

function noSource(given: unknown): ArgumentError {
  const what = `source: expected a tensor or a frame, got ${isBytes(given) ? aKind(given) : literal(given)}.`;
  return new ArgumentError(what, { api: "core", argument: "source", hint: hintForSource(given) });
}

function hintForSource(given: unknown): string {
  if (isOfWebGpu(given)) return OF_WEBGPU;
  if (isBytes(given)) return OF_BYTES;
  if (isContext(given)) return "It is a context: graph.map(tensor, context).";
  return "Pass the tensor itself, not its handle or view.";
}

/** By its class, which code of other realms has too. */
function isOfWebGpu(given: unknown): boolean {
  return /^a GPU/.test(aKind(given));
}

const OF_WEBGPU = "Nothing of WebGPU's is shared in place: a GPUBuffer has no handle that JavaScript sees. " +
  "Others can write a mapped range of one, by host.wrap(pointer), before unmap() copies it to the GPU.";

function notInGraph(context: Context, argument: string): ArgumentError {
  return new ArgumentError(`${contextInWords(context)} is not in this graph.`, {
    api: "core",
    argument,
    hint: "Give its context to new MapperGraph([…]).",
  });
}

function isContext(given: unknown): given is Context {
  return typeof given === "object" && given !== null && "targets" in given;
}

function noContext(given: unknown): ArgumentError {
  const { kind, context } = given as Partial<Target>;
  if (typeof kind !== "string" || !isContext(context)) return unexpected("contexts", "only contexts", given);
  const what = `contexts: expected only contexts, got ${kind}, a target: pass its context, ${contextInWords(context)}.`;
  return new ArgumentError(what, { api: "core", argument: "contexts" });
}

function noList({ api }: Context): ArgumentError {
  const what = `contexts: expected an iterable, such as an array, got a context: pass [${api}].`;
  return new ArgumentError(what, { api: "core", argument: "contexts" });
}

function noTarget(given: unknown): unknown {
  const { targets, name } = (given ?? {}) as Partial<Context>;
  if (!Array.isArray(targets)) {
    const error = unexpected("target", "a context, or one of its targets, such as cl.svm or cv.mat", given);
    return isOfWebGpu(given) ? withRemedy(error, OF_WEBGPU) : error;
  }
  const kinds = (targets as readonly Target[]).map(({ kind }) => kind).join(", ");
  const what = `target: ${name} has several kinds of memory: pass one of them (${kinds}).`;
  return new ArgumentError(what, { api: "core", argument: "target" });
}

function optionsOf(given: MapOptions): Asked {
  const { access, after, copy } = optionsIn(given, OPTIONS);
  if (after !== undefined) fenceIn(after, "after");
  if (copy !== undefined) checks.nameIn(copy, COPY, "copy");
  return { access: access === undefined ? undefined : accessOf(access, "read"), after, copy };
}
