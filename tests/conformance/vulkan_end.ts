import type { Fence } from "../../src/core/device/fence.ts";
import type { ImageInfo } from "../../src/core/layout/frame_info.ts";
import type { LayoutInit } from "../../src/core/layout/layout.ts";
import type { Frame } from "../../src/core/tensors/frame.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import { copyCall } from "../../src/vulkan/commands.ts";
import { VulkanContext, type VulkanKernel, type VulkanPlacement, type VulkanTensor } from "../../src/vulkan/mod.ts";
import { bytesAt } from "./bytes.ts";
import type { End } from "./subject.ts";

const SPIN = new URL("../vulkan/shaders/spin.spv", import.meta.url);

/** Loops are cut short on llvmpipe: several runs keep it busy for milliseconds. */
const TURNS = 60_000;
const RUNS = 40;

/** Vulkan's end of an edge: transfers write and read, with samepage's checks and without. */
export class VulkanEnd implements End, Disposable {
  readonly target: VulkanContext;
  readonly #spin: VulkanKernel;
  readonly #sum: VulkanTensor;
  readonly #made: VulkanPlacement;

  /** `made`: what its memory is made with. */
  constructor(device: string, made: VulkanPlacement = {}) {
    this.#made = made;
    this.target = VulkanContext.open({ device });
    this.#spin = this.target.program(Deno.readFileSync(SPIN)).kernel();
    this.#sum = this.target.allocate({ shape: [4], dtype: "u32" });
    this.target.queue.write(this.#sum, new Uint32Array(4)); // what bytes go through is made on the first transfer
  }

  allocate(init: LayoutInit): Tensor {
    return this.target.allocate({ ...init, ...this.#made });
  }

  allocateFrame(info: ImageInfo): Frame {
    return this.target.allocateFrame(info, this.#made);
  }

  submit(tensor: Tensor, bytes: Uint8Array): Fence {
    const from = this.#filled(bytes);
    const { queue } = this.target;
    for (let i = 0; i < RUNS; i++) this.#spin.run([1], [this.#sum, TURNS]);
    using to = asBytes(tensor);
    queue.copy(from, to as VulkanTensor);
    const fence = queue.fence();
    from.disposeAfter(fence);
    tensor.usedBy(fence);
    return fence;
  }

  // deno-lint-ignore require-await -- what it throws is a rejection, as at every end
  async write(tensor: Tensor, bytes: Uint8Array): Promise<void> {
    this.target.queue.write(tensor as VulkanTensor, bytes);
  }

  // deno-lint-ignore require-await
  async read(tensor: Tensor): Promise<Uint8Array> {
    const bytes = new Uint8Array(tensor.layout.byteLength);
    this.target.queue.read(tensor as VulkanTensor, bytes);
    return bytes;
  }

  readonly raw = {
    write: (tensor: Tensor, bytes: Uint8Array) => {
      const { rawHandle, layout: { byteOffset: to, byteLength: length } } = tensor as VulkanTensor;
      const from = this.#filled(bytes);
      const fence = this.target.line.submitRaw(copyCall(from.rawHandle, rawHandle, [{ from: 0, to, length }]));
      return async () => {
        await fence.wait();
        from[Symbol.dispose]();
      };
    },
    read: (tensor: Tensor) => {
      const { rawHandle, layout: { byteOffset: from, byteLength: length } } = tensor as VulkanTensor;
      using to = this.target.allocate({ shape: [length], dtype: "u8" });
      this.target.line.submitRaw(copyCall(rawHandle, to.rawHandle, [{ from, to: 0, length }])).waitSync();
      const bytes = new Uint8Array(length);
      this.target.queue.read(to, bytes);
      return Promise.resolve(bytes);
    },
    look: (tensor: Tensor) => bytesAt((tensor as VulkanTensor).address!, tensor.layout.byteLength),
  };

  [Symbol.dispose](): void {
    this.target[Symbol.dispose]();
  }

  #filled(bytes: Uint8Array): VulkanTensor {
    const tensor = this.target.allocate({ shape: [bytes.length], dtype: "u8" });
    this.target.queue.write(tensor, bytes);
    return tensor;
  }
}

/** All bytes from the first element to the last. */
function asBytes(tensor: Tensor): Tensor {
  const { byteOffset, byteLength } = tensor.layout;
  return tensor.slice({ shape: [byteLength], dtype: "u8", byteOffset });
}
