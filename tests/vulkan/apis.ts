/**
 * The copies of Vulkan, OpenCL and CUDA, for tests of one memory in all of them.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Context, Target, Tensor } from "@samepage/interop";
import type { CudaContext, CudaTensor } from "@samepage/interop/cuda";
import type { OpenCLContext, OpenCLTensor } from "@samepage/interop/opencl";
import type { VulkanContext, VulkanTensor } from "@samepage/interop/vulkan";

/** An API's own copies; they block. */
export interface Api {
  readonly name: string;
  readonly context: Context;
  readonly target: Target;
  write(tensor: Tensor, bytes: Uint8Array<ArrayBuffer>): void;
  read(tensor: Tensor, into: Uint8Array<ArrayBuffer>): void;
}

/** Vulkan's. */
export function vulkanApi(vulkan: VulkanContext, name = "Vulkan"): Api {
  return {
    name,
    context: vulkan,
    target: vulkan,
    write: (tensor, bytes) => vulkan.queue.write(tensor as VulkanTensor, bytes),
    read: (tensor, into) => vulkan.queue.read(tensor as VulkanTensor, into),
  };
}

/** OpenCL's. */
export function openclApi(cl: OpenCLContext): Api {
  return {
    name: "OpenCL",
    context: cl,
    target: cl,
    write: (tensor, bytes) => cl.queue.write(tensor as OpenCLTensor, bytes),
    read: (tensor, into) => cl.queue.read(tensor as OpenCLTensor, into),
  };
}

/** CUDA's. */
export function cudaApi(cuda: CudaContext): Api {
  return {
    name: "CUDA",
    context: cuda,
    target: cuda,
    write: (tensor, bytes) => cuda.stream.write(tensor as CudaTensor, bytes),
    read: (tensor, into) => cuda.stream.read(tensor as CudaTensor, into),
  };
}

/** Random bytes. They come in pieces: getRandomValues gives no more at once. */
export function random(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, Math.min(length, at + 65_536)));
  return bytes;
}

/** The same bytes; else the first that differs is named. */
export function assertSame(found: Uint8Array, expected: Uint8Array, what: string): void {
  assertEquals(found.length, expected.length, what);
  const wrong = found.findIndex((byte, i) => byte !== expected[i]);
  assert(wrong < 0, `${what}: byte ${wrong} is ${found[wrong]}, expected ${expected[wrong]}`);
}
