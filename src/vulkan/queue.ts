import type { VkQueue } from "../../ffi/vulkan/handles.ts";
import { isMade } from "../core/argument.ts";
import { Line, type Use } from "../core/device/line.ts";
import { type CommandOptions, DeviceQueue } from "../core/device/queue.ts";
import { LayoutError } from "../core/errors.ts";
import type { DType } from "../core/layout/dtype.ts";
import { encoded } from "../core/layout/numbers.ts";
import { countOf, placesOf, type Runs, runsBetween, runsOf } from "../core/layout/runs.ts";
import { finalizers } from "../core/life/finalizers.ts";
import type { Resource } from "../core/life/resource.ts";
import type { Access } from "../core/memory/access.ts";
import type { VulkanBase } from "./base.ts";
import { copyCall, fillCall, type Region } from "./commands.ts";
import { VulkanFence } from "./fence.ts";
import { VulkanImage } from "./images/tensor.ts";
import { VulkanLane } from "./lane.ts";
import { checks } from "./library.ts";
import { placeOf } from "./staging.ts";
import { VulkanTensor } from "./tensor.ts";

/** The most pieces that one command copies. */
const MOST_REGIONS = 65_536;

/** A queue, which runs commands in order. Work on a tensor waits for the earlier work on it. */
export class VulkanQueue extends DeviceQueue<VulkanLane> {
  /** Its line of work. For those who write mappers. */
  override readonly line: Line<VulkanLane>;
  readonly #base: VulkanBase;

  /** Made by the context, once, and by `vulkan.createQueue()`. */
  constructor(base: VulkanBase, line: Line<VulkanLane>) {
    super();
    this.#base = base;
    this.line = line;
    finalizers.register(this, this.resource, this);
  }

  /** Its context. */
  get context(): VulkanBase {
    return this.#base;
  }

  /** The `VkQueue`, which other queues of the context may share. Declare work that you submit to it by `tensor.usedBy`. */
  get handle(): VkQueue {
    this.resource.assertLive();
    return this.line.lane.queue;
  }

