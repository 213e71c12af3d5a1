import type { Fence } from "../device/fence.ts";
import type { Line } from "../device/line.ts";
import type { Offer } from "../contract.ts";
import { nameOf, portsOf, type Target } from "./context.ts";
import { MemoryClass, Proofs, type SampleClass, UNPROVEN, unseen, type Verdict, verdictOf } from "../device/proofs.ts";
import type { MemoryKind } from "../device/port.ts";
import { refuseTaken } from "../device/takes.ts";
import type { Reason } from "../errors.ts";
import { type Access, covers } from "../memory/access.ts";
import { type DeviceId, isSameDevice } from "../device/device_id.ts";
import type { DescribedPlane } from "../tensors/described.ts";
import { isPlan, type Mapper, whyHostReads } from "./mapper.ts";
import { COPY, moreOf, noRoute, type Step, type Transfer } from "./route.ts";
import type { Undo } from "../life/undo.ts";
import type { Tensor } from "../tensors/tensor.ts";
import { takeStep } from "./graph.ts";

/** What is known of any memory that may go out by an fd. */
export interface Fds {
  /** What the fds allow, where not every access. */
  readonly fdAccess?: Access | undefined;
  readonly planes?: readonly DescribedPlane[];
}

/** What two kinds of memory have to say to each other, of their bytes or of their images. */
export interface Ends<What> {
  readonly from: Target;
  readonly to: Target;
  readonly exports: readonly Offer<What>[];
  readonly imports: readonly Offer<What>[];
}

export interface Way<What> {
  readonly out: Offer<What>;
  readonly into: Offer<What>;
}

/** A kind of port that one exports and the other imports, be it for another device. */
export function sharedKind<What>({ from, exports, imports }: Ends<What>): MemoryKind | undefined {
  return exports.find((out) => imports.some((into) => meets(out, into, from)))?.kind;
}

function meets<What>(out: Offer<What>, into: Offer<What>, { kind }: Target): boolean {
  return into.kind === out.kind && (into.from ?? kind) === kind;
}

/** What was found of two kinds of memory, as long as they offer the same. */
export interface Between<What> extends Ends<What> {
  /** What the source exports and the target imports, where both hold for the other's device; the best first. */
  readonly ways: readonly Way<What>[];
  /** True where an experiment, or the kernel, may have to be asked before the ways are judged. */
  readonly findsOut: boolean;
}

/** By source and target: at most two, one of bytes and one of images. */
const KNOWN = new WeakMap<Target, WeakMap<Target, readonly Between<never>[]>>();

/** Two kinds of memory, with the ways between them. */
export function between<What>(
  from: Target,
  to: Target,
  exports: readonly Offer<What>[],
  imports: readonly Offer<What>[],
): Between<What> {
  let ofSource = KNOWN.get(from);
  if (ofSource === undefined) KNOWN.set(from, ofSource = new WeakMap());
  const known = ofSource.get(to) as readonly Between<What>[] | undefined ?? [];
  for (const one of known) if (one.exports === exports && one.imports === imports) return one;
  const ends = { from, to, exports, imports };
  const ways = findWays(ends);
  const findsOut = ways.some(({ out, into }) =>
    out.prepare !== undefined || out.sample !== undefined || into.prepare !== undefined
  );
  const found = { ...ends, ways, findsOut };
  ofSource.set(to, [found, ...known.slice(0, 1)] as readonly Between<unknown>[] as readonly Between<never>[]);
  return found;
}

function findWays<What>({ from, to, exports, imports }: Ends<What>): Way<What>[] {
  const ways: Way<What>[] = [];
  for (const out of exports) {
    if (!holdsFor(out, to.context.id)) continue;
    for (const into of imports) {
      if (meets(out, into, from) && holdsFor(into, from.context.id)) ways.push({ out, into });
    }
  }
  return ways;
}

/** Why there is no way: nothing that both know, or other devices. A driver was seen to import another GPU's memory, and to show other bytes. */
export function refuseNoWay<What>(ends: Between<What>): Reason | undefined {
  if (ends.ways.length > 0) return undefined;
  const { from, to } = ends;
  const kind = sharedKind(ends);
  if (kind === undefined) return { reason: `${nameOf(to)} imports nothing that ${nameOf(from)} exports to it.` };
  return {
    reason: `${kind} holds on one device only, and ${nameOf(from)} has ${uuidOf(from)}, ${nameOf(to)} ${uuidOf(to)}.`,
    remedy: "Open both on the same device, by its UUID.",
  };
}

/** Why one side is closed to any memory: it has ended, or its backend has left a function out, the one that is `lacking`. */
export function refuseEnd(at: Target, lacking: string | undefined): Reason | undefined {
  const { context } = at;
  if (context.resource?.isLive === false) return { reason: `${context.name} was disposed.` };
  return lacking === undefined ? undefined : { reason: `${nameOf(at)} names ports, and has no ports.${lacking}().` };
}

