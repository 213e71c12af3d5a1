import type { Fence } from "../../src/core/device/fence.ts";
import type { Line } from "../../src/core/device/line.ts";
import type { ImageInfo } from "../../src/core/layout/frame_info.ts";
import type { LayoutInit } from "../../src/core/layout/layout.ts";
import type { Frame } from "../../src/core/tensors/frame.ts";
import type { AttachOptions } from "../../src/core/tensors/adopt.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import { copyCall } from "../../src/vulkan/commands.ts";
import { VulkanContext, type VulkanKernel, type VulkanPlacement, type VulkanTensor } from "../../src/vulkan/mod.ts";
import { bytesAt } from "./bytes.ts";
import { Theirs } from "../vulkan/theirs.ts";
import { SIZE } from "./case.ts";
import type { End, Foreign, RawEnd } from "./subject.ts";

const SPIN = new URL("../vulkan/shaders/spin.spv", import.meta.url);

/** Loops are cut short on llvmpipe: several runs keep it busy for milliseconds. */
const TURNS = 60_000;
const RUNS = 40;

/** A context, and what both of its ends do with it. */
export abstract class VulkanHands implements Disposable {
  readonly context: VulkanContext;
  /** True if the CPU sees the device's memory. */
  protected readonly seen: boolean;
  readonly #spin: VulkanKernel;
  readonly #sum: VulkanTensor;

  /** A device by its name, or an open one, which it takes over. */
  constructor(device: string | VulkanContext) {
    this.context = typeof device === "string" ? VulkanContext.open({ device }) : device;
    this.#spin = this.context.program(Deno.readFileSync(SPIN)).kernel();
    this.#sum = this.context.allocate({ shape: [4], dtype: "u32" });
    this.seen = this.#sum.rawHandle.isHostVisible;
    this.context.queue.write(this.#sum, new Uint32Array(4)); // what bytes go through is made on the first transfer
  }

  /** Keeps the queue busy for some milliseconds. */
  busy(): void {
    for (let i = 0; i < RUNS; i++) this.#spin.run({ groups: [1] }, [this.#sum, TURNS]);
  }

  /** A buffer with these bytes. */
  protected filled(bytes: Uint8Array): VulkanTensor {
    const tensor = this.context.allocate({ shape: [bytes.length], dtype: "u8" });
    this.context.queue.write(tensor, bytes);
    return tensor;
  }

  [Symbol.dispose](): void {
    this.context[Symbol.dispose]();
  }
}

/** Waits of one line for another that may be in flight at a time. */
const WAITS = 4;

/** Imports take longer than the queue is kept busy: what the first round finds free, a later one needs besides. */
const ROUNDS = 4;

/**
 * Has lines keep the semaphores by which they wait for each other: those that a case would be the first to need are not new
 * then. The queue of `hands` keeps all of them in flight meanwhile.
 */
export function keepSemaphores(hands: VulkanHands, lines: readonly Line[]): void {
  const first = hands.context.line;
  const mark = (line: Line) => line.submitRaw(line.driver.marker!());
  const others = lines.filter((line) => line !== first);
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < WAITS; i++) hands.busy();
    for (const [waiter, other] of [...others.map((line) => [line, first]), ...pairsOf(lines)]) {
      for (let i = 0; i < WAITS; i++) waiter.waitFor([mark(other)]);
    }
    for (const line of lines) line.fence().waitSync();
  }
}

function pairsOf(lines: readonly Line[]): Line[][] {
  return lines.flatMap((waiter) => lines.filter((other) => other !== waiter).map((other) => [waiter, other]));
}

/** Vulkan's end of an edge: transfers write and read, with samepage's checks and without. */
export class VulkanEnd extends VulkanHands implements End {
  readonly target: VulkanContext;
  readonly hidden: boolean;
  readonly #made: VulkanPlacement;

  /** `made`: what its memory is made with. */
  constructor(device: string | VulkanContext, made: VulkanPlacement = {}) {
    super(device);
    this.target = this.context;
    this.#made = made;
    const look = (tensor: Tensor) => bytesAt((tensor as VulkanTensor).address!, tensor.layout.byteLength);
    this.hidden = !this.seen && made.memory !== "host";
    this.raw = this.hidden ? this.#raw : { ...this.#raw, look };
  }

  allocate(init: LayoutInit): Tensor {
    return this.target.allocate({ ...init, ...this.#made });
  }

  allocateFrame(info: ImageInfo): Frame {
    return this.target.allocateFrame(info, this.#made);
  }

  foreign(): Foreign {
    const theirs = new Theirs(this.target, SIZE);
    const attach = (length: number, options?: AttachOptions) =>
      this.target.attach(theirs.buffer, { shape: [length], dtype: "u8" }, options);
    return {
      attach: (options) => attach(SIZE, options),
      misfit: (options) => attach(theirs.size + 1, options),
      [Symbol.dispose]: () => theirs[Symbol.dispose](),
    };
  }

  submit(tensor: Tensor, bytes: Uint8Array): Fence {
    const from = this.filled(bytes);
    const { line } = this.target;
    this.busy();
    const { rawHandle, layout: { byteOffset: to, byteLength: length } } = tensor as VulkanTensor;
    // A copy of the queue's would need a slice of its bytes, which cannot be had while they are on their way back.
    const copy = copyCall(from.rawHandle, rawHandle, [{ from: 0, to, length }]);
    line.submit([{ tensor, access: "write", argument: "tensor" }], copy);
    const fence = line.fence();
    from.disposeAfter(fence);
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

  readonly raw: RawEnd;

  readonly #raw: RawEnd = {
    write: (tensor: Tensor, bytes: Uint8Array) => {
      const { rawHandle, layout: { byteOffset: to, byteLength: length } } = tensor as VulkanTensor;
      const from = this.filled(bytes);
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
  };
}
