/**
 * Vulkan's memory, on which kernels of two APIs take turns: OpenCL's and CUDA's where all three have the same GPU, else
 * OpenCL's and Vulkan's, else those of two Vulkan devices in one process. Each turn maps the memory and leaves it behind its
 * work; semaphores that samepage makes keep the turns in order. Every word is checked on the device at every turn.
 *
 * Run it as `deno run -A examples/vulkan-opencl-ring/main.ts [laps]`.
 *
 * @module
 */
import { InteropError, ledger, MapperGraph } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { OpenCLContext } from "@samepage/interop/opencl";
import { VulkanContext, type VulkanTensor } from "@samepage/interop/vulkan";
import { says } from "../cuda-edges/gpu.ts";
import { openOr } from "../cuda-edges/open.ts";
import { print } from "../edges/report.ts";
import { cudaPlayer, openclPlayer, type Player, vulkanPlayer } from "./players.ts";

/** Laps between which the program lets go of the event loop, so that maps can end. */
const BATCH = 100;

const laps = Number(Deno.args[0] ?? 1000);
const shape = [1 << 20];
const alive = JSON.stringify(ledger.alive);
try {
  if (!(Number.isSafeInteger(laps) && laps > 0)) {
    throw new InteropError(`laps: expected a number, got ${Deno.args[0]}.`);
  }
  const vulkan = openOr(() => VulkanContext.open());
  if (vulkan instanceof InteropError) print("device", `none. ${vulkan.message}`);
  else await ring(vulkan);
} catch (error) {
  if (!(error instanceof InteropError)) throw error;
  console.error(`${error.name}: ${error.message}`);
  Deno.exitCode = 1;
}
const left = JSON.stringify(ledger.alive);
print("left", left === alive ? "nothing: every native object was given back" : left);
if (left !== alive) Deno.exitCode = 1;

/** All laps, in memory of this device. */
async function ring(opened: VulkanContext): Promise<void> {
  using made = new DisposableStack();
  const vulkan = made.use(opened);
  print("device", vulkan.name);
  const words = made.use(vulkan.allocate({ shape, dtype: "u32" })); // zeroed, as turn 0 expects them
  const players = playersOn(vulkan, words, made);
  const contexts = players.map(({ context }) => context);
  const graph = made.use(new MapperGraph([vulkan, ...contexts]));
  print("turns", players.map(({ name }) => name).join(", then "));
  const before = copiedBy(contexts);
  let [turn, waits] = [0, 0];
  for (let lap = 1; lap <= laps; lap++) {
    for (const player of players) {
      const mapped = graph.map(words, player.context);
      player.turn(mapped, turn++);
      mapped.disposeAfter(player.context.line.fence()); // the other's turn waits for it, and not the host
      waits += mapped.route.steps.filter(({ hostWait }) => hostWait).length;
    }
    if (lap % BATCH === 0) await players[1].context.line.fence().wait();
  }
  await graph[Symbol.asyncDispose]();
  const copied = copiedBy(contexts) - before;
  const wrong = players.reduce((sum, player) => sum + player.wrong(), 0);
  print("laps", `${laps} laps over ${shape[0]} words`);
  print("result", says(wrong === 0, "0 mismatches: every word was right at every turn", `${wrong} mismatches`));
  print("copied", says(copied === 0, "0 bytes", `${copied} bytes`));
  const reason = vulkan.absent.get("VK_KHR_external_semaphore_fd");
  print("waits", `${waits} of the host's${waits === 0 || reason === undefined ? "" : `: ${reason}`}`);
}

function copiedBy(contexts: readonly Player["context"][]): number {
  return contexts.reduce((sum, { bytesCopied }) => sum + bytesCopied, 0);
}

/** Two that share the device's memory: OpenCL and CUDA; Vulkan in place of one that cannot, which says why. */
function playersOn(vulkan: VulkanContext, words: VulkanTensor, made: DisposableStack): readonly Player[] {
  const players: Player[] = [];
  const cl = openOr(() => OpenCLContext.open({ on: vulkan }));
  if (cl instanceof InteropError) print("opencl", `not here. ${cl.message}`);
  else if (reaches(made.use(cl), words)) players.push(made.use(openclPlayer(cl)));
  const cuda = openOr(() => CudaContext.open({ on: vulkan }));
  if (cuda instanceof InteropError) print("cuda", `not here. ${cuda.message}`);
  else if (reaches(made.use(cuda), words)) players.push(made.use(cudaPlayer(cuda)));
  while (players.length < 2) {
    const other = made.use(VulkanContext.open({ on: vulkan }));
    players.push(made.use(vulkanPlayer(other)));
  }
  return players;
}

/** Can the context use the words in place? If not, it says why. */
function reaches(context: OpenCLContext | CudaContext, words: VulkanTensor): boolean {
  using graph = new MapperGraph([words.target.context, context]);
  const route = graph.explain(words, context);
  print(context.api, route.open ? String(route).split("\n")[0] : `not here. ${route.refused[0].reason}`);
  return route.open;
}
