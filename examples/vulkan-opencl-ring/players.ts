/**
 * Those who take turns on the same words: an OpenCL kernel, a CUDA kernel, a Vulkan shader. Each checks every word on its
 * device, counts in memory of its own what is wrong, and writes what the next turn expects.
 *
 * @module
 */
import type { Tensor } from "@samepage/interop";
import type { CudaContext, CudaTensor } from "@samepage/interop/cuda";
import type { OpenCLContext, OpenCLTensor } from "@samepage/interop/opencl";
import type { VulkanContext, VulkanTensor } from "@samepage/interop/vulkan";
import cl from "./turn.cl" with { type: "text" };
import cu from "./turn.cu" with { type: "text" };

/** The words of a ring are a multiple of this: work-items of a group, threads of a block. */
export const GROUP = 256;

/** One of those who take turns. */
export interface Player extends Disposable {
  /** Its API and device. */
  readonly name: string;
  /** Its context. */
  readonly context: OpenCLContext | CudaContext | VulkanContext;
  /** Submits a turn on words of its context, and returns at once. Words are 0 before turn 0. */
  turn(words: Tensor, turn: number): void;
  /** How many words were wrong since this was asked last; blocks. */
  wrong(): number;
}

/** What word `i` is before a turn. */
export function wordAt(turn: number, i: number): number {
  return Math.imul(turn, 2 * i + 1) >>> 0;
}

/** OpenCL's kernel. */
export function openclPlayer(context: OpenCLContext): Player {
  return player("OpenCL", context, context.queue, (made, wrong) => {
    const kernel = made.use(context.program(cl)).kernel("turn");
    return (words, n, turn) => kernel.run({ items: [n], groupSize: [GROUP] }, [words as OpenCLTensor, n, turn, wrong]);
  });
}

/** CUDA's kernel. */
export function cudaPlayer(context: CudaContext): Player {
  return player("CUDA", context, context.stream, (made, wrong) => {
    const kernel = made.use(context.program(cu)).kernel("turn", ["unsigned*", "unsigned", "unsigned", "unsigned*"]);
    return (words, n, turn) =>
      kernel.run({ groups: [n / GROUP], groupSize: [GROUP] }, [words as CudaTensor, n, turn, wrong]);
  });
}

/** Vulkan's compute shader. */
export function vulkanPlayer(context: VulkanContext): Player {
  const spirv = Deno.readFileSync(new URL("turn.spv", import.meta.url));
  return player("Vulkan", context, context.queue, (made, wrong) => {
    const kernel = made.use(context.program(spirv)).kernel();
    return (words, n, turn) => kernel.run({ groups: [n / GROUP] }, [words as VulkanTensor, wrong, n, turn]);
  });
}

/** A context whose memory is `T`. */
interface Allocates<T> {
  readonly name: string;
  allocate(init: { readonly shape: readonly number[]; readonly dtype: "u32" }): T;
}

/** Its queue or stream. */
interface Copies<T> {
  fill(tensor: T, value: number): void;
  read(tensor: T, into: Uint32Array): void;
}

/** Launches the kernel. */
type Launch = (words: Tensor, n: number, turn: number) => void;

function player<T extends Tensor, C extends Player["context"] & Allocates<T>>(
  api: string,
  context: C,
  queue: Copies<T>,
  make: (made: DisposableStack, wrong: T) => Launch,
): Player {
  using made = new DisposableStack();
  const counter = made.use(context.allocate({ shape: [1], dtype: "u32" }));
  const launch = make(made, counter);
  const turn = (words: Tensor, turn: number) => launch(words, words.layout.shape[0], turn);
  const count = new Uint32Array(1);
  const wrong = () => {
    queue.read(counter, count);
    queue.fill(counter, 0);
    return count[0];
  };
  // A driver loads a kernel when it is launched first, and blocks if that has to wait for another device's work.
  using scratch = context.allocate({ shape: [GROUP], dtype: "u32" });
  turn(scratch, 0);
  wrong();
  const kept = made.move();
  return { name: `${api} (${context.name})`, context, turn, wrong, [Symbol.dispose]: () => kept.dispose() };
}
