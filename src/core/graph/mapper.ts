import { type Access, reads, writes } from "../memory/access.ts";
import { type Context, portsOf, type Target } from "./context.ts";
import { Described } from "../tensors/described.ts";
import { shown, unexpected } from "../argument.ts";
import type { Images } from "../contract.ts";
import { ArgumentError, type Reason, type Refusal } from "../errors.ts";
import type { Fence } from "../device/fence.ts";
import type { Grant } from "../memory/grant.ts";
import { Mapped } from "../tensors/mapped.ts";
import { type GiveBack, Resource } from "../life/resource.ts";
import type { Undo } from "../life/undo.ts";
import { type Step, sumOf } from "./route.ts";
import type { Verdict } from "../device/proofs.ts";

/** A step that a mapper could take, as its `probe` describes it: not taken yet. */
export interface ProbedStep extends Step {
  /** The memory that the step would make, for the next mapper to probe. */
  readonly result: Described;
  /** The step of each plane, where the graph maps the planes of a frame one by one, each to its result's target. */
  readonly parts?: readonly ProbedStep[];
}

/** What a mapper's `map` is given besides source and target. */
export interface MapJob<S extends ProbedStep = ProbedStep> {
  /** The step to take: what this mapper's `probe` returned last. The host has waited for nothing since. */
  readonly step: S;
  /** What the source lent: one grant for each of its own. The result takes them over. */
  readonly grants: readonly Grant[];
  /** Work that the device has to wait for; empty if the host has waited already. */
  readonly waits: readonly Fence[];
  /** Put every native object here the moment it exists. The result takes the list over. */
  readonly undo: Undo;
  /** The result's name. */
  readonly name: string;
}

/**
 * One edge of the graph, from one kind of memory to another. The contexts of its two ends give it their native code: an
 * edge between two APIs imports both as types only.
 */
export interface Mapper<A extends Mapped = Mapped, B extends Mapped = Mapped, S extends ProbedStep = ProbedStep> {
  /** The kind it maps from. */
  readonly from: string;
  /** The kind it maps to. */
  readonly to: string;
  /** True if it takes a frame in several blocks as one, with all planes' grants; else planes are mapped one by one. */
  readonly takesParts?: boolean;
  /** True if it maps the planes of this frame one by one, though they lie in one block. Left out, it takes them as one. */
  byPlane?(source: Described, target: Target): boolean;
  /** Finds out, once, what a probe needs to know. It may make native calls. A failure here means "not proven". */
  prepare?(source: Described, target: Target): void;
  /**
   * The step it could take, or the reason why not. It makes no native call and changes no state. A step may carry more for
   * this mapper's `map`, but no tensor, because the route keeps the step.
   */
  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): S | Refusal;
  /**
   * Takes the step. The graph has lent the bytes. If this throws, the graph unwinds `undo`. The graph makes the result
   * end before the source and the target's context.
   */
  map(source: A, target: Target, job: MapJob<S>): B;
}

export function edgeOf(mapper: Mapper): string {
  return `${mapper.from}→${mapper.to}`;
}

/** True for a step: a refusal has no result. */
export function isStep(probed: ProbedStep | Refusal): probed is ProbedStep {
  return "result" in probed;
}

export function mapperIn(given: Mapper, argument: string): Mapper {
  const { from, to, probe, map } = typeof given === "object" && given !== null ? given : {} as Partial<Mapper>;
  const ends = typeof from === "string" && typeof to === "string";
  if (ends && typeof probe === "function" && typeof map === "function") return given;
  throw unexpected(argument, "a mapper", given);
}

/**
 * Probes an edge. If the mapper takes no frame in several blocks, or not this one as a whole, or images have one plane, it
 * is asked about each plane. A step to another target than the one asked for becomes a refusal.
 */
export function ask(
  mapper: Mapper,
  source: Described,
  target: Target,
  access: Access,
  waits: readonly Fence[],
): ProbedStep | Refusal {
  const ports = source.info === undefined ? undefined : portsOf(target);
  const images = ports?.images;
  const isOfPlanes = ports?.byPlane === true || images?.forPlane !== undefined;
  const isByPlane = isOfPlanes || source.info !== undefined && mapper.byPlane?.(source, target) === true;
  const parts = isByPlane ? source.each : mapper.takesParts ? undefined : source.parts;
  return parts === undefined
    ? askOnce(mapper, source, target, access, waits)
    : askEach(parts, images, mapper, source, target, access, waits);
}

function askEach(
  parts: readonly Described[],
  images: Images | undefined,
  mapper: Mapper,
  source: Described,
  target: Target,
  access: Access,
  waits: readonly Fence[],
): ProbedStep | Refusal {
  const steps: ProbedStep[] = [];
  for (const [i, part] of parts.entries()) {
    const to = images?.forPlane?.(part.planes[0].layout, i) ?? target;
    if ("reason" in to) return { edge: edgeOf(mapper), ...to };
    const probed = askOnce(mapper, part, to, access, waits);
    if (!isStep(probed)) return probed;
    steps.push(probed);
  }
  return inOne(steps, source, target, access);
}

function inOne(steps: readonly ProbedStep[], { info }: Described, target: Target, access: Access): ProbedStep {
  const sum = sumOf(steps);
  return {
    ...steps.find(({ transfer }) => transfer === sum.transfer)!, // its evidence
    ...sum,
    result: Described.scattered(target, access, steps.map(({ result }) => result), info),
    parts: steps,
  };
}

