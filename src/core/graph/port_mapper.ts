import type { Call, Exported, Imported, ImportedImage, MemoryTarget, Offer, Staged } from "../contract.ts";
import { type Context, portsOf, type Target } from "./context.ts";
import { unexpected } from "../argument.ts";
import type { Fence } from "../device/fence.ts";
import type { ImagePort, MemoryKind, Port } from "../device/port.ts";
import { type Reason, type Refusal, throwAll } from "../errors.ts";
import type { FrameInfo } from "../layout/frame_info.ts";
import { type GiveBack, Resource } from "../life/resource.ts";
import { type Undo, unwind } from "../life/undo.ts";
import { type Access, reads, writes } from "../memory/access.ts";
import { Allocation } from "../memory/allocation.ts";
import type { Grant } from "../memory/grant.ts";
import { Described, type DescribedPlane, type PlacedPlane } from "../tensors/described.ts";
import type { Mapped } from "../tensors/mapped.ts";
import { planesFrom, planesOver } from "../tensors/over.ts";
import { BYTES, isAddressed } from "./byte_ports.ts";
import { begin, type Begun, closeBeside, giveBackOf, type HeldSide, hold } from "./step_side.ts";
import { IMAGES } from "./image_ports.ts";
import { edgeOf, type MapJob, type Mapper, mapperIn, type ProbedStep } from "./mapper.ts";
import type { Transfer } from "./route.ts";
import {
  type Between,
  between,
  type OfferPair,
  openPair,
  type PairStep,
  preparePairs,
  refuseEnd,
  refuseNoPair,
  sharedKind,
  stepBy,
  type Subject,
  unordered,
} from "./offers.ts";

interface Ports<What> {
  readonly exports: readonly Offer<What>[];
  readonly imports: readonly Offer<What>[];
  readonly export?: unknown;
  readonly addressOf?: unknown;
  readonly import?: unknown;
  refuse?(source: Described, access: Access, format?: unknown): Reason | undefined;
  formatOf?(source: Described): unknown;
}

/** What differs between maps of bytes and of images. */
export interface Manner<What extends Subject> {
  /** True if a frame is mapped as a whole, even if its planes lie in several blocks. */
  readonly takesParts: boolean;
  readonly at: string;
  portsAt(target: Target): Ports<What> | undefined;
  subjectOf(source: Described): What;
  /** Why the edge refuses memory that its ports would take. */
  refuse?(source: Described, target: Target): Reason | undefined;
  lengthOf(source: Described): number;
  planesIn(source: Described, transfer: Transfer, pair: OfferPair<What>): readonly DescribedPlane[];
  /** True if the map has to bring the source's bytes. */
  fetches(source: Described, access: Access): boolean;
  export(source: Mapped, kind: MemoryKind, access: Access): Exported | Exported<ImagePort>;
  stage(source: Mapped, stage: Stage, kind: MemoryKind): { readonly copy: Staged; readonly port: AnyPort };
  blockOf(source: Described): Allocation | undefined;
  import(port: AnyPort, target: Target, access: Access, source: Described, block: Allocation | undefined): Arriving;
  /** The importer's blocks. They go on the undo list here, because they outlive the import's last command. */
  blocksOf?(arriving: Arriving, target: Target, undo: Undo): readonly BlockPlace[] | undefined;
  /** Where the result lies. Called once the import has begun: some memory has no address before. */
  place(
    arriving: Arriving,
    blocks: readonly BlockPlace[] | undefined,
    from: Leaving,
    source: Mapped,
    job: MapJob,
  ): Placed;
}

export interface BlockPlace {
  readonly allocation: Allocation;
  readonly start: number;
}

export interface Leaving {
  readonly exported: Exported | Exported<ImagePort>;
  readonly copy?: Allocation;
  /** The grants that the result takes over; the first is for the exported bytes. */
  readonly grants: readonly Grant[];
}

type AnyPort = Port | ImagePort;

export type Stage = NonNullable<Offer["stage"]>;

export type Arriving = Imported | ImportedImage;

