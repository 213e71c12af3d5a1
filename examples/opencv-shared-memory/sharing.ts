/**
 * The right program: external memory, its `cl_mem`, and UMats over that as inputs and outputs, again and again.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { host, type HostTensor, type MapperGraph } from "@samepage/interop";
import type { OpenCVContext, OpenCVTensor } from "@samepage/interop/opencv";

/** A use of OpenCV, and by how much its OpenCL kernel may differ from its own code for the CPU, in steps of 1/255. */
interface Use {
  readonly name: string;
  readonly tolerance: number;
  run(cv: OpenCVContext, from: OpenCVTensor, to: OpenCVTensor): void;
}

const USES: readonly Use[] = [
  { name: "copyTo", tolerance: 0, run: (cv, from, to) => cv.copyTo(from, to) },
  {
    name: "copyTo, then bitwise_not in place",
    tolerance: 0,
    run(cv, from, to) {
      cv.copyTo(from, to);
      cv.bitwise_not(to, to);
    },
  },
  // The CPU's is exact fixed-point arithmetic, the kernel's floating-point: they may round to neighbours.
  { name: "GaussianBlur", tolerance: 1, run: (cv, from, to) => cv.GaussianBlur(from, to, [5, 5]) },
];

/** What came of some rounds. */
export interface Outcome {
  readonly padding: number;
  readonly rounds: number;
  /** Bytes that were compared, padding included. */
  readonly compared: number;
  /** Bytes that differ by more than they may. */
  readonly wrong: number;
  readonly transfers: string;
}

/** Rounds over memory whose rows are padded; each use in turn, with other pixels each time. */
export function share(
  cv: OpenCVContext,
  graph: MapperGraph,
  size: readonly [number, number],
  padding: number,
  rounds: number,
): Outcome {
  const [rows, cols] = size;
  const memory = () => host.allocate({ shape: [rows, cols], dtype: "u8", strides: [cols + padding, 1] });
  using from = memory();
  using to = memory();
  using expected = memory();
  let [compared, wrong, transfers] = [0, 0, ""];
  for (let round = 0; round < rounds; round++) {
    const use = USES[round % USES.length];
    change(from.view(), round);
    to.view().fill(round);
    expected.view().fill(round);
    {
      using uFrom = graph.map(from, cv.umat, { access: "read" });
      using uTo = graph.map(to, cv.umat);
      use.run(cv, uFrom, uTo);
      transfers = uTo.route.steps.map(({ edge, transfer }) => `${edge} ${transfer}`).join(", ");
    }
    {
      using mFrom = graph.map(from, cv.mat, { access: "read" });
      using mTo = graph.map(expected, cv.mat);
      use.run(cv, mFrom, mTo);
    }
    compared += to.layout.byteLength;
    wrong += differences(to, expected, use.tolerance);
  }
  return { padding, rounds, compared, wrong, transfers };
}

/** Other pixels for each round. */
function change(pixels: Uint8Array, round: number): void {
  if (round === 0) crypto.getRandomValues(pixels.subarray(0, Math.min(pixels.length, 65_536)));
  const words = new Uint32Array(pixels.buffer, 0, Math.floor(pixels.length / 4));
  let state = (round + 1) * 2654435761;
  for (let i = 0; i < words.length; i++) words[i] = state = Math.imul(state ^ (state >>> 15), 739995667) + i;
}

function differences(a: HostTensor, b: HostTensor, tolerance: number): number {
  const [left, right] = [a.bytes({ access: "read" }), b.bytes({ access: "read" })];
  if (Buffer.compare(left, right) === 0) return 0;
  return left.reduce((count, byte, i) => count + Number(Math.abs(byte - right[i]) > tolerance), 0);
}
