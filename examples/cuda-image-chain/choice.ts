/**
 * What the advisor says of the chain's memory on a device.
 *
 * @module
 */
import {
  advise,
  advisorRow,
  type AdvisorRowId,
  type CudaDeviceTraits,
  type MemoryAdvice,
} from "@samepage/interop/advisor";
import { IMAGE_BYTES } from "./image.ts";

/** The chain's memory, piece by piece. */
export interface Choice {
  /** Filled by the CPU, read once by k1. */
  readonly input: MemoryAdvice;
  /** Only the kernels use it. */
  readonly between: MemoryAdvice;
  /** Written once by k3, read by the CPU. */
  readonly output: MemoryAdvice;
}

/** Asks the advisor. */
export function choose(device: CudaDeviceTraits): Choice {
  const image = { size: IMAGE_BYTES, gpu: "coalesced", device } as const;
  return {
    input: advise({ ...image, cpu: "write-once", gpuWrites: false }),
    between: advise({ ...image, cpu: "none", gpuWrites: true }),
    output: advise({ ...image, cpu: "read-once", gpuWrites: true }),
  };
}

/** A piece of advice in a line: the kind, and the row that decided. */
export function lineOf(piece: string, { kind, flags, staging, rules }: MemoryAdvice): string {
  const copied = staging === undefined ? "" : `, copied from and to ${staging.kind} memory`;
  return `${piece}: ${[kind, ...flags].join(", ")}${copied}, by ${rules[0]}`;
}

/** Every row that the advice stands on, once, in the advisor's words. */
export function rowsOf(choice: Choice): string[] {
  const rows = new Set<AdvisorRowId>(Object.values<MemoryAdvice>({ ...choice }).flatMap(({ rules }) => rules));
  return [...rows].map((row) => `${row}: ${advisorRow(row).says}`);
}