export interface Placed {
  readonly planes: readonly PlacedPlane[];
  readonly grants: readonly Grant[];
  /** What a frame is, where that is not what the source is. */
  readonly info?: FrameInfo | undefined;
}

const NO_OFFERS: readonly never[] = [];

interface PortStep<What> extends ProbedStep {
  readonly pair: OfferPair<What>;
}

/**
 * The edge from one kind of memory to another that imports the bytes that the first exports. It refuses what either side
 * refuses, has the device prove what has to be proven, exports, imports, brings the bytes where they have to be brought,
 * and takes them back.
 *
 * It calls the source's `ports.export` and the target's `ports.import`, and submits their commands on their own lines. For
 * backends.
 */
export function portMapper(from: string, to: string): Mapper {
  return new PortMapper(from, to, BYTES);
}

/** Like {@link portMapper}, for images: it calls `ports.images.export` and `ports.images.import`. For backends. */
export function imageMapper(from: string, to: string): Mapper {
  return new PortMapper(from, to, IMAGES);
}

/**
 * One edge for each two kinds of memory of which one exports what the other imports, except the `known` edges. It maps
 * bytes if both have ports for bytes, else images. If the ports hold for other devices only, the edge is there, but it
 * refuses every map. For backends.
 */
export function portMappers(contexts: Iterable<Context>, known: readonly Mapper[] = []): Mapper[] {
  const targets = [...contexts].flatMap((context) => context.targets);
  const edges = new Map<string, Mapper>();
  for (const from of targets) {
    for (const to of targets) {
      if (from === to) continue;
      const byBytes = sharedKind(endsOf(BYTES, from, to)) !== undefined; // first, because images are bytes too
      if (!byBytes && sharedKind(endsOf(IMAGES, from, to)) === undefined) continue;
      const mapper = (byBytes ? portMapper : imageMapper)(from.kind, to.kind);
      edges.set(edgeOf(mapper), mapper);
    }
  }
  for (const mapper of known) edges.delete(edgeOf(mapper));
  return [...edges.values()];
}