/** The best way for this memory, the first that is open to it; or what closes the best of them. At least one exists. */
export function openWay<What extends Fds>(
  ways: readonly Way<What>[],
  what: What,
): Way<What> | Reason {
  let first: Reason | undefined;
  for (const way of ways) {
    const refusal = refusalOf(way, what);
    if (refusal === undefined) return way;
    first ??= refusal;
  }
  return first!;
}

/** Finds out what the ways have to know of this memory, until one of them is open, and then whether both sides share it. */
export function prepareWays<What extends Fds>(
  mapper: Mapper,
  ends: Between<What>,
  what: What,
): void {
  for (const way of ends.ways) {
    if (refusalOf(way, what) !== undefined) continue;
    if (way.out.prepare !== undefined || way.into.prepare !== undefined) {
      way.out.prepare?.(what);
      way.into.prepare?.(what);
      if (refusalOf(way, what) !== undefined) continue;
    }
    const sample = sampleOf(way, ends, what);
    if (sample !== undefined) tryToProveShared(mapper, ends.from, ends.to, sample);
    return;
  }
}

/** A step by the best way. */
interface Stepped extends Pick<Step, "transfer" | "hostWait" | "waitReason" | "evidence"> {
  readonly moves: number;
}

/** How that is known, too; or why the way is closed: an experiment has shown that the two do not share the memory. */
export function stepBy<What extends Fds>(
  mapper: Mapper,
  ends: Ends<What>,
  way: Way<What>,
  what: What,
  waits: readonly Fence[],
): Stepped | Reason {
  const sample = sampleOf(way, ends, what);
  const shown = sample && judgeShared(mapper, ends.from, ends.to, sample);
  if (shown !== undefined && shown !== UNPROVEN && !shown.aliases) {
    return { reason: `${shown.evidence}: they do not share it.`, remedy: `Copy the elements: ${COPY}` };
  }
  const out = sideOf(way.out, shown, what);
  const into = sideOf(way.into, undefined, what);
  const transfer = moreOf(out.transfer, into.transfer);
  const left = unordered(waits, way.into.orders, portsOf(ends.from)!.line);
  const waitReason = whyHostWaits(out.transfer, ends, way, left);
  return {
    transfer,
    hostWait: waitReason !== undefined,
    waitReason,
    evidence: evidenceOf(way, out, into, transfer, ends),
    moves: Number(out.transfer !== "alias") + Number(into.transfer !== "alias"),
  };
}

/** What happens to the memory on one side, and how that was found out. */
interface Found {
  readonly transfer: Transfer;
  readonly evidence: string | undefined;
}

/** `shown` is what an experiment with both APIs has shown, if there is one. */
function sideOf<What>(offer: Offer<What>, shown: Verdict | undefined, what: What): Found {
  const verdict = shown ?? offer.judge?.(what);
  const aliases = verdict === undefined ? offer.transfer === undefined : verdict.aliases;
  return { transfer: aliases ? "alias" : offer.transfer ?? "migrate", evidence: verdict?.evidence };
}

/** The class of the source's memory, if an experiment with both APIs has to show that it is shared. */
function sampleOf<What>({ out }: Way<What>, { to }: Ends<What>, what: What): SampleClass | undefined {
  return portsOf(to)!.copies === undefined ? undefined : out.sample?.(what);
}

/** How the transfer is known: what was found out of the side that it comes from, or what that side says of itself. */
function evidenceOf<What>(
  { out: { kind } }: Way<What>,
  out: Found,
  into: Found,
  transfer: Transfer,
  { from, to }: Ends<What>,
): string {
  if (out.transfer === transfer && out.evidence !== undefined) return out.evidence;
  if (into.transfer === transfer && into.evidence !== undefined) return into.evidence;
  if (transfer === "alias") return `the same memory, by its ${kind}`;
  const does = out.transfer === transfer ? `${from.kind} exports` : `${to.kind} imports`;
  return `${does} ${kind} by a ${transfer === "copy" ? "copy" : "migration"}`;
}

/** Why the first command that touches the bytes cannot wait for other work. The host touches them by none, and at once. */
function whyHostWaits<What>(
  out: Transfer,
  { from, to }: Ends<What>,
  { into: { blocks } }: Way<What>,
  waits: readonly Fence[],
): string | undefined {
  if (waits.length === 0) return undefined;
  const { line } = portsOf(to)!;
  if (line === undefined) return whyHostReads(waits);
  const reason = (out === "alias" ? line : portsOf(from)!.line!).whyHostWaits(waits);
  if (reason !== undefined || !blocks || !anyGated(waits)) return reason;
  return `the work stands behind a promise, and ${line.name} would block this thread until that is settled`;
}

