import type { LayoutInit } from "../../core/layout/layout.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";
import { closeFd } from "../../core/native/fd.ts";
import { MemoryClass, Proofs, verdictOf } from "../../core/device/proofs.ts";
import { takeStep } from "../../core/graph/graph.ts";
import type { Mapper } from "../../core/graph/mapper.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { CudaContext } from "../../cuda/context.ts";
import type { CudaVirtual } from "../../cuda/memory/virtual.ts";
import type { CudaTensor } from "../../cuda/tensor.ts";
import type { OpenCLContext } from "../../opencl/context.ts";
import type { OpenCLTensor } from "../../opencl/tensor.ts";

/** The place of virtual memory. */
export type Location = "device" | "host";

/** Two contexts on one device, and the edge from one to the other. */
interface Pair {
  readonly name: string;
  readonly mapper: Mapper;
  readonly virtual: CudaVirtual;
  readonly cl: OpenCLContext;
}

/** Bytes that each side writes, and how often. */
const LENGTH = 4096;
const TIMES = 3;

/** The classes of CUDA's virtual memory that OpenCL imports by an fd. */
export const IMPORTED: { readonly [L in Location]: MemoryClass<Pair> } = {
  device: classOf("device"),
  host: classOf("host"),
};

const PROOFS = new WeakMap<CudaVirtual, WeakMap<OpenCLContext, Proofs<Pair>>>();

/** What is proven about memory that OpenCL imports from CUDA. */
export function importProofs(virtual: CudaVirtual, cl: OpenCLContext, mapper: unknown): Proofs<Pair> {
  let known = PROOFS.get(virtual);
  if (known === undefined) PROOFS.set(virtual, known = new WeakMap());
  let proofs = known.get(cl);
  if (proofs === undefined) {
    const pair = { name: cl.name, mapper: mapper as Mapper, virtual, cl };
    known.set(cl, proofs = new Proofs<Pair>(pair, `${virtual.context.id.uuid} ${cl.device.handle}`));
  }
  return proofs;
}

/**
 * Proves that OpenCL's bytes by an fd are CUDA's. While OpenCL holds an acquired buffer, CUDA writes random bytes that
 * OpenCL reads, and OpenCL writes others that CUDA reads. There is no release or acquire in between at which a driver
 * could update a copy. CUDA uses a second import of the same fd, because the tensor itself is lent.
 */
function classOf(location: Location): MemoryClass<Pair> {
  const name = `${location} memory by its fd`;
  return new MemoryClass(name, (pair, undo) => {
    const { cl, virtual: { context: cuda } } = pair;
    const copied = [cuda.bytesCopied, cl.bytesCopied];
    undo.push(() => { // what a proof copies is not the program's
      cuda.countCopied(copied[0] - cuda.bytesCopied);
      cl.countCopied(copied[1] - cl.bytesCopied);
    });
    return verdictOf(experiment(pair, location, undo), name);
  });
}

/** What kept the memory from being an alias; undefined where nothing did. */
function experiment({ mapper, virtual, cl }: Pair, location: Location, undo: Undo): string | undefined {
  const made = <T extends Mapped>(mapped: T): T => {
    undo.push(() => mapped[Symbol.dispose]());
    return mapped;
  };
  const at = { shape: [LENGTH], dtype: "u8" } as const;
  const tensor = made(virtual.allocate({ ...at, location }));
  const other = made(importedAgain(virtual, tensor, at));
  const { stream } = virtual.context as CudaContext;
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
