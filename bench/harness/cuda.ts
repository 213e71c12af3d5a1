import { host, InteropError, MapperGraph } from "@samepage/interop";
import { CudaContext, cudaDevices, type CudaKernel, type GroupRange } from "@samepage/interop/cuda";
import source from "../kernels.cu" with { type: "text" };
import { compile } from "../../src/cuda/kernels/compile.ts";
import { sourceIn } from "../../src/cuda/kernels/source.ts";
import { FRAME, PIXELS } from "./frame.ts";
import { Missing } from "./program.ts";

/** What each kernel of kernels.cu takes. */
const KERNELS = {
  six: ["const unsigned char*", "const unsigned char*", "unsigned char*", "int", "unsigned char", "float"],
  touch: ["unsigned char*"],
  invert: ["unsigned char*", "unsigned"],
  read_all: ["const unsigned char*", "unsigned", "unsigned*"],
  write_all: ["unsigned char*", "unsigned", "unsigned"],
  invert_strided: ["unsigned char*", "unsigned", "unsigned"],
  read_again: ["const unsigned char*", "unsigned char*", "unsigned", "unsigned"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Threads of a block. */
export const BLOCK = 256;

/** Bytes that one thread of most kernels has to do with. */
const PIECE = 16;

/** Bytes of a frame. */
export const FRAME_BYTES: number = PIXELS * FRAME.shape[2];

/** The GPU, the graph and the kernels of this process: opened by the first who asks, and never closed. */
export interface CudaBench {
  readonly cuda: CudaContext;
  readonly graph: MapperGraph;
  /** What the kernels were compiled to: C loads the same. */
  readonly cubin: Uint8Array<ArrayBuffer>;
  /** A kernel of kernels.cu. */
  kernel(name: keyof typeof KERNELS): CudaKernel;
}

let opened: CudaBench | undefined;

/** The first GPU. @throws {Missing} where there is none. */
export function gpu(): CudaBench {
  return opened ??= openGpu();
}

function openGpu(): CudaBench {
  const reason = noCuda();
  if (reason !== undefined) throw new Missing(reason);
  const cuda = CudaContext.open();
  const cubin = compile(sourceIn(source, { name: "kernels.cu" }), cuda.device).code.bytes;
  const program = cuda.programFromCubin(cubin);
  return {
    cuda,
    graph: new MapperGraph([host, cuda]),
    cubin,
    kernel: (name) => program.kernel(name, KERNELS[name]),
  };
}

let asked: { readonly reason: string | undefined } | undefined;

/** Why CUDA has no GPU here; undefined where it has one. */
export function noCuda(): string | undefined {
  asked ??= { reason: whyNoCuda() };
  return asked.reason;
}

function whyNoCuda(): string | undefined {
  try {
    return cudaDevices().length > 0 ? undefined : "CUDA shows no GPU";
  } catch (error) {
    if (error instanceof InteropError) return `there is no GPU: ${error.message.split(/(?<=\.) /)[0]}`;
    throw error;
  }
}

/** A thread for each of so many things. */
export function threads(count: number): GroupRange {
  return { groups: [Math.ceil(count / BLOCK)], groupSize: [BLOCK] };
}

/** How many pieces some bytes are, and how a kernel with a thread for each is launched. */
export function pieces(bytes: number): { readonly count: number; readonly launch: GroupRange } {
  const count = bytes / PIECE;
  return { count, launch: threads(count) };
}
