/**
 * Three kernels over an image that the CPU has read, and whose result it uses: with pinned memory, with unified memory, and
 * with copies to memory of the device, side by side. All three give the same result; the advisor says which one is for this
 * device, and by which rule.
 *
 * Run it as `deno run -A examples/cuda-image-chain/main.ts`.
 *
 * @module
 */
import { cudaTraitsOf } from "@samepage/interop/advisor";
import type { CudaContext } from "@samepage/interop/cuda";
import { onGpu, says } from "../cuda-edges/gpu.ts";
import { print, tableOf, Times } from "../edges/report.ts";
import { choose, lineOf, rowsOf } from "./choice.ts";
import { chain, HEIGHT, IMAGE_BYTES, readImage, WIDTH } from "./image.ts";
import { Kernels } from "./kernels.ts";
import { Copied, Pinned, Unified, type Way } from "./ways.ts";

/** Runs of each way that are measured, in turn. */
const RUNS = 9;

/** The ways, by the kind of memory at the ends. */
const WAYS = { pinned: Pinned, managed: Unified, device: Copied } as const;

type Kind = keyof typeof WAYS;

const image = new Int32Array(WIDTH * HEIGHT);
readImage(image);
const expected = chain(image);
print("image", `${WIDTH} × ${HEIGHT} ints, ${IMAGE_BYTES} bytes; k1, k2, k3`);

await onGpu((cuda) => {
  const choice = choose(cudaTraitsOf(cuda.device));
  const { input, between, output } = choice;
  print("advice", lineOf("input", input), lineOf("between", between), lineOf("output", output));
  print("rules", ...rowsOf(choice));

  using kernels = new Kernels(cuda);
  using ways = new DisposableStack();
  const there = kindsOf(cuda);
  const made = new Map(there.map((kind) => [kind, ways.use<Way>(new WAYS[kind](cuda, kernels, choice))]));
  const times = Object.fromEntries(there.map((kind) => [kind, new Times()]));
  const copied = new Map(there.map((kind) => [kind, 0]));
  const wrong = new Map(there.map((kind) => [kind, 0]));
  for (let i = 0; i <= RUNS; i++) {
    for (const [kind, way] of made) {
      const before = cuda.bytesCopied;
      const run = () =>
        way.run(readImage, (result) => {
          if (result.some((value, i) => value !== expected[i])) wrong.set(kind, wrong.get(kind)! + 1);
        });
      if (i === 0) run(); // the first loads the kernels, and is not measured
      else times[kind].measure(run);
      copied.set(kind, cuda.bytesCopied - before);
    }
  }
  for (const kind of there) {
    const verdict = says(wrong.get(kind) === 0, "equal to the CPU's result", `${wrong.get(kind)} results are others`);
    print(kind, `${verdict}; ${copied.get(kind)} bytes copied a run`);
  }
  print("time", ...tableOf(times), `the middle of ${RUNS} runs of each, in turn, with what the CPU does`);
  print("chosen", `${input.kind}, by ${input.rules[0]}`);
  if (output.kind !== input.kind) print("", `for the output: ${output.kind}, by ${output.rules[0]}`);
});

/** The kinds that a device has. */
function kindsOf({ device: { attributes } }: CudaContext): Kind[] {
  if (attributes.managedMemory === 1) return ["pinned", "managed", "device"];
  print("managed", "the device has no unified memory (managedMemory is 0)");
  return ["pinned", "device"];
}
