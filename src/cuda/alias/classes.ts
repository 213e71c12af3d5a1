import { MemoryClass, settled, UNPROVEN } from "../../core/device/proofs.ts";
import type { CudaDevice } from "../device.ts";
import type { CudaMemoryKind } from "../memory/block.ts";
import { type MakeSample, type SampleContext, SAMPLES } from "./samples.ts";
import { trial, TRIAL_BYTES } from "./trial.ts";

/** By rule: an experiment would succeed, and not notice that the pages move. */
const MOVES = settledAs("managed memory that moves", "the driver moves managed memory to its current user");

/** On a GPU without the host's page tables, the driver may move whole pages between GPU and CPU (HMM). */
const MAY_MOVE = settledAs(
  "pageable memory that may move",
  "the driver may move pageable memory to its current user",
);

/** By rule: an experiment, in which the CPU reads while a kernel runs, would crash the process. */
const TURNS = settledAs("managed memory in turns", "host and device take turns at managed memory");

/** Memory that host and kernels cannot both reach, or that cannot be made for a sample. */
const UNTRIED = settledAs("memory without a sample", UNPROVEN.evidence);

const TRIED = new Map(Object.entries(SAMPLES).map(([kind, make]) => [kind, classOf(kind, make)]));

/** The class of a kind of memory on a device. The device's attributes decide it for some kinds, without an experiment. */
export function cudaMemoryClass(kind: CudaMemoryKind, { attributes }: CudaDevice): MemoryClass<SampleContext> {
  const { integrated, concurrentManagedAccess, pageableMemoryAccessUsesHostPageTables: ats } = attributes;
  if (kind === "pageable" && integrated !== 1 && ats !== 1) return MAY_MOVE;
  if (kind === "managed" && integrated !== 1) return MOVES;
  if (kind === "managed" && concurrentManagedAccess !== 1) return TURNS;
  return TRIED.get(kind) ?? UNTRIED;
}

function settledAs(name: string, evidence: string): MemoryClass<SampleContext> {
  return settled(name, { aliases: false, evidence });
}

function classOf(kind: string, make: MakeSample): MemoryClass<SampleContext> {
  return new MemoryClass(`${kind} memory`, (context, undo) => {
    const sample = make(context, TRIAL_BYTES, undo);
    const missed = trial(context, sample, undo);
    const seen = missed ?? "proven by aliasing while a kernel ran";
    return { aliases: missed === undefined, evidence: sample.price === undefined ? seen : `${seen}; ${sample.price}` };
  });
}
