import {
  type KnownObject,
  type Memory,
  type MemoryTarget,
  type Offer,
  portsOf,
  type SampleClass,
} from "../device/memory.ts";
import type { Fence } from "../device/fence.ts";
import type { MemoryKind, Port } from "../device/port.ts";
import type { Refusal } from "../errors.ts";
import { type Access, reads, writes } from "../memory/access.ts";
import { moved } from "../layout/layout.ts";
import { tellPlace } from "../memory/peers.ts";
import { type GiveBack, Resource } from "../life/resource.ts";
import { Described, type DescribedPlane } from "../tensors/described.ts";
import { Frame } from "../tensors/frame.ts";
import type { Mapped } from "../tensors/mapped.ts";
import { tensorOver, within } from "../tensors/over.ts";
import type { Tensor } from "../tensors/tensor.ts";
import { cross, type Side, wayBack } from "./crossing.ts";
import { type Context, type DeviceId, isSameDevice, nameOf, type Target } from "./context.ts";
import { edgeOf, type MapJob, type Mapper, type Plan } from "./mapper.ts";
import { judgeShared, tryToProveShared } from "./port_proof.ts";
import { mostOf, type Transfer } from "./route.ts";

/** How bytes cross from one kind of memory to another. */
interface Way {
  /** By which port the source lets them out. */
  readonly out: Offer;
  /** By which port the target takes them in: of the same kind. */
  readonly into: Offer;
}

/**
 * The edge from one kind of memory to another that imports what the first exports. It refuses what either side refuses, has
 * the device prove what has to be proven, exports, imports, brings the bytes where they have to be brought, and takes
 * them back.
 *
 * It calls the source's `ports.export` and the target's `ports.import`, and submits their commands on their own lines.
 * For those who write backends.
 */
export function portMapper(from: string, to: string): Mapper {
  return { from, to, prepare, probe, map };
}

/**
 * An edge for any two kinds of memory of these contexts of which one exports what the other imports, but for `known` ones.
 * Where that holds on other devices only, the edge is closed and says so.
 * For those who write backends.
 */
export function portMappers(contexts: Iterable<Context>, known: readonly Mapper[] = []): Mapper[] {
  const targets = [...contexts].flatMap((context) => context.targets);
  const edges = new Map<string, Mapper>();
  for (const from of targets) {
    for (const to of targets) {
      if (from === to || sharedKind(from, to) === undefined) continue;
      const mapper = portMapper(from.kind, to.kind);
      edges.set(edgeOf(mapper), mapper);
    }
  }
  for (const mapper of known) edges.delete(edgeOf(mapper));
  return [...edges.values()];
}

function prepare(source: Described, target: Target): void {
  if (refuse(source, target, source.access) !== undefined) return;
  for (const way of waysBetween(source.target, target)) {
    if (refusalOf(way, source) !== undefined) continue;
    way.out.prepare?.(source.range);
    way.into.prepare?.(source.range);
    if (refusalOf(way, source) === undefined) break;
  }
  const way = wayOf(source, target);
  const sample = way && sampleOf(way.out, source, target);
  if (sample !== undefined) {
    tryToProveShared(portMapper, source.target, target, sample);
  }
}

function probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
  const refusal = refuse(source, target, access);
  if (refusal !== undefined) return refusal;
  const way = wayOf(source, target)!;
  const sides = sidesOf(way, source, target);
  const transfer = mostOf(sides.map((side) => side.transfer));
  const moves = sides.filter((side) => side.transfer !== "alias").length;
  return {
    edge: edgeBetween(source, target),
    transfer,
    hostWait: waits.length > 0 && !canWait(sides[0].transfer, source.target, target, waits),
    bytesMoved: moves * source.range.byteLength * (Number(reads(access)) + Number(writes(access))),
    evidence: evidenceOf(way, sides, transfer, source.target, target),
    result: new Described(target, access, planesIn(source, transfer), source.info),
  };
}

