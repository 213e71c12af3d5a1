import type { LayoutInit } from "../../core/layout/layout.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";
import { messageOf, throwAll } from "../../core/errors.ts";
import { closeFd } from "../../core/native/fd.ts";
import { takeStep } from "../../core/graph/graph.ts";
import type { Mapper } from "../../core/graph/mapper.ts";
import type { Verdict } from "../../core/graph/plan.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import { warn } from "../../core/warn.ts";
import type { CudaVirtual } from "../../cuda/memory/virtual.ts";
import type { CudaTensor } from "../../cuda/tensor.ts";
import type { OpenCLContext } from "../../opencl/context.ts";
import type { OpenCLTensor } from "../../opencl/tensor.ts";

/** Where virtual memory lies. */
export type Location = "device" | "host";

/** What an import comes to, by the experiment. */
export interface ImportProof {
  /** Runs the experiment, unless it was run before; where it cannot be run, it stays unproven, with a warning. */
  tryToProve(virtual: CudaVirtual, cl: OpenCLContext, location: Location): void;
  /** What was seen: unproven is never alias. No native call. */
  judge(virtual: CudaVirtual, cl: OpenCLContext, location: Location): Verdict;
}

const UNPROVEN: Verdict = { aliases: false, evidence: "not proven" };

/** Bytes that each side writes, and how often. */
const LENGTH = 4096;
const TIMES = 3;

/**
 * Are the bytes that OpenCL has by an fd those that CUDA has? While OpenCL has a buffer acquired, and without a release or
 * an acquire between, CUDA writes random bytes that OpenCL then reads, and OpenCL writes others that CUDA then reads: a
 * driver that kept a copy of its own would have had no occasion to bring it up to date. CUDA's side of it is a second
 * import of the same fd, since the tensor itself is lent.
 */
export function importProof(mapper: unknown): ImportProof {
  const verdicts = new Map<string, Verdict>();
  const keyOf = (virtual: CudaVirtual, cl: OpenCLContext, location: Location) =>
    `${virtual.context.id.uuid} ${cl.device.handle} ${location}`;
  return {
    tryToProve(virtual, cl, location) {
      const key = keyOf(virtual, cl, location);
      if (verdicts.has(key)) return;
      try {
        verdicts.set(key, prove(mapper as Mapper, virtual, cl, location));
      } catch (error) {
        warn(`whether ${cl.name} uses CUDA's memory in place could not be tried: ${messageOf(error)}`);
      }
    },
    judge: (virtual, cl, location) => verdicts.get(keyOf(virtual, cl, location)) ?? UNPROVEN,
  };
}

function prove(mapper: Mapper, virtual: CudaVirtual, cl: OpenCLContext, location: Location): Verdict {
  const undo: Undo = [];
  const { context: cuda } = virtual;
  const copied = [cuda.bytesCopied, cl.bytesCopied];
  let missed: string | undefined;
  try {
    missed = experiment(mapper, virtual, cl, location, undo);
  } catch (error) {
    throwAll([error, ...unwind(undo)], "proving that memory is shared");
    throw error;
  }
  throwAll(unwind(undo), "ending a proof");
  // What a proof copies is not the program's.
  cuda.countCopied(copied[0] - cuda.bytesCopied);
  cl.countCopied(copied[1] - cl.bytesCopied);
  if (missed !== undefined) return { aliases: false, evidence: missed };
  return { aliases: true, evidence: `proven by aliasing both ways, ${location} memory by its fd` };
}

/** What kept the memory from being an alias; undefined where nothing did. */
function experiment(
  mapper: Mapper,
  virtual: CudaVirtual,
  cl: OpenCLContext,
  location: Location,
  undo: Undo,
): string | undefined {
  const made = <T extends Mapped>(mapped: T): T => {
    undo.push(() => mapped[Symbol.dispose]());
    return mapped;
  };
  const at = { shape: [LENGTH], dtype: "u8" } as const;
  const tensor = made(virtual.allocate({ ...at, location }));
  const other = made(importedAgain(virtual, tensor, at));
  const { stream } = virtual.context;
  const mapped = made(takeStep(mapper, tensor, cl, "read-write", { waits: [], returning: [] })) as OpenCLTensor;
  const seen = new Uint8Array(LENGTH);
  const differs = (wrote: Uint8Array) => wrote.some((byte, i) => byte !== seen[i]);
  for (let i = 0; i < TIMES; i++) {
    const asked = crypto.getRandomValues(new Uint8Array(LENGTH));
    stream.write(other, asked);
    cl.queue.read(mapped, seen);
    if (differs(asked)) return "OpenCL did not see what CUDA had written";
    const answered = crypto.getRandomValues(new Uint8Array(LENGTH));
    cl.queue.write(mapped, answered);
    stream.read(other, seen);
    if (differs(answered)) return "CUDA did not see what OpenCL had written";
  }
  return undefined;
}

function importedAgain(virtual: CudaVirtual, tensor: CudaTensor, at: LayoutInit): CudaTensor {
  const fd = virtual.exportFd(tensor);
  try {
    return virtual.import(fd, at);
  } finally {
    closeFd(fd);
  }
}
