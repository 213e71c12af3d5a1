import { Printed } from "../core/printed.ts";
import * as vk from "../../ffi/vulkan/constants.ts";
import type { VkCommandBuffer, VkDeviceMemory } from "../../ffi/vulkan/handles.ts";
import type { Call, Turns } from "../core/contract.ts";
import { type Undo, undoAll } from "../core/life/undo.ts";
import { FdSource } from "./fds.ts";
import { EXPORT_KINDS, type ExportKind, HANDLES } from "./handle_kinds.ts";
import type { Used, VulkanLane } from "./lane.ts";
import { checks } from "./library.ts";
import { exportMemory, type MemoryInfo } from "./memory_object.ts";
import type { OpenDevice } from "./open_device.ts";

/** Who holds the memory: it is unused, this Vulkan uses it, or it was handed to another API or process. */
export type Holder = "nobody" | "vulkan" | "others";

/** Where memory comes from. New memory can be exported by some kinds of handle; imported memory came by one. */
export interface Whence {
  /** `"fd"` for imported memory. */
  readonly from: string;
  /** The kinds that it can be exported by: a bit for each. */
  readonly handleTypes?: number;
  /** The kind that it was imported by. */
  readonly handleType?: number;
}

/** A buffer or an image whose memory Vulkan and other APIs may use in turn. */
export abstract class SharedMemory extends Printed implements Used {
  /** The `VkDeviceMemory`; undefined for another library's. */
  abstract readonly memory: VkDeviceMemory | undefined;
  /** The parameters of the memory, which an importer has to repeat. */
  abstract readonly info: MemoryInfo | undefined;
  /** The device. */
  protected readonly device: OpenDevice;
  /** Frees the object and its memory. */
  protected readonly undo: Undo = [];
  readonly #handleTypes: number;
  readonly #fds = new Map<ExportKind, FdSource>();
  #holder: Holder;
  #others: number;

  /** The first command that uses imported memory acquires it. */
  constructor(device: OpenDevice, { from, handleTypes = 0, handleType = 0 }: Whence) {
    super();
    this.device = device;
    this.#handleTypes = handleTypes;
    this.#holder = from === "fd" ? "others" : "nobody";
    this.#others = this.#familyOf(handleType);
  }

  /** True if it is this device's object, and not another device's over the same memory. */
  isOf(device: OpenDevice): boolean {
    return this.device === device;
  }

  /** True if its memory was made for exports by this kind of fd. */
  exportsAs(kind: ExportKind): boolean {
    return (this.#handleTypes & HANDLES[kind].type) !== 0;
  }

  /**
   * A new fd of the whole memory, which the caller owns.
   *
   * @throws {ArgumentError} if the memory was not made for exports by this kind. No driver checks that.
   */
  exportFd(kind: ExportKind): number {
    if (!this.exportsAs(checks.nameIn(kind, EXPORT_KINDS, "kind"))) {
      throw checks.wrong(
        "kind",
        `the memory does not go out by a ${kind}.`,
        `Allocate it with { exportAs: "${kind}" }.`,
      );
    }
    let source = this.#fds.get(kind);
    if (source === undefined) {
      const made = source = new FdSource(() => exportMemory(this.device, this.memory!, HANDLES[kind].type));
      this.#fds.set(kind, made);
      this.undo.push(() => made.close());
    }
    return source.take();
  }

  /**
   * Hands it to other APIs by a kind of fd. Returns the command that releases it; undefined if Vulkan has not used it since
   * the last time. The next Vulkan command that uses it takes it back.
   */
  handOver(kind: ExportKind): Call<VulkanLane> | undefined {
    this.#others = this.#familyOf(HANDLES[kind].type);
    if (this.#holder === "vulkan") return this.#release();
    this.#holder = "others";
    return undefined;
  }

  /** The command that gives imported memory back to its owner. It does nothing if no command has used the memory. */
  giveBack(): Call<VulkanLane> {
    const release = this.#release();
    return { ...release, call: (lane) => this.#holder === "vulkan" ? release.call(lane) : lane.mark() };
  }

  /** Undefined: APIs that import an fd keep no record. @see {@link Used} */
  get turns(): Turns | undefined {
    return undefined;
  }

  /** Before a Vulkan command. @see {@link Used} */
  acquire(commands: VkCommandBuffer, family: number): void {
    if (this.#holder === "others") this.pass(commands, this.#others, family);
  }

  /** After its submit. @see {@link Used} */
  taken(): void {
    this.#holder = "vulkan";
  }

  /** Its kind and size. */
  toString(): string {
    return `${this.constructor.name} of ${this.info === undefined ? "other code" : `${this.info.size} bytes`}`;
  }

  /** Frees the object and its memory. */
  free(): void {
    undoAll(this.undo, "freeing Vulkan memory");
  }

  /** Records a barrier that passes it from one queue family to another. */
  protected abstract pass(commands: VkCommandBuffer, from: number, to: number): void;

  #release(): Call<VulkanLane> {
    const passed = (): Used => ({
      turns: this.turns,
      acquire: (commands, family) => this.pass(commands, family, this.#others),
      taken: () => {
        this.taken();
        this.#holder = "others";
      },
    });
    return { fn: "vkQueueSubmit", call: (lane) => lane.run([passed()], () => {}) };
  }

  /** The queue family of a handle's other owners: for a dma-buf, they need not be Vulkan. */
  #familyOf(handleType: number): number {
    return handleType === HANDLES["dma-buf"].type && this.device.has("VK_EXT_queue_family_foreign")
      ? vk.VK_QUEUE_FAMILY_FOREIGN_EXT
      : vk.VK_QUEUE_FAMILY_EXTERNAL;
  }
}