function map(source: Mapped, target: Target, job: MapJob): Mapped {
  const { described } = source;
  const [{ access }] = job.grants;
  const [from, to] = [portsOf(source.target)!, portsOf(target)!];
  const { kind } = wayOf(described, target)!.out;
  const fetches = reads(access) || described.hasGaps;
  const exported = from.export!(firstPlane(source), kind, described.range.byteLength, access);
  const out: Side = { crossing: exported, line: from.line, kind: `${source.target.kind} export` };
  const { sent, imported } = passed(exported.port, out, to, job, access, fetches);
  const into: Side = { crossing: imported, line: to.line, kind: `${target.kind} import` };
  const { fences: waits, last } = cross(into, job.undo, fetches, sent.fences);
  if (to.line === undefined) { for (const fence of waits) fence.waitSync(); }
  const wrote = writes(access);
  const back = wayBack(into, last, wrote, wayBack(out, sent.last, wrote));
  if (imported.object !== undefined) tell(imported.object, source, job);
  const resource = resourceOf(job, [source.resource, from.line?.resource, to.line?.resource], back);
  resource.inherit(waits);
  return tensorOver(target as MemoryTarget, {
    handle: imported.handle,
    layouts: planesIn(described, "copy").map(({ layout }) => within(imported.object, layout)),
    resource,
    ...(source instanceof Frame ? { info: source.info, metadata: source.metadata } : {}),
    parent: source,
  });
}

/** Why the edge is closed. */
function refuse(source: Described, target: Target, access: Access): Refusal | undefined {
  const edge = edgeBetween(source, target);
  const ways = waysBetween(source.target, target);
  if (ways.length === 0) return { edge, ...noWay(source.target, target) };
  for (const at of [source.target, target]) {
    const { context } = at;
    if (context.resource?.isLive === false) return { edge, reason: `${context.name} was disposed.` };
    const lacking = lackingOf(portsOf(at)!, at === target);
    if (lacking !== undefined) return { edge, reason: `${nameOf(at)} names ports, and has no ports.${lacking}().` };
    const refusal = portsOf(at)!.refuse?.(source, access);
    if (refusal !== undefined) return { edge, ...refusal };
  }
  const [first, ...others] = ways.map((way) => refusalOf(way, source));
  if (first !== undefined && !others.includes(undefined)) return { edge, ...first };
}

/** Why there is no way: nothing that both know, or other devices. A driver was seen to import another GPU's memory, and to show other bytes. */
function noWay(from: Target, to: Target): Omit<Refusal, "edge"> {
  const kind = portsOf(from)?.exports.find(({ kind }) => portsOf(to)?.imports.some((offer) => offer.kind === kind))
    ?.kind;
  if (kind === undefined) return { reason: `${nameOf(to)} imports nothing that ${nameOf(from)} exports to it.` };
  return {
    reason: `${kind} holds on one device only, and ${nameOf(from)} has ${uuidOf(from)}, ${nameOf(to)} ${uuidOf(to)}.`,
    remedy: "Open both on the same device, by its UUID.",
  };
}

/** A kind of port that one exports and the other imports, be it for another device. */
function sharedKind(from: Target, to: Target): MemoryKind | undefined {
  return portsOf(from)?.exports.find(({ kind }) => portsOf(to)?.imports.some((offer) => offer.kind === kind))?.kind;
}

function uuidOf({ context: { id: { uuid } } }: Target): string {
  return uuid === undefined ? "no UUID" : `UUID ${uuid}`;
}

/** Why one way is closed to these bytes. */
function refusalOf({ out, into }: Way, { range }: Described): Omit<Refusal, "edge"> | undefined {
  return out.closed?.() ?? into.closed?.() ?? out.refuse?.(range) ?? into.refuse?.(range);
}

/** The function that the edge would call and its backend has left out. */
function lackingOf(ports: Memory, imports: boolean): keyof Memory | undefined {
  if (!imports) return ports.export === undefined ? "export" : undefined;
  if (ports.import === undefined) return "import";
  return ports.tensor === undefined ? "tensor" : undefined;
}

/** The best way for these bytes: the first that is open to them. */
function wayOf(source: Described, target: Target): Way | undefined {
  return waysBetween(source.target, target).find((way) => refusalOf(way, source) === undefined);
}

