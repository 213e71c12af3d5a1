import type { Fence } from "../device/fence.ts";
import type { Line } from "../device/line.ts";
import type { Offer } from "../contract.ts";
import { nameOf, portsOf, type Target } from "./context.ts";
import { MemoryClass, Proofs, type SampleClass, UNPROVEN, unseen, type Verdict, verdictOf } from "../device/proofs.ts";
import type { MemoryKind } from "../device/port.ts";
import { refuseBy, refuseFd } from "../device/takes.ts";
import type { Reason } from "../errors.ts";
import { type DeviceId, isSameDevice } from "../device/device_id.ts";
import type { DescribedPlane } from "../tensors/described.ts";
import { isStep, type Mapper, whyHostReads } from "./mapper.ts";
import { COPY, moreOf, noRoute, type Step, type Transfer } from "./route.ts";
import type { Undo } from "../life/undo.ts";
import type { Tensor } from "../tensors/tensor.ts";
import { takeStep } from "./graph.ts";

/** What a pair of offers is asked about: bytes, or an image. */
export interface Subject {
  readonly planes?: readonly DescribedPlane[];
}

/** Two kinds of memory, with what one exports and the other imports: bytes, or images. */
export interface Ends<What> {
  readonly from: Target;
  readonly to: Target;
  readonly exports: readonly Offer<What>[];
  readonly imports: readonly Offer<What>[];
}

export interface OfferPair<What> {
  readonly out: Offer<What>;
  readonly into: Offer<What>;
}

/** The first kind of port that one exports and the other imports, on whatever device. */
export function sharedKind<What>({ from, exports, imports }: Ends<What>): MemoryKind | undefined {
  return exports.find((out) => imports.some((into) => meets(out, into, from)))?.kind;
}

function meets<What>(out: Offer<What>, into: Offer<What>, { kind }: Target): boolean {
  return into.kind === out.kind && (into.from ?? kind) === kind;
}

/** Two kinds of memory and the pairs of their offers, kept as long as they offer the same. */
export interface Between<What> extends Ends<What> {
  /** The pairs that hold for both devices, the best first. */
  readonly pairs: readonly OfferPair<What>[];
  /** True if a pair may need an experiment, or a question to the kernel, before it is judged. */
  readonly findsOut: boolean;
  /** The first pair, if neither of its offers asks which memory it is. */
  readonly forAll: OfferPair<What> | undefined;
  /** The step by that pair of memory that has nothing to wait for; set when it was first made. */
  stepForAll?: PairStep<What>;
}

/** Keyed by source, then target. The list has at most two entries: one for bytes, one for images. */
const KNOWN = new WeakMap<Target, WeakMap<Target, readonly Between<never>[]>>();

export function between<What>(
  from: Target,
  to: Target,
  exports: readonly Offer<What>[],
  imports: readonly Offer<What>[],
): Between<What> {
  let ofSource = KNOWN.get(from);
  if (ofSource === undefined) KNOWN.set(from, ofSource = new WeakMap());
  const known = ofSource.get(to) as readonly Between<What>[] | undefined ?? [];
  for (let i = 0; i < known.length; i++) {
    if (known[i].exports === exports && known[i].imports === imports) return known[i];
  }
  const found = newBetween({ from, to, exports, imports });
  ofSource.set(to, [found, ...known.slice(0, 1)] as readonly Between<unknown>[] as readonly Between<never>[]);
  return found;
}

function newBetween<What>(ends: Ends<What>): Between<What> {
  const pairs = findPairs(ends);
  const findsOut = pairs.some(({ out, into }) =>
    out.prepare !== undefined || out.sample !== undefined || into.prepare !== undefined
  );
  const forAll = pairs.length > 0 && asksNothing(pairs[0].out) && asksNothing(pairs[0].into) ? pairs[0] : undefined;
  return { ...ends, pairs, findsOut, forAll };
}

function asksNothing<What>({ fdAccess, takes, closed, refuse, sample, prepare, judge }: Offer<What>): boolean {
  return [fdAccess, takes, closed, refuse, sample, prepare, judge].every((asks) => asks === undefined);
}

function findPairs<What>({ from, to, exports, imports }: Ends<What>): OfferPair<What>[] {
  const pairs: OfferPair<What>[] = [];
  for (const out of exports) {
    if (!holdsFor(out, to.context.id)) continue;
    for (const into of imports) {
      if (meets(out, into, from) && holdsFor(into, from.context.id)) pairs.push({ out, into });
    }
  }
  return pairs;
}