/**
 * Every edge of a graph of these contexts: those they bring, those `between` two APIs, and one for each shared port.
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

class PortMapper<What extends Subject> implements Mapper<Mapped, Mapped, PortStep<What>> {
  readonly from: string;
  readonly to: string;
  readonly takesParts: boolean;
  readonly #by: Manner<What>;
  readonly #edge: string;
  /** What the ledger counts an export as, and an import. Texts that are put together at each map would be hashed anew. */
  readonly #kinds: { readonly out: string; readonly into: string };
  /** What `prepare` has looked up for the `probe` behind it. Not kept for longer, because an edge may outlive contexts. */
  #ends: Between<What> | undefined;

  constructor(from: string, to: string, by: Manner<What>) {
    this.from = from;
    this.to = to;
    this.takesParts = by.takesParts;
    this.#by = by;
    this.#edge = edgeOf(this);
    this.#kinds = { out: `${from} export`, into: `${to} import` };
  }

  prepare(source: Described, target: Target): void {
    const ends = this.#ends = endsOf(this.#by, source.target, target);
    // No port is asked about memory that a side refuses: an image port may expect what a tensor does not have.
    if (!ends.findsOut || refuse(this.#by, source, source.access, ends) !== undefined) return;
    preparePairs(this, ends, this.#by.subjectOf(source));
  }

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): PortStep<What> | Refusal {
    const by = this.#by;
    const edge = this.#edge;
    const prepared = this.#ends;
    this.#ends = undefined;
    const isFor = prepared?.from === source.target && prepared.to === target;
    const ends = isFor ? prepared : endsOf(by, source.target, target);
    const known = waits.length === 0 && areOpen(ends) ? ends.stepForAll : undefined;
    const stepped = known ?? this.#stepped(source, access, waits, ends);
    if ("reason" in stepped) return { edge, ...stepped };
    const { pair, transfer, hostWait, waitReason, evidence, moves } = stepped; // a spread would take as long as all else here
    const bytesMoved = moves === 0 ? 0 : moves * bytesOf(by, source, access);
    const result = new Described(target, access, by.planesIn(source, transfer, pair), source.info);
    return { edge, transfer, hostWait, waitReason, bytesMoved, evidence, result, pair };
  }

  #stepped(
    source: Described,
    access: Access,
    waits: readonly Fence[],
    ends: Between<What>,
  ): PairStep<What> | Reason {
    const by = this.#by;
    const pair = refuse(by, source, access, ends) ?? openPair(ends.pairs, by.subjectOf(source));
    if ("reason" in pair) return pair;
    const stepped = stepBy(this, ends, pair, by.subjectOf(source), waits);
    if (waits.length === 0 && pair === ends.forAll && refusesNone(by, ends) && !("reason" in stepped)) {
      ends.stepForAll = stepped;
    }
    return stepped;
  }

  map(source: Mapped, target: Target, job: MapJob<PortStep<What>>): Mapped {
    const { kind, stage } = job.step.pair.out;
    const to = portsOf(target)!;
    const isAlone = stage === undefined && to.line === undefined;
    if (isAlone && isAddressed(portsOf(source.target)!, kind) && isAddressed(to, kind)) {
      return inPlace(source, target, job);
    }
    return this.#imported(source, target, job);
  }

  #imported(source: Mapped, target: Target, job: MapJob<PortStep<What>>): Mapped {
    const by = this.#by;
    const { described } = source;
    const { access } = job.grants[0];
    const { out: { kind, stage }, into: { blocks: takesBlocks, orders } } = job.step.pair;
    const from = portsOf(source.target)!;
    const to = portsOf(target)!;
    const leaving: Leaving = stage === undefined
      ? leavingBy(by.export(source, kind, access), job)
      : staged(by.stage(source, stage, kind), by.lengthOf(described), source.target.context, job);
    const block = leaving.copy ?? by.blockOf(described);
    const out: HeldSide = { side: leaving.exported, line: from.line, kind: this.#kinds.out };
    const fetches = by.fetches(described, access);
    const { sent, imported } = passed(by, leaving, out, described, target, block, fetches, job);
    const shows = to.exports.some(({ kind }) => kind === "host-pointer") ? block : undefined;
    const into: HeldSide = { side: imported, line: to.line, kind: this.#kinds.into, shows, blocks: takesBlocks };
    hold(into, job.undo);
    const blocks = by.blocksOf?.(imported, target, job.undo);
    const { fences: waits, last } = begin(into, job.undo, fetches, unordered(sent.fences, orders, out.line));
    const { planes, grants, info } = by.place(imported, blocks, leaving, source, job);
    if (to.line === undefined) { for (const fence of waits) fence.waitSync(); }
    const back = giveBackOf(into, last, writes(access), giveBackOf(out, sent.last, writes(access)));
    const resource = resourceOf(job, grants, [source.resource, out.line?.resource, into.line?.resource], back);
    resource.inherit(waits);
    // If the exporter's command fails, so does the map, even if the host has waited for it before the import.
    if (sent.fences !== job.waits) resource.inherit(sent.fences);
    return planesOver(target as MemoryTarget, { planes, resource, info, parent: source });
  }
}

function endsOf<What extends Subject>(by: Manner<What>, from: Target, to: Target): Between<What> {
  return between(from, to, by.portsAt(from)?.exports ?? NO_OFFERS, by.portsAt(to)?.imports ?? NO_OFFERS);
}

function refuse<What extends Subject>(
  by: Manner<What>,
  source: Described,
  access: Access,
  ends: Between<What>,
): Reason | undefined {
  const from = by.portsAt(ends.from);
  const to = by.portsAt(ends.to);
  return refuseNoPair(ends) ?? refuseEnd(ends.from, lackingOf(by, ends.from, false)) ??
    refuseEnd(ends.to, lackingOf(by, ends.to, true)) ?? by.refuse?.(source, ends.to) ??
    from!.refuse?.(source, access) ??
    to!.refuse?.(source, access, from!.formatOf?.(source));
}

/** True if neither side would refuse memory that is not there for all of it. */
function refusesNone<What extends Subject>(by: Manner<What>, { from, to }: Between<What>): boolean {
  return by.refuse === undefined && by.portsAt(from)!.refuse === undefined && by.portsAt(to)!.refuse === undefined;
}

/** True unless one side was disposed. */
function areOpen({ from, to }: Between<never>): boolean {
  return from.context.resource?.isLive !== false && to.context.resource?.isLive !== false;
}

/** The bytes that one side moves, there and back. */
function bytesOf<What extends Subject>(by: Manner<What>, source: Described, access: Access): number {
  return by.lengthOf(source) * (Number(reads(access)) + Number(writes(access)));
}

/** The function that the edge would call, if the backend left it out. */
function lackingOf<What extends Subject>(by: Manner<What>, at: Target, isTarget: boolean): string | undefined {
  const ports = by.portsAt(at)!;
  if (!isTarget) {
    if (ports.export !== undefined) return undefined;
    for (const { kind, stage } of ports.exports) {
      if (stage === undefined && !isAddressed(ports, kind)) return `${by.at}export`;
    }
    return undefined;
  }
  // Ports that are closed on each machine, with a reason, have nothing to import.
  if (ports.import === undefined && ports.imports.some(({ closed }) => closed === undefined)) return `${by.at}import`;
  return portsOf(at)!.tensor === undefined ? "tensor" : undefined;
}

/** The same address on both sides: nothing is exported, and no command is made. The host has waited for all work. */
function inPlace(source: Mapped, target: Target, job: MapJob): Mapped {
  const { grants, step: { result } } = job;
  const resource = resourceOf(job, grants, [source.resource]);
  const planes = planesFrom(source.described.range.address, result.layouts, grants[0]);
  return planesOver(target as MemoryTarget, { planes, resource, parent: source });
}

/**
 * Begins the export, imports, and closes what the import has left of the port. No closure: an error's stack would keep it
 * alive, and with it the fences to wait for.
 */
function passed<What extends Subject>(
  by: Manner<What>,
  { exported }: Leaving,
  out: HeldSide,
  source: Described,
  target: Target,
  block: Allocation | undefined,
  fetches: boolean,
  { undo, waits, grants }: MapJob,
) {
  const port = exported.port as Port;
  let sent: Begun;
  let imported: Arriving;
  try {
    hold(out, undo);
    sent = begin(out, undo, fetches, waits);
    imported = by.import(port, target, grants[0].access, source, block);
  } catch (error) {
    throwAll([error, ...unwind([() => port[Symbol.dispose]()])], "mapping memory"); // `using` would take as long as all else
    throw error;
  }
  closeBeside(port, imported, "blocks" in imported ? imported.blocks : undefined);
  return { sent, imported };
}

/** Apart from `map`, so that no closure reaches the source. */
function leavingBy(exported: Exported | Exported<ImagePort>, { grants, undo }: MapJob): Leaving {
  const { shown } = exported;
  if (shown === undefined) return { exported, grants };
  const allocation = new Allocation(shown.block).joinUntil(undo);
  return { exported, grants: [grants[0].elsewhere(allocation), ...grants] };
}

/** Apart from `map`, so that no closure reaches the source. */
function staged(
  { copy: { block, there, back }, port }: ReturnType<Manner<Subject>["stage"]>,
  byteLength: number,
  context: Context,
  { grants, undo }: MapJob,
): Leaving {
  const copy = new Allocation(block).joinUntil(undo);
  const exported: Exported = {
    port: port as Port,
    once: true,
    bring: () => counted(there(), context, byteLength),
    takeBack: (step) => step === 0 ? counted(back(), context, byteLength) : undefined,
  };
  return { exported, copy, grants: [grants[0].elsewhere(copy, 0, byteLength), ...grants] };
}

function counted(copy: Call, context: Context, byteLength: number): Call {
  const call = (lane: unknown) => {
    const code = copy.call(lane);
    if (code === 0) context.countCopied?.(byteLength);
    return code;
  };
  return { ...copy, call };
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