/** What the source exports and the target imports, where both hold for the other's device; the best first. */
function waysBetween(from: Target, to: Target): Way[] {
  const ways: Way[] = [];
  for (const out of portsOf(from)?.exports ?? []) {
    if (!holdsFor(out, to.context.id)) continue;
    const into = portsOf(to)?.imports.find((offer) => offer.kind === out.kind && holdsFor(offer, from.context.id));
    if (into !== undefined) ways.push({ out, into });
  }
  return ways;
}

function holdsFor({ device }: Offer, other: DeviceId): boolean {
  return device === undefined || isSameDevice(device, other);
}

/** What happens to the bytes on one side, and how that was found out. */
interface Found {
  readonly transfer: Transfer;
  readonly evidence: string | undefined;
}

function sidesOf({ out, into }: Way, source: Described, target: Target): Found[] {
  const sample = sampleOf(out, source, target);
  return [out, into].map((offer) => {
    const verdict = offer === out && sample !== undefined
      ? judgeShared(portMapper, source.target, target, sample)
      : offer.judge?.(source.range);
    const { aliases, evidence } = verdict ?? { aliases: offer.transfer === undefined, evidence: undefined };
    return { transfer: aliases ? "alias" : offer.transfer ?? "migrate", evidence };
  });
}

/** The class of the source's bytes, if an experiment with both APIs has to show that they are shared. */
function sampleOf(out: Offer, { range }: Described, target: Target): SampleClass | undefined {
  return portsOf(target)!.copies === undefined ? undefined : out.sample?.(range);
}

/** How the transfer is known: what was found out of the side that it comes from, or what that side says of itself. */
function evidenceOf(
  { out: { kind } }: Way,
  sides: readonly Found[],
  transfer: Transfer,
  from: Target,
  to: Target,
): string {
  const found = sides.find((side) => side.transfer === transfer && side.evidence !== undefined);
  if (found !== undefined) return found.evidence!;
  if (transfer === "alias") return `the same memory, by its ${kind}`;
  const does = sides[0].transfer === transfer ? `${from.kind} exports` : `${to.kind} imports`;
  return `${does} ${kind} by a ${transfer === "copy" ? "copy" : "migration"}`;
}

/** Can the first command that touches the bytes wait for other work? The host touches them by none, and at once. */
function canWait(out: Transfer, from: Target, to: Target, waits: readonly Fence[]): boolean {
  const { line } = portsOf(to)!;
  if (line === undefined) return false;
  return (out === "alias" ? line : portsOf(from)!.line!).canWaitForAll(waits);
}

/** The planes as the target will have them, counted from the first byte of any. An address is asked for where it is read. */
function planesIn({ planes, range }: Described, transfer: Transfer): DescribedPlane[] {
  return planes.map((plane) => ({
    allocation: plane.allocation,
    start: plane.start,
    layout: moved(plane.layout, plane.start - range.start),
    get address() {
      return transfer === "alias" ? plane.address : undefined;
    },
  }));
}

function firstPlane(source: Mapped): Tensor {
  const planes = (source instanceof Frame ? source.planes : [source]) as readonly Tensor[];
  return planes.reduce((first, plane) => plane.grant.start < first.grant.start ? plane : first);
}

/**
 * One side lets the bytes out, the other takes them in; the port's fd is closed unless the import has taken it. No closure:
 * an error's stack would keep it, and so the fences that were to be waited for.
 */
function passed(from: Port, out: Side, to: Memory, { undo, waits, grants }: MapJob, access: Access, fetches: boolean) {
  using port = from;
  const of = port.kind === "dma-buf" ? undefined : grants[0].allocation; // a dma-buf may show a part of the block
  return { sent: cross(out, undo, fetches, waits), imported: to.import!(port, access, of) };
}

/** While the map lasts, whoever brings the imported object finds the source's allocation. */
function tell({ kind, handle, start }: KnownObject, { described: { range } }: Mapped, { undo }: MapJob): void {
  undo.push(tellPlace(kind, handle, range.allocation, range.start - start));
}

/** Apart from `map`, so that nothing that the resource keeps reaches the source. */
function resourceOf({ name, undo, grants }: MapJob, owners: readonly (Resource | undefined)[], giveBack?: GiveBack) {
  return new Resource({ name, undo, grants, owners, giveBack });
}

function edgeBetween(source: Described, target: Target): string {
  return `${source.target.kind}→${target.kind}`;
}
