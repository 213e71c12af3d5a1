import {
  type Exported,
  type KnownObject,
  type Memory,
  type MemoryTarget,
  type Offer,
  portsOf,
  type Staged,
} from "../device/memory.ts";
import { unexpected } from "../argument.ts";
import type { Call } from "../device/driver.ts";
import type { Fence } from "../device/fence.ts";
import { type MemoryKind, Port } from "../device/port.ts";
import type { Refusal } from "../errors.ts";
import { type Access, reads, writes } from "../memory/access.ts";
import { type Layout, moved } from "../layout/layout.ts";
import { Allocation } from "../memory/allocation.ts";
import type { Grant } from "../memory/grant.ts";
import { join, leave, tellPlace } from "../memory/peers.ts";
import type { Undo } from "../life/undo.ts";
import { type GiveBack, Resource } from "../life/resource.ts";
import { type ByteRange, Described, type DescribedPlane } from "../tensors/described.ts";
import { Frame, planesOf } from "../tensors/frame.ts";
import type { Mapped } from "../tensors/mapped.ts";
import { tensorOver, within } from "../tensors/over.ts";
import type { Tensor } from "../tensors/tensor.ts";
import { closeBeside, cross, type Side, wayBack } from "./crossing.ts";
import type { Context, Target } from "./context.ts";
import { imageEnds, imageMapper } from "./image_mapper.ts";
import { edgeOf, type MapJob, type Mapper, mapperIn, type Plan } from "./mapper.ts";
import type { Transfer } from "./route.ts";
import {
  type Ends,
  findsOut,
  openWay,
  prepareWays,
  refuseEnds,
  refuseNoWay,
  sharedKind,
  stepBy,
  unordered,
  type Way,
  waysBetween,
} from "./ways.ts";

/** A plan, and the way that it goes. */
interface PortPlan extends Plan {
  readonly way: Way<ByteRange>;
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
 * An edge for any two kinds of memory of these contexts of which one exports what the other imports, but for `known` ones:
 * by their bytes where both know those, else by their images.
 * Where that holds on other devices only, the edge is closed and says so.
 * For those who write backends.
 */
export function portMappers(contexts: Iterable<Context>, known: readonly Mapper[] = []): Mapper[] {
  const targets = [...contexts].flatMap((context) => context.targets);
  const edges = new Map<string, Mapper>();
  for (const from of targets) {
    for (const to of targets) {
      if (from === to) continue;
      const byBytes = sharedKind(endsOf(from, to)) !== undefined; // and so all that is no image, too
      if (!byBytes && sharedKind(imageEnds(from, to)) === undefined) continue;
      const mapper = (byBytes ? portMapper : imageMapper)(from.kind, to.kind);
      edges.set(edgeOf(mapper), mapper);
    }
  }
  for (const mapper of known) edges.delete(edgeOf(mapper));
  return [...edges.values()];
}

/**
 * Every edge of a graph of these contexts: those that they bring, those `between` two APIs that neither owns alone, and one
 * for any two kinds of memory that share a port.
 */
export function edgesOf(contexts: Iterable<Context>, between: readonly Mapper[] = []): Mapper[] {
  const all = [...contexts];
  const brought = all.flatMap(({ edges = [] }) => {
    if (!Array.isArray(edges)) throw unexpected("edges", "a list of mappers", edges);
    return edges.map((edge, i) => mapperIn(edge, `edges[${i}]`));
  });
  const known = [...new Set([...brought, ...between])];
  return [...known, ...portMappers(all, known)];
}

function prepare(source: Described, target: Target): void {
  const ends = endsOf(source.target, target);
  const ways = waysBetween(ends);
  if (!ways.some(findsOut) || refuse(source, source.access, ends, ways) !== undefined) return;
  prepareWays(portMapper, ends, ways, source.range);
}

function probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): PortPlan | Refusal {
  const edge = edgeBetween(source, target);
  const ends = endsOf(source.target, target);
  const ways = waysBetween(ends);
  const way = refuse(source, access, ends, ways) ?? openWay(ways, source.range);
  if ("reason" in way) return { edge, ...way };
  const step = stepBy(portMapper, ends, way, source.range, waits);
  if ("reason" in step) return { edge, ...step };
  const { moves, transfer, hostWait, waitReason, evidence } = step;
  return {
    edge,
    transfer,
    hostWait,
    waitReason,
    evidence,
    bytesMoved: moves * source.range.byteLength * (Number(reads(access)) + Number(writes(access))),
    result: new Described(target, access, planesIn(source, transfer, way), source.info),
    way,
  };
}

function map(source: Mapped, target: Target, job: MapJob<PortPlan>): Mapped {
  const { described } = source;
  const [{ access }] = job.grants;
  const [from, to] = [portsOf(source.target)!, portsOf(target)!];
  const { out: offer, into: { blocks, orders } } = job.plan.way;
  const fetches = reads(access) || described.hasGaps;
  const { byteLength } = described.range;
  const exported: ExportedCopy = offer.stage === undefined
    ? from.export!(firstPlane(source), offer.kind, byteLength, access, described.hasGaps)
    : staged(offer.stage(firstPlane(source), byteLength), offer.kind, byteLength, source.target.context, job.undo);
  const bytes = exported.copy === undefined ? described.range : { allocation: exported.copy, start: 0 };
  const out: Side = { crossing: exported, line: from.line, kind: `${source.target.kind} export` };
  const { sent, imported } = passed(exported.port, out, to, job, bytes.allocation, access, fetches);
  const shows = to.exports.some(({ kind }) => kind === "host-pointer") ? bytes.allocation : undefined;
  const into: Side = { crossing: imported, line: to.line, kind: `${target.kind} import`, shows, blocks };
  const { fences: waits, last } = cross(into, job.undo, fetches, unordered(sent.fences, orders, out.line));
  if (to.line === undefined) { for (const fence of waits) fence.waitSync(); }
  const wrote = writes(access);
  const back = wayBack(into, last, wrote, wayBack(out, sent.last, wrote));
  if (imported.object !== undefined) tell(imported.object, bytes, job);
  const grants = exported.copy === undefined
    ? job.grants
    : [job.grants[0].elsewhere(exported.copy, 0, byteLength), ...job.grants];
  const resource = resourceOf(job, grants, [source.resource, from.line?.resource, to.line?.resource], back);
  resource.inherit(waits);
  return tensorOver(target as MemoryTarget, {
    handle: imported.handle,
    layouts: layoutsIn(described).map((layout) => within(imported.object, layout)),
    resource,
    info: source instanceof Frame ? source.info : undefined,
    metadata: source instanceof Frame ? source.metadata : undefined,
    parent: source,
  });
}

