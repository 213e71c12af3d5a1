/**
 * The proof on the GPU: kernels of two APIs take turns on the same words, ordered by semaphores alone. Every word is checked
 * on the device at every turn, and the calls in which the host waits are counted.
 *
 * 10,000 laps of the small size, and a fifth of the others: where both share one GPU, a lap is its switch from one context
 * to the other and back, 0.3 ms. SAMEPAGE_RING_LAPS sets another number; with
 * fewer than the control takes there is none, since under a tool that slows kernels down they stay in order by chance.
 */
import { assertRight, assertWrong, byHand, byMaps, type Ran, type Size, SIZES, tell, UNORDERED } from "./ring/ring.ts"; // first: it taps the libraries
import { vulkanPlayer } from "../../examples/vulkan-opencl-ring/players.ts";
import { onOneGpu, onTwoGpus, type Sharing, withCuda } from "../../bench/harness/sharing.ts";
import { bySemaphores, type Order } from "../../bench/operations/order.ts";
import { type Gpu, gpus, sharingTest } from "./gpu.ts";

const LAPS = Number(Deno.env.get("SAMEPAGE_RING_LAPS") ?? 10_000);

/** How many laps the control runs. */
const FEW = 300;

function lapsOf(size: Size): number {
  return size === "256 words" ? LAPS : Math.max(1, Math.floor(LAPS / 5));
}

const withVulkan = (gpu: Gpu) => onOneGpu(gpu, (made) => made.use(vulkanPlayer(made.use(gpu.vulkan()))));

/** All sizes; what is thrown says which one. */
async function eachSize(what: string, ring: (words: number, laps: number) => Promise<Ran>): Promise<void> {
  for (const size of Object.keys(SIZES) as Size[]) {
    const laps = lapsOf(size);
    try {
      const ran = await ring(SIZES[size], laps);
      tell(what, size, laps, ran);
      assertRight(`${what}, ${size}`, ran);
    } catch (error) {
      throw new Error(`${what}, ${size}: ${error instanceof Error ? error.message : error}`, { cause: error });
    }
  }
}

async function ringByHand(table: Sharing, n: number, laps: number, order: Order): Promise<Ran> {
  using made = new DisposableStack();
  const words = table.words(n, made);
  return await byHand(table.players, table.apart(words, made), order, words, laps);
}

async function allByHand(table: Sharing): Promise<void> {
  const what = `${table.players.map(({ name }) => name).join(" and ")}, by hand`;
  await eachSize(what, async (n, laps) => {
    using order = bySemaphores(table.vulkan, table.players);
    return await ringByHand(table, n, laps, order);
  });
  if (LAPS < FEW) return;
  // Large enough for the kernels to outlast their submits: two GPUs would stay in order by chance.
  const ran = await ringByHand(table, SIZES["4K RGBA"], FEW, UNORDERED);
  tell(`${what}, without the semaphores`, "4K RGBA", FEW, ran);
  assertWrong(what, ran);
}

async function allByMaps({ players, words }: Sharing): Promise<void> {
  const what = `${players.map(({ name }) => name).join(" and ")}, by maps`;
  await eachSize(what, async (n, laps) => {
    using made = new DisposableStack();
    return await byMaps(players, words(n, made), laps);
  });
}

sharingTest("OpenCL and CUDA on one GPU take turns by two semaphores, and not without them", async () => {
  using table = withCuda(gpus[0]);
  await allByHand(table);
});

sharingTest("OpenCL and CUDA on one GPU take turns by maps alone", async () => {
  using table = withCuda(gpus[0]);
  await allByMaps(table);
});

sharingTest("OpenCL and a Vulkan shader take turns by two semaphores, and not without them", async () => {
  using table = withVulkan(gpus[0]);
  await allByHand(table);
});

sharingTest("OpenCL and a Vulkan shader take turns by maps alone", async () => {
  using table = withVulkan(gpus[0]);
  await allByMaps(table);
});

sharingTest("OpenCL on one GPU and CUDA on another take turns by two semaphores, and not without them", async () => {
  using table = onTwoGpus(gpus);
  await allByHand(table);
}, 2);

sharingTest("OpenCL on one GPU and CUDA on another take turns by maps alone", async () => {
  using table = onTwoGpus(gpus);
  await allByMaps(table);
}, 2);