  /**
   * A `VkFence` that is signalled behind all commands so far, for other code that waits for one; where the device has
   * VK_KHR_external_fence_fd, it becomes a sync file.
   *
   * @example
   * ```ts
   * import { VulkanContext } from "@samepage/interop/vulkan";
   *
   * using vulkan = VulkanContext.open();
   * using fence = vulkan.queue.createFence(); // fence.handle is the VkFence
   * await vulkan.attachFence(fence.handle).wait();
   * ```
   */
  createFence(options: CommandOptions = {}): VulkanFence {
    this.resource.assertLive();
    return new VulkanFence(this.#base, this, this.after(options));
  }

  /**
   * Fills a tensor with a value of its dtype.
   *
   * @throws {ArgumentError} for a value that is none of the dtype, or has 8 bytes whose halves differ.
   * @throws {LayoutError} if its rows have gaps, or it does not begin and end at multiples of 4 bytes.
   *
   * @example
   * ```ts
   * import { VulkanContext } from "@samepage/interop/vulkan";
   *
   * using vulkan = VulkanContext.open();
   * using tensor = vulkan.allocate({ shape: [4], dtype: "f32" });
   * vulkan.queue.fill(tensor, 1.5);
   * const seen = new Float32Array(4);
   * vulkan.queue.read(tensor, seen);
   * console.log(seen); // Float32Array(4) [ 1.5, 1.5, 1.5, 1.5 ]
   * ```
   */
  fill(tensor: VulkanTensor, value: number | bigint, options: CommandOptions = {}): void {
    const after = this.after(options);
    const use = this.#use(tensor, "write", "tensor");
    const { byteOffset, byteLength, dtype } = tensor.layout;
    const word = wordOf(value, dtype);
    if (runsOf([tensor.layout]).dimensions.length > 0) throw unfit("tensor", `the rows of ${tensor.name} have gaps.`);
    if (byteOffset % 4 !== 0 || byteLength % 4 !== 0) {
      const what = `it begins at byte ${byteOffset} and has ${byteLength}: expected multiples of 4.`;
      throw unfit("tensor", what, "Write it: queue.write().");
    }
    this.line.submit([use], fillCall(tensor.rawHandle, byteOffset, byteLength, word), after);
  }

  /**
   * Copies a tensor's elements to another, and leaves the gaps alone.
   *
   * @throws {LayoutError} if shape or dtype differ, or their bytes overlap.
   */
  copy(from: VulkanTensor, to: VulkanTensor, options: CommandOptions = {}): void {
    const after = this.after(options);
    const uses = [this.#use(from, "read", "from"), this.#use(to, "write", "to")];
    const runs = runsBetween(from, to, { api: "vulkan", fn: "vkCmdCopyBuffer", argument: "to" });
    const regions = regionsOf(runs, [from.layout.byteOffset, to.layout.byteOffset]);
    const call = copyCall(from.rawHandle, to.rawHandle, regions);
    this.line.submit(uses, call, after);
  }

  /**
   * Reads a tensor's bytes, padding included, or an image's pixels, without gaps, into a typed array; blocks. The bytes are
   * copied, and counted: `vulkan.bytesCopied`.
   *
   * @throws {LayoutError} if the array has another length.
   */
  read(tensor: VulkanTensor | VulkanImage, into: ArrayBufferView, options: CommandOptions = {}): void {
    this.#move("read", tensor, into, "into", options);
  }

  /** Writes the bytes of a typed array to a tensor or an image; blocks. @throws like {@link read}. */
  write(tensor: VulkanTensor | VulkanImage, from: ArrayBufferView, options: CommandOptions = {}): void {
    this.#move("write", tensor, from, "from", options);
  }

  #move(
    way: "read" | "write",
    tensor: VulkanTensor | VulkanImage,
    given: ArrayBufferView,
    argument: string,
    options: CommandOptions,
  ): void {
    if (!isMade(tensor, VulkanImage)) checks.assertInstance(tensor, VulkanTensor, "tensor");
    const bytes = checks.bytesIn(given, argument);
    const { byteLength } = tensor.layout;
    if (bytes.length !== byteLength) {
      throw unfit(argument, `expected the ${byteLength} bytes of ${tensor.name}, got ${bytes.length}.`);
    }
    const use = this.#useOf(tensor, way, "tensor");
    const after = this.after(options);
    const place = tensor instanceof VulkanImage ? tensor.rawHandle : placeOf(tensor);
    this.#base.staging.move(way, place, bytes, this.line, (call) => this.line.submit([use], call, after));
    this.#base.countCopied(bytes.length);
  }

  #use(tensor: VulkanTensor, access: Access, argument: string): Use {
    checks.assertInstance(tensor, VulkanTensor, argument);
    return this.#useOf(tensor, access, argument);
  }

  /** The use of a buffer or an image. */
  #useOf(tensor: VulkanTensor | VulkanImage, access: Access, argument: string): Use {
    this.resource.assertLive();
    if (tensor.target.context === this.#base.context) return { tensor, access, argument };
    throw checks.wrong(
      argument,
      `${tensor.name} belongs to another context.`,
      "Map it here first: graph.map(tensor, vulkan).",
    );
  }
}

/** A line on one of a context's queues. */
export function newLine(base: Pick<VulkanBase, "openDevice" | "driver" | "name">, queue: VkQueue, owner?: Resource) {
  const { openDevice, driver, name } = base;
  return new Line<VulkanLane>({
    driver,
    name: `vulkan queue (${name})`,
    ...(owner === undefined ? {} : { owners: [owner] }),
    open: (events) => new VulkanLane(openDevice, queue, events),
  });
}

/** The regions of runs that are repeated along dimensions. */
function regionsOf({ length, dimensions }: Runs, begins: readonly [number, number]): Region[] {
  const count = countOf(dimensions);
  if (count > MOST_REGIONS) {
    throw unfit("to", `${count} rows with gaps between them are more than the ${MOST_REGIONS} of one copy.`);
  }
  return placesOf(begins, dimensions).map(([from, to]) => ({ from, to, length }));
}

/** A value of a dtype, repeated to 4 bytes. */
function wordOf(value: number | bigint, dtype: DType): number {
  const bytes = encoded([value], dtype, (refusal) => checks.wrong("value", refusal));
  const words = new Uint32Array(Uint8Array.from({ length: 8 }, (_, i) => bytes[i % bytes.length]).buffer);
  if (words[0] === words[1]) return words[0];
  throw checks.wrong("value", `Vulkan fills with 4 bytes, and the two halves of this ${dtype} differ.`, "Write it.");
}

function unfit(argument: string, what: string, hint?: string): LayoutError {
  return new LayoutError(`${argument}: ${what}`, { api: "vulkan", argument, hint });
}
