import { portsOf, type Target } from "./context.ts";
import { MemoryClass, Proofs, type SampleClass, unseen, type Verdict, verdictOf } from "../device/proofs.ts";
import type { Undo } from "../life/undo.ts";
import type { Tensor } from "../tensors/tensor.ts";
import { takeStep } from "./graph.ts";
import { isPlan, type Mapper } from "./mapper.ts";
import { noRoute } from "./route.ts";

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
  return unseen(sideOf(from, tensor), sideOf(to, mapped), LENGTH);
}

/** How one API writes and reads its tensor of the bytes. */
function sideOf(target: Target, tensor: Tensor) {
  const copies = portsOf(target)!.copies!;
  return {
    name: target.kind,
    write: (bytes: Uint8Array) => copies.write(tensor, bytes),
    read: (into: Uint8Array) => copies.read(tensor, into),
  };
}