function askOnce(
  mapper: Mapper,
  source: Described,
  target: Target,
  access: Access,
  waits: readonly Fence[],
): ProbedStep | Refusal {
  mapper.prepare?.(source, target);
  const probed = mapper.probe(source, target, access, waits);
  if (typeof probed !== "object" || probed === null) throw rubbish(mapper, "probe", probed);
  if (!isStep(probed)) return probed;
  if (!(probed.result instanceof Described)) throw rubbish(mapper, "probe", probed.result);
  return probed.result.target === target ? probed : refuseAstray(mapper, target);
}

function refuseAstray(mapper: Mapper, { context }: Target): Refusal {
  return { edge: edgeOf(mapper), reason: `it leads to a target other than ${context.name}.` };
}

/**
 * Takes a mapper's step. Its result ends before the source and the target's context, even if the mapper did not say so.
 * @throws {ArgumentError} if the result did not take over the grants that were lent for it.
 */
export function make(mapper: Mapper, source: Mapped, target: Target, job: MapJob): Mapped {
  const mapped: unknown = mapper.map(source, target, job);
  if (!(mapped instanceof Mapped)) throw rubbish(mapper, "map", mapped);
  const { grants } = job;
  for (let i = 0; i < grants.length; i++) if (grants[i].resource === undefined) throw rubbish(mapper, "map", mapped);
  mapped.resource.dependOn(source.resource);
  if (target.context.resource !== undefined) mapped.resource.dependOn(target.context.resource);
  return mapped;
}

/**
 * The resource of a job's result; it ends before its owner. For mappers: this function and those that make a `giveBack` are
 * separate from `map`, so that no closure of the resource reaches the source.
 */
export function resourceOf(owner: Resource | undefined, job: MapJob, giveBack?: GiveBack): Resource {
  const { name, undo, grants } = job;
  return new Resource({ name, undo, grants, owners: [owner], giveBack });
}

function rubbish(mapper: Mapper, fn: string, returned: unknown): ArgumentError {
  return new ArgumentError(`${edgeOf(mapper)}: its ${fn} returned ${shown(returned)}, which the graph cannot use.`, {
    api: "core",
    fn,
    argument: "mappers",
  });
}

export const SAME_ADDRESS: Verdict = { aliases: true, evidence: "the same address: no memory object is made" };

/** The verdict on memory that has no address before an earlier step is taken. */
export const UNMAPPED: Verdict = {
  aliases: false,
  evidence: "not proven: the address is known only once it is mapped",
};

/** Why the host waits for this work before it uses the bytes by itself; undefined without work. */
export function whyHostReads(waits: readonly Fence[]): string | undefined {
  return waits.length === 0 ? undefined : `it uses the bytes itself, once the work of ${linesInWords(waits)} is over`;
}

const MAX_LINES = 3;

/** The lines of these fences. Those behind a promise are marked: a host that blocks never sees it settle. */
export function linesInWords(fences: readonly Fence[]): string {
  const names = new Map(fences.map(({ line, mark }) => [line.name, line.gatesAt(mark) !== undefined]));
  const named = Array.from(names, ([name, gated]) => gated ? `${name} (behind a promise: settle that first)` : name);
  return named.length <= MAX_LINES
    ? named.join(" and ")
    : `${named.slice(0, MAX_LINES).join(", ")} and ${named.length - MAX_LINES} others`;
}

/** An alias if that was proven; otherwise the driver moves the bytes. `waitReason`: why the host has to wait first. */
export function probedStep(
  edge: string,
  { aliases, evidence }: Verdict,
  waitReason: string | undefined,
  result: Described,
): ProbedStep {
  const hostWait = waitReason !== undefined;
  if (aliases) return { edge, transfer: "alias", hostWait, waitReason, bytesMoved: 0, evidence, result };
  return { edge, transfer: "migrate", hostWait, waitReason, bytesMoved: movedBy(result), evidence, result };
}

export function probedCopy(
  edge: string,
  evidence: string | undefined,
  waitReason: string | undefined,
  result: Described,
): ProbedStep {
  const hostWait = waitReason !== undefined;
  return { edge, transfer: "copy", hostWait, waitReason, bytesMoved: movedBy(result), evidence, result };
}

/** The bytes move there to be read, and back after they were written. */
function movedBy({ range: { byteLength }, access }: Described): number {
  return byteLength * (Number(reads(access)) + Number(writes(access)));
}

interface WithQueue extends Pick<Context, "name"> {
  readonly queue: { readonly line: { readonly resource: Resource } };
}

interface Unfit {
  readonly argument: string;
  readonly problem: string;
  readonly remedy?: string | undefined;
}

export function refused(edge: string, reason: string, remedy?: string): Refusal {
  return { edge, reason, ...(remedy === undefined ? {} : { remedy }) };
}

/** Why memory of a context is closed: its queue was disposed. */
export function whyEnded({ name, queue }: WithQueue): Reason | undefined {
  return queue.line.resource.state === "live" ? undefined : { reason: `${name}, or its queue, was disposed.` };
}

export function refuseEnded(edge: string, context: WithQueue): Refusal | undefined {
  if (context.queue.line.resource.state === "live") return undefined; // most maps: their path stays short
  return { edge, ...whyEnded(context)! };
}

export function refuseDisposed(edge: string, { resource, name }: Context): Refusal | undefined {
  if (resource === undefined || resource.state === "live") return undefined;
  return refused(edge, `${name} was disposed.`);
}

/** Why memory does not fit; undefined if the check found no problem. */
export function whyUnfit(fit: object | Unfit): Reason | undefined {
  if (!("problem" in fit)) return undefined;
  const { argument, problem, remedy } = fit;
  return { reason: `${argument}: ${problem}`, argument, ...(remedy === undefined ? {} : { remedy }) };
}

export function refuseUnfit(edge: string, fit: object | Unfit): Refusal | undefined {
  const why = whyUnfit(fit);
  return why && { edge, ...why };
}
