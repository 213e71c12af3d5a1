import type { Tensor } from "@samepage/interop";
import type { VulkanContext } from "@samepage/interop/vulkan";
import { cudaPlayer, openclPlayer, type Player } from "../../examples/vulkan-opencl-ring/players.ts";
import { importedApart } from "../operations/apart.ts";
import { type Gpu, sharedGpus } from "./gpus.ts";
import { Missing } from "./program.ts";

/** Two that take turns on one memory. */
export interface Sharing extends Disposable {
  /** Vulkan, which makes the semaphores. */
  readonly vulkan: VulkanContext;
  /** An OpenCL kernel, and another API's. */
  readonly players: readonly [Player, Player];
  /** Memory for them, zeroed, that ends with `made`. */
  words(n: number, made: DisposableStack): Words;
  /** The memory as each of them has it by hand: as if those were different ones. */
  apart(words: Words, made: DisposableStack): readonly [Tensor, Tensor];
}

/** Words, as their exporter has them. */
export interface Words {
  /** The memory. */
  readonly tensor: Tensor;
  /** Reads all of it; blocks. */
  read(words: Uint32Array<ArrayBuffer>): void;
}

/** An OpenCL kernel and one of `other`'s on one GPU, in memory of Vulkan's. */
export function onOneGpu(gpu: Gpu, other: (made: DisposableStack) => Player): Sharing {
  using made = new DisposableStack();
  const vulkan = made.use(gpu.vulkan());
  const players = [made.use(openclPlayer(made.use(gpu.opencl()))), other(made)] as const;
  const kept = made.move();
  return {
    vulkan,
    players,
    words(n, made) {
      const tensor = made.use(vulkan.allocate({ shape: [n], dtype: "u32" }));
      return { tensor, read: (words) => vulkan.queue.read(tensor, words) };
    },
    apart({ tensor }, made) {
      const [one, other] = players.map(({ context }) => made.use(importedApart(tensor, context)).tensor);
      return [one, other];
    },
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/** The other player of {@link onOneGpu}: CUDA's kernel. */
export function withCuda(gpu: Gpu): Sharing {
  return onOneGpu(gpu, (made) => made.use(cudaPlayer(made.use(gpu.cuda()))));
}

/**
 * An OpenCL kernel on the first GPU, and CUDA's on the second. The memory is CUDA's, on the first: no driver imports
 * Vulkan's on another GPU.
 */
export function onTwoGpus([first, second]: readonly Gpu[]): Sharing {
  using made = new DisposableStack();
  const vulkan = made.use(first.vulkan());
  const [owner, cuda] = [made.use(first.cuda()), made.use(second.cuda())];
  const players = [made.use(openclPlayer(made.use(first.opencl()))), made.use(cudaPlayer(cuda))] as const;
  const kept = made.move();
  return {
    vulkan,
    players,
    words(n, made) {
      const tensor = made.use(owner.virtual.allocate({ shape: [n], dtype: "u32", devices: [cuda] }));
      owner.stream.fill(tensor, 0);
      owner.stream.finish();
      return { tensor, read: (words) => owner.stream.read(tensor, words) };
    },
    apart: ({ tensor }, made) => [made.use(importedApart(tensor, players[0].context)).tensor, tensor],
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/** On how many GPUs: OpenCL has the first, and CUDA the last. */
export type GpuCount = 1 | 2;

const opened = new Map<GpuCount, Sharing>();

/** What is in use until the process ends: it is neither disposed nor collected. */
const kept: DisposableStack[] = [];

/** Takes what a figure makes and never ends. */
export function forGood(): DisposableStack {
  const made = new DisposableStack();
  kept.push(made);
  return made;
}

/** The players of this process on so many GPUs: opened by the first who asks, and never closed. @throws {Missing} */
export function shared(count: GpuCount): Sharing {
  const gpus = gpusFor(count);
  let found = opened.get(count);
  if (found === undefined) opened.set(count, found = count === 1 ? withCuda(gpus[0]) : onTwoGpus(gpus));
  return found;
}

/** What keeps a figure from a machine with one. */
export const NEEDS_TWO = "needs 2 GPUs";

/** So many GPUs, at least. @throws {Missing} where there are fewer. */
export function gpusFor(count: GpuCount): readonly Gpu[] {
  const { gpus, missing } = sharedGpus();
  if (missing !== undefined) throw new Missing(missing);
  if (gpus.length < count) throw new Missing(NEEDS_TWO);
  return gpus;
}
