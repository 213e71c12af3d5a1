/**
 * A GPU, and kernels that do what they are told, for the programs of the rows.
 *
 * @module
 */
import { host, type HostTensor, type InteropError, MapperGraph } from "@samepage/interop";
import { CudaContext, type CudaKernel, CudaLostError, type CudaProgram, type CudaTensor } from "@samepage/interop/cuda";
import { fails, judge, safe, same } from "./kit.ts";

/** Bytes of most rows. */
export const BYTES = { shape: [4096], dtype: "u8" } as const;

/** One block of 256 threads. */
export const ONE = { groups: [16], groupSize: [256] } as const;

const SOURCE = `
extern "C" __global__ void add(unsigned char* x, unsigned char n) { x[blockIdx.x * blockDim.x + threadIdx.x] += n; }
extern "C" __global__ void vectors(float4 v, int2 w, float* to) { to[0] = v.x + v.w + w.x + w.y; }
extern "C" __global__ void wait(unsigned char* x, unsigned int ms) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - begin < ms * 1000000ull);
  if (x) x[threadIdx.x] += 1;
}
extern "C" __global__ void wild(unsigned long long at) { *(volatile int*) at = 1; }
extern "C" __global__ void odd(unsigned char* x) { *(volatile int*) (x + 1) = 1; }
extern "C" __global__ void trap() { asm volatile("trap;"); }
`;

/** An assertion, as the compiler makes it. */
const ASSERTS = `
extern "C" __device__ void __assertfail(const char*, const char*, unsigned int, const char*, size_t);
extern "C" __global__ void asserts(int x) { if (x != 0) __assertfail("x == 0", "row.cu", 1, "asserts", 1); }
`;

/** Opens a GPU: the first. */
export function device(ordinal: number = 0): CudaContext {
  return CudaContext.open({ ordinal });
}

/** The kernels. */
export interface Kernels extends Disposable {
  readonly program: CudaProgram;
  /** `add(unsigned char* x, unsigned char n)`, a thread a byte. */
  readonly add: CudaKernel;
  /** `wait(unsigned char* x, unsigned int ms)`: then adds 1 to x of every thread of a block. */
  readonly wait: CudaKernel;
  /** `wild(unsigned long long at)` writes there. */
  readonly wild: CudaKernel;
}

/** Compiles them. */
export function kernels(cuda: CudaContext): Kernels {
  const program = cuda.program(SOURCE);
  return {
    program,
    add: program.kernel("add", ["unsigned char*", "unsigned char"]),
    wait: program.kernel("wait", ["unsigned char*", "unsigned int"]),
    wild: program.kernel("wild", ["unsigned long long"]),
    [Symbol.dispose]: () => program[Symbol.dispose](),
  };
}

/** A kernel that fails an assertion unless it is given 0. */
export function asserting(cuda: CudaContext): CudaKernel {
  return cuda.program(ASSERTS).kernel("asserts", ["int"]);
}

/** A device at work: for programs that end, terminate or dispose in the middle of it. */
export interface Work {
  readonly cuda: CudaContext;
  readonly graph: MapperGraph;
  readonly kernels: Kernels;
  /** 4096 bytes of 7, of which the kernel adds 1 to the first 256. */
  readonly source: HostTensor<"u8">;
  readonly mapped: CudaTensor;
}

/** Starts it. */
export function work(cuda: CudaContext, milliseconds: number = 50): Work {
  const graph = new MapperGraph([host, cuda]);
  const made = kernels(cuda);
  const source = host.allocate(BYTES);
  source.view().fill(7);
  const mapped = graph.map(source, cuda);
  made.wait.run({ groups: [1], groupSize: [256] }, [mapped, milliseconds]);
  return { cuda, graph, kernels: made, source, mapped };
}

/** A kernel has gone wrong: this says so, and so does everything from now on; the host's bytes are there. */
export function assertLost(cuda: CudaContext, codeName: string): void {
  try {
    cuda.stream.finish();
  } catch (error) {
    judge("finish", error, [CudaLostError]);
    const { codeName: name, hint } = error as InteropError;
    same("the code", name, codeName);
    same("a hint of what to do", /Start the process again/.test(hint ?? ""), true);
    using kept = host.allocate(BYTES);
    kept.view().fill(1);
    fails("allocate", () => cuda.allocate(BYTES), CudaLostError);
    fails("memory", () => cuda.memory(), CudaLostError);
    fails("finish again", () => cuda.stream.finish(), CudaLostError);
    safe("another context", () => device()[Symbol.dispose]());
    return;
  }
  throw new Error("nobody said that the kernel has gone wrong");
}
