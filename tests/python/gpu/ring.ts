/**
 * A kernel of ours and PyTorch take turns on the same words, each on a stream of its own. Every word is checked on the
 * GPU at every turn.
 *
 * @module
 */
import { countBlocking } from "../../vulkan/ring/blocking.ts"; // first: it taps the libraries
import type { Fence } from "@samepage/interop";
import type { CudaContext, CudaTensor } from "@samepage/interop/cuda";
import { toDLPack } from "@samepage/interop/dlpack";
import type { Python, PythonObject } from "@samepage/interop/python";
import source from "./turn.cu" with { type: "text" };

/** Words: in the last lap of 10,000 they are below 2^31. */
export const COUNT = 1 << 14;

const LAUNCH = { groups: [COUNT / 256], groupSize: [256] } as const;

/** Laps that are submitted at once, and counted. At the first of each, one stream is made late, and then the other. */
const BATCH = 250;

/** Some 5 ms: longer than it takes to submit several laps. */
const LATE = 10_000_000;

/** What came of a ring. */
export interface Ran {
  /** Words that were wrong, summed up over all turns of both. */
  readonly wrong: number;
  /** The calls within the laps in which the host waited. */
  readonly blocking: ReadonlyMap<string, number>;
  /** Microseconds of a lap on the host, from the first submit to the last. */
  readonly lap: number;
}

/** PyTorch's turns: ring.py as a module. */
export function ringOfPyTorch(python: Python): PythonObject {
  const folder = new URL(".", import.meta.url).pathname;
  python.run("import sys\nsys.dont_write_bytecode = True\nsys.path[:0] = [folder] if folder not in sys.path else []", {
    folder,
  });
  return python.import("ring");
}

/** Lends the words to PyTorch for a turn of its. */
export type Turn = (words: CudaTensor, number: number) => void;

/** By a loan: the streams wait for each other. */
export function inOrder(python: Python, ring: PythonObject): Turn {
  return (words, number) => {
    using array = python.toArray(words, "torch");
    ring.call("turn", array, number);
  };
}

/** By a loan that orders nothing. */
export function unordered(ring: PythonObject): Turn {
  return (words, number) => {
    const loan = toDLPack(words, { stream: -1 });
    ring.call("turn_of_capsule", loan.handOver(), number);
  };
}

/** A kernel of ours that takes a turn on words and counts what is wrong. */
export function ourTurn(
  cuda: CudaContext,
  made: DisposableStack,
): { turn: Turn; late(cycles: number): void; wrong(): number } {
  const program = made.use(cuda.program(source));
  const turn = made.use(program.kernel("turn", ["int*", "int", "int", "unsigned*"]));
  const late = made.use(program.kernel("late", ["int"]));
  const wrong = made.use(cuda.allocate({ shape: [1], dtype: "u32" }));
  cuda.stream.fill(wrong, 0);
  return {
    turn: (words, number) => turn.run(LAUNCH, [words, COUNT, number, wrong]),
    late: (cycles) => late.run({ groups: [1], groupSize: [1] }, [cycles]),
    wrong() {
      const count = new Uint32Array(1);
      cuda.stream.read(wrong, count);
      return count[0];
    },
  };
}

/** Runs the laps on words that are zeroed. Two turns make a lap: ours, and PyTorch's. */
export async function run(
  cuda: CudaContext,
  ring: PythonObject,
  words: CudaTensor,
  theirs: Turn,
  laps: number,
): Promise<Ran> {
  using made = new DisposableStack();
  const ours = ourTurn(cuda, made);
  ring.call("start", COUNT);
  let number = 0;
  const lap = () => {
    ours.turn(words, number++);
    theirs(words, number++);
  };
  ours.late(1);
  ring.call("late", 1);
  lap(); // the first one loads the kernels of both
  cuda.stream.finish();
  ring.call("strict", true);
  const blocking = new Map<string, number>();
  let spent = 0;
  for (let behind: Fence | undefined, left = laps; left > 0; left -= BATCH) {
    const began = performance.now();
    countBlocking(blocking, () => {
      ring.call("late", LATE);
      for (let i = 0; i < Math.min(left, BATCH); i++) {
        if (i === BATCH / 2) ours.late(LATE);
        lap();
      }
    });
    spent += performance.now() - began;
    await behind?.wait();
    behind = cuda.stream.fence();
  }
  ring.call("strict", false);
  cuda.stream.finish();
  return { wrong: ours.wrong() + ring.call<number>("end"), blocking, lap: 1000 * spent / laps };
}