/** Why no pair is left. Devices are compared, because a driver was seen to import another GPU's memory and show other bytes. */
export function refuseNoPair<What>(ends: Between<What>): Reason | undefined {
  if (ends.pairs.length > 0) return undefined;
  const { from, to } = ends;
  const kind = sharedKind(ends);
  if (kind === undefined) return { reason: `${nameOf(to)} imports nothing that ${nameOf(from)} exports to it.` };
  return {
    reason: `${kind} holds on one device only, and ${nameOf(from)} has ${uuidOf(from)}, ${nameOf(to)} ${uuidOf(to)}.`,
    remedy: "Open both on the same device, by its UUID.",
  };
}

/** Why one side is closed to all memory: its context was disposed, or its backend left out the function `lacking`. */
export function refuseEnd(at: Target, lacking: string | undefined): Reason | undefined {
  const { context } = at;
  if (context.resource?.isLive === false) return { reason: `${context.name} was disposed.` };
  return lacking === undefined ? undefined : { reason: `${nameOf(at)} names ports, and has no ports.${lacking}().` };
}

/** The first pair that is open to this memory, or what closes the first of all. There is at least one pair. */
export function openPair<What extends Subject>(
  pairs: readonly OfferPair<What>[],
  what: What,
): OfferPair<What> | Reason {
  let first: Reason | undefined;
  for (const pair of pairs) {
    const refusal = refusalOf(pair, what);
    if (refusal === undefined) return pair;
    first ??= refusal;
  }
  return first!;
}

/** Prepares one pair after the other until one is open to this memory, and has that one's sharing proven. */
export function preparePairs<What extends Subject>(mapper: Mapper, ends: Between<What>, what: What): void {
  for (const pair of ends.pairs) {
    if (refusalOf(pair, what) !== undefined) continue;
    if (pair.out.prepare !== undefined || pair.into.prepare !== undefined) {
      pair.out.prepare?.(what);
      pair.into.prepare?.(what);
      if (refusalOf(pair, what) !== undefined) continue;
    }
    const sample = sampleOf(pair, ends, what);
    if (sample !== undefined) tryToProveShared(mapper, ends.from, ends.to, sample);
    return;
  }
}

/** A step by a pair of offers. */
export interface PairStep<What> extends Pick<Step, "transfer" | "hostWait" | "waitReason" | "evidence"> {
  readonly pair: OfferPair<What>;
  /** How many of the two sides move the bytes. */
  readonly moves: number;
}

/** The step by this pair; or why it is closed, if an experiment has shown that the two do not share the memory. */
export function stepBy<What extends Subject>(
  mapper: Mapper,
  ends: Ends<What>,
  pair: OfferPair<What>,
  what: What,
  waits: readonly Fence[],
): PairStep<What> | Reason {
  const sample = sampleOf(pair, ends, what);
  const shown = sample && judgeShared(mapper, ends.from, ends.to, sample);
  if (shown !== undefined && shown !== UNPROVEN && !shown.aliases) {
    return { reason: `${shown.evidence}: they do not share it.`, remedy: `Copy the elements: ${COPY}` };
  }
  const out = sideOf(pair.out, shown, what);
  const into = sideOf(pair.into, undefined, what);
  const transfer = moreOf(out.transfer, into.transfer);
  const left = unordered(waits, pair.into.orders, portsOf(ends.from)!.line);
  const waitReason = whyHostWaits(out.transfer, ends, pair, left);
  return {
    pair,
    transfer,
    hostWait: waitReason !== undefined,
    waitReason,
    evidence: evidenceOf(pair, out, into, transfer, ends),
    moves: Number(out.transfer !== "alias") + Number(into.transfer !== "alias"),
  };
}

/** What one side does with the bytes, and how that is known. */
interface Found {
  readonly transfer: Transfer;
  readonly evidence: string | undefined;
}

/** @param shown the verdict of an experiment with both APIs, if there was one */
function sideOf<What>(offer: Offer<What>, shown: Verdict | undefined, what: What): Found {
  const verdict = shown ?? offer.judge?.(what) ?? offer.verdict;
  const aliases = verdict === undefined ? offer.transfer === undefined : verdict.aliases;
  return { transfer: aliases ? "alias" : offer.transfer ?? "migrate", evidence: verdict?.evidence };
}

/** The class of this memory, if an experiment with both APIs has to show that they share it. */
function sampleOf<What>({ out }: OfferPair<What>, { to }: Ends<What>, what: What): SampleClass | undefined {
  return portsOf(to)!.copies === undefined ? undefined : out.sample?.(what);
}