/** Why the edge is closed, whichever way. */
function refuse(
  source: Described,
  access: Access,
  ends: Ends<ByteRange>,
  ways: readonly Way<ByteRange>[],
): Omit<Refusal, "edge"> | undefined {
  const { from, to } = ends;
  return refuseNoWay(ends, ways) ?? refuseEnds(ends, lackingOf) ??
    portsOf(from)!.refuse?.(source, access) ?? portsOf(to)!.refuse?.(source, access);
}

/** What the ports of two kinds of memory offer for their bytes. */
function endsOf(from: Target, to: Target): Ends<ByteRange> {
  return { from, to, exports: portsOf(from)?.exports ?? [], imports: portsOf(to)?.imports ?? [] };
}

/** The function that the edge would call and its backend has left out. */
function lackingOf(at: Target, isTarget: boolean): keyof Memory | undefined {
  const ports = portsOf(at)!;
  if (!isTarget) return ports.export === undefined && ports.exports.some(needsExport) ? "export" : undefined;
  if (ports.import === undefined) return "import";
  return ports.tensor === undefined ? "tensor" : undefined;
}

function needsExport({ stage }: Offer): boolean {
  return stage === undefined;
}

/** The planes as the target will have them. An address is asked for where it is read. */
function planesIn(source: Described, transfer: Transfer, { out }: Way<ByteRange>): DescribedPlane[] {
  const layouts = layoutsIn(source);
  const stays = transfer === "alias" || (out.kind === "host-view" && out.stage === undefined);
  return source.planes.map((plane, i) => {
    const { allocation, start } = plane;
    if (!stays || !("address" in plane)) return { allocation, start, layout: layouts[i] };
    return {
      allocation,
      start,
      layout: layouts[i],
      get address() {
        return plane.address;
      },
    };
  });
}

/** Where the planes lie, counted from the first byte of any. */
function layoutsIn({ planes, range }: Described): Layout[] {
  return planes.map(({ layout, start }) => moved(layout, start - range.start));
}

function firstPlane(source: Mapped): Tensor {
  return planesOf(source).reduce((first, plane) => plane.grant.start < first.grant.start ? plane : first);
}

/**
 * One side lets the bytes out, the other takes them in; the port's fd is closed unless the import has taken it. No closure:
 * an error's stack would keep it, and so the fences that were to be waited for.
 */
function passed(
  from: Port,
  out: Side,
  to: Memory,
  { undo, waits }: MapJob,
  allocation: Allocation,
  access: Access,
  fetches: boolean,
) {
  using port = from;
  const of = port.kind === "dma-buf" ? undefined : allocation; // a dma-buf may show a part of the block
  const sent = cross(out, undo, fetches, waits);
  const imported = to.import!(port, access, of);
  closeBeside(port, imported);
  return { sent, imported };
}

/** Where the first byte of a map lies. */
interface Bytes {
  readonly allocation: Allocation;
  readonly start: number;
}

/** An export by a copy; the map owns that. */
interface ExportedCopy extends Exported {
  readonly copy?: Allocation;
}

/** Apart from `map`, so that no closure reaches the source. */
function staged(
  { block, there, back }: Staged,
  kind: MemoryKind,
  byteLength: number,
  context: Context,
  undo: Undo,
): ExportedCopy {
  const copy = new Allocation(block);
  join(copy);
  undo.push(() => leave(copy));
  return {
    copy,
    port: new Port(kind, { value: block.address, byteLength }),
    once: true,
    bring: () => counted(there(), context, byteLength),
    takeBack: (step) => step === 0 ? counted(back(), context, byteLength) : undefined,
  };
}

/** A copy that was asked for. */
function counted(copy: Call, context: Context, byteLength: number): Call {
  const call = (lane: unknown) => {
    const code = copy.call(lane);
    if (code === 0) context.countCopied?.(byteLength);
    return code;
  };
  return { ...copy, call };
}

/** While the map lasts, whoever brings the imported object finds the source's allocation. */
function tell({ kind, handle, start }: KnownObject, bytes: Bytes, { undo }: MapJob): void {
  undo.push(tellPlace(kind, handle, bytes.allocation, bytes.start - start));
}

/** Apart from `map`, so that nothing that the resource keeps reaches the source. */
function resourceOf(
  { name, undo }: MapJob,
  grants: readonly Grant[],
  owners: readonly (Resource | undefined)[],
  giveBack?: GiveBack,
) {
  return new Resource({ name, undo, grants, owners, giveBack });
}

function edgeBetween(source: Described, target: Target): string {
  return `${source.target.kind}→${target.kind}`;
}