/** What is left to wait for, where an import's own command waits for the exporter's line; what a promise holds up is not there yet. */
export function unordered(
  waits: readonly Fence[],
  orders: boolean | undefined,
  line: Line | undefined,
): readonly Fence[] {
  if (!orders) return waits;
  return waits.filter((fence) => fence.line !== line || line.gatesAt(fence.mark) !== undefined);
}

function anyGated(waits: readonly Fence[]): boolean {
  return waits.some(({ line, mark }) => line.gatesAt(mark) !== undefined);
}

function refusalOf<What extends Fds>({ out, into }: Way<What>, what: What): Reason | undefined {
  return out.closed?.() ?? into.closed?.() ?? refuseFds(into, what) ?? refuseLimits(out, what) ??
    refuseLimits(into, what) ?? out.refuse?.(what) ?? into.refuse?.(what);
}

function refuseLimits<What extends Fds>({ takes }: Offer<What>, { planes }: What): Reason | undefined {
  return takes === undefined || planes === undefined ? undefined : refuseTaken(takes, planes);
}

function refuseFds<What extends Fds>({ kind, fdAccess: needed }: Offer<What>, { fdAccess }: What) {
  if (needed === undefined || fdAccess === undefined || covers(fdAccess, needed)) return undefined;
  return {
    reason: `its ${kind} is open for "${fdAccess}" only, and the driver maps what it imports, for "${needed}".`,
    remedy: "Where the CPU can map it, a graph with the host in it goes that way; or ask its owner for another fd.",
  };
}

function holdsFor({ device }: { readonly device?: DeviceId }, other: DeviceId): boolean {
  return device === undefined || isSameDevice(device, other);
}

function uuidOf({ context: { id: { uuid } } }: Target): string {
  return uuid === undefined ? "no UUID" : `UUID ${uuid}`;
}

/** Two kinds of memory, the edge between them, and the sample that its experiment makes. */
interface Pair {
  readonly name: string;
  readonly from: Target;
  readonly to: Target;
  readonly mapper: Mapper;
  sample: SampleClass;
}

const LENGTH = 4096;

const PROOFS = new WeakMap<Target, WeakMap<Target, { readonly pair: Pair; readonly proofs: Proofs<Pair> }>>();

/** By name: all pairs of one name on the same devices share a verdict. */
const CLASSES = new Map<string, MemoryClass<Pair>>();

/** Runs the experiment that shows whether both APIs use memory of this class in place, once. */
export function tryToProveShared(mapper: Mapper, from: Target, to: Target, sample: SampleClass): void {
  const { pair, proofs } = proofsOf(mapper, from, to, sample);
  proofs.tryToProve(classOf(pair));
}

export function judgeShared(mapper: Mapper, from: Target, to: Target, sample: SampleClass): Verdict {
  const { pair, proofs } = proofsOf(mapper, from, to, sample);
  return proofs.judge(classOf(pair));
}

/** What is proven of a pair, whose next experiment makes this sample. */
function proofsOf(mapper: Mapper, from: Target, to: Target, sample: SampleClass) {
  let known = PROOFS.get(from);
  if (known === undefined) PROOFS.set(from, known = new WeakMap());
  let found = known.get(to);
  if (found === undefined) {
    const ids = [from.context.id.uuid, to.context.id.uuid];
    const pair = { name: to.context.name, from, to, mapper, sample };
    const devices = ids.includes(undefined) ? undefined : `${from.kind} ${ids[0]} ${to.kind} ${ids[1]}`;
    known.set(to, found = { pair, proofs: new Proofs<Pair>(pair, devices) });
  }
  found.pair.sample = sample;
  return found;
}

function classOf({ sample: { name } }: Pair): MemoryClass<Pair> {
  let known = CLASSES.get(name);
  if (known === undefined) {
    CLASSES.set(name, known = new MemoryClass(name, (pair, undo) => verdictOf(experiment(pair, undo), name)));
  }
  return known;
}

/** What kept the memory from being an alias, while the importer has the sample; undefined where nothing did. */
function experiment({ from, to, mapper, sample }: Pair, undo: Undo): string | undefined {
  const tensor = sample.make(LENGTH, undo);
  const plan = mapper.probe(tensor.described, to, "read-write", []);
  if (!isPlan(plan)) throw noRoute(tensor.name, to.context.name, [plan]);
  const mapped = takeStep(mapper, tensor, to, "read-write", plan, { waits: [], returning: [] }) as Tensor;
  undo.push(() => mapped[Symbol.dispose]());
  return unseen(witnessOf(from, tensor), witnessOf(to, mapped), LENGTH);
}

/** How one API writes and reads its tensor of the bytes. */
function witnessOf(target: Target, tensor: Tensor) {
  const copies = portsOf(target)!.copies!;
  return {
    name: target.kind,
    write: (bytes: Uint8Array) => copies.write(tensor, bytes),
    read: (into: Uint8Array) => copies.read(tensor, into),
  };
}