/** How the transfer is known: the evidence of the side that causes it, else that side's own declaration. */
function evidenceOf<What>(
  { out: { kind } }: OfferPair<What>,
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

/** Why the first command that touches the bytes cannot wait for other work. The host uses no command, so it always waits. */
function whyHostWaits<What>(
  out: Transfer,
  { from, to }: Ends<What>,
  { into: { blocks } }: OfferPair<What>,
  waits: readonly Fence[],
): string | undefined {
  if (waits.length === 0) return undefined;
  const { line } = portsOf(to)!;
  if (line === undefined) return whyHostReads(waits);
  const reason = (out === "alias" ? line : portsOf(from)!.line!).whyHostWaits(waits);
  if (reason !== undefined || !blocks || !anyGated(waits)) return reason;
  return `the work stands behind a promise, and ${line.name} would block this thread until that is settled`;
}

/** What is left to wait for if an import's own command waits for the exporter's line; not for what a promise still holds up. */
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

function refusalOf<What extends Subject>({ out, into }: OfferPair<What>, what: What): Reason | undefined {
  return out.closed?.() ?? into.closed?.() ?? refuseFds(into, what) ?? refuseBy(out, what) ?? refuseBy(into, what);
}

function refuseFds<What extends Subject>(into: Offer<What>, { planes = [] }: What): Reason | undefined {
  for (const { fd } of planes) {
    const refusal = fd && refuseFd(into, fd);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function holdsFor({ device }: { readonly device?: DeviceId }, other: DeviceId): boolean {
  return device === undefined || isSameDevice(device, other);
}

function uuidOf({ context: { id: { uuid } } }: Target): string {
  return uuid === undefined ? "no UUID" : `UUID ${uuid}`;
}

/** Two kinds of memory, the edge between them, and the sample that the experiment makes. */
interface Experiment {
  readonly name: string;
  readonly from: Target;
  readonly to: Target;
  readonly mapper: Mapper;
  sample: SampleClass;
}

const LENGTH = 4096;

const PROOFS = new WeakMap<
  Target,
  WeakMap<Target, { readonly experiment: Experiment; readonly proofs: Proofs<Experiment> }>
>();

/** By name: all experiments of one name on the same devices share a verdict. */
const CLASSES = new Map<string, MemoryClass<Experiment>>();

/** Runs the experiment that shows whether both APIs use memory of this class in place, once. */
function tryToProveShared(mapper: Mapper, from: Target, to: Target, sample: SampleClass): void {
  const { experiment, proofs } = proofsOf(mapper, from, to, sample);
  proofs.tryToProve(classOf(experiment));
}

function judgeShared(mapper: Mapper, from: Target, to: Target, sample: SampleClass): Verdict {
  const { experiment, proofs } = proofsOf(mapper, from, to, sample);
  return proofs.judge(classOf(experiment));
}

function proofsOf(mapper: Mapper, from: Target, to: Target, sample: SampleClass) {
  let known = PROOFS.get(from);
  if (known === undefined) PROOFS.set(from, known = new WeakMap());
  let found = known.get(to);
  if (found === undefined) {
    const ids = [from.context.id.uuid, to.context.id.uuid];
    const experiment = { name: to.context.name, from, to, mapper, sample };
    const devices = ids.includes(undefined) ? undefined : `${from.kind} ${ids[0]} ${to.kind} ${ids[1]}`;
    known.set(to, found = { experiment, proofs: new Proofs<Experiment>(experiment, devices) });
  }
  found.experiment.sample = sample; // the next run makes this one
  return found;
}

function classOf({ sample: { name } }: Experiment): MemoryClass<Experiment> {
  let known = CLASSES.get(name);
  if (known === undefined) {
    CLASSES.set(name, known = new MemoryClass(name, (experiment, undo) => verdictOf(perform(experiment, undo), name)));
  }
  return known;
}

/** What kept the sample from being an alias; undefined if each API saw what the other wrote. */
function perform({ from, to, mapper, sample }: Experiment, undo: Undo): string | undefined {
  const tensor = sample.make(LENGTH, undo);
  const step = mapper.probe(tensor.described, to, "read-write", []);
  if (!isStep(step)) throw noRoute(tensor.name, to.context.name, [step]);
  const mapped = takeStep(mapper, tensor, to, "read-write", step, { waits: [], returning: [] }) as Tensor;
  undo.push(() => mapped[Symbol.dispose]());
  return unseen(witnessOf(from, tensor), witnessOf(to, mapped), LENGTH);
}

function witnessOf(target: Target, tensor: Tensor) {
  const copies = portsOf(target)!.copies!;
  return {
    name: target.kind,
    write: (bytes: Uint8Array) => copies.write(tensor, bytes),
    read: (into: Uint8Array) => copies.read(tensor, into),
  };
}
