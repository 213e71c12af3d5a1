/**
 * What the sweeps over CUDA share. It has to be imported before a library is opened.
 *
 * @module
 */
import { natives } from "./census.ts"; // first: it taps the libraries
import { assertEquals } from "@std/assert";
import type { CudaContext } from "../../src/cuda/mod.ts";
import { keepEvents } from "../conformance/cuda_end.ts";
import { gpuTest, withCuda } from "../cuda/help.ts";
import { type Fault, sweep } from "./sweep.ts";

/** Bytes of most tensors. */
export const SIZE = 8192;

/** A tensor of as many. */
export const BYTES = { shape: [SIZE], dtype: "u8" } as const;

/** A kernel, which has a name of its own only once it is asked for. */
export const SOURCE = `
template <class T> __global__ void put(T* to, const T* from, unsigned long long count) {
  size_t i = blockIdx.x * (size_t) blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}`;

/** What it is asked for by. */
export const NAME = "put<unsigned char>";

/** What it takes. */
export const TYPES = ["unsigned char*", "const unsigned char*", "unsigned long long"] as const;

/** A thread for each byte. */
export const LAUNCH = { groups: [SIZE / 256], groupSize: [256] } as const;

/** More sweeps than it takes until every call had its turn. */
const MAX_SWEEPS = 8;

/** Work that could not be asked about is asked again, and nothing is said of it. */
const ASKED_AGAIN: readonly string[] = ["cudart.cudaEventRecord", "cudart.cudaEventQuery"];

/**
 * Sweeps over an operation; what it made the first time, and keeps, is not a leak. The calls that are named were among
 * them.
 */
export async function swept(
  operation: () => unknown,
  calls: readonly string[],
  intact: () => unknown = () => {},
): Promise<readonly Fault[]> {
  await operation();
  const before = natives();
  const faults: Fault[] = [];
  const missing = () => calls.filter((call) => !faults.some((fault) => fault.call === call));
  // Waiting takes some calls more in one run than in another, so that what comes after it may be missed.
  for (let i = 0; i < MAX_SWEEPS && (i === 0 || missing().length > 0); i++) {
    faults.push(
      ...await sweep(operation, async () => {
        await intact();
        assertEquals(natives(), before, "native objects");
      }, "any"),
    );
  }
  assertEquals(missing(), [], `not among ${[...new Set(faults.map(({ call }) => call))].join(", ")}`);
  return faults;
}

/** A sweep on a device. The context outlives what fails in it, and is closed well. */
export function test(name: string, run: (cuda: CudaContext) => unknown, count = 1, lacks?: string): void {
  gpuTest(
    `faults: ${name}`,
    () =>
      withCuda(async (cuda) => {
        keepEvents(cuda);
        await run(cuda);
      }),
    count,
    lacks,
  );
}

/** Every failure but of work that is asked again came out as an error. */
export function assertNoneSwallowed(faults: readonly Fault[]): void {
  assertEquals(
    faults.filter(({ error, call }) => error === undefined && !ASKED_AGAIN.includes(call)).map(({ call }) => call),
    [],
    "failures that went unsaid",
  );
}
