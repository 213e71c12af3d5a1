import { NULL } from "../../../ffi/address.ts";
import * as vk from "../../../ffi/vulkan/constants.ts";
import type { VkCommandBuffer, VkDeviceMemory, VkImage, VkImageView } from "../../../ffi/vulkan/handles.ts";
import * as layouts from "../../../ffi/vulkan/structs.ts";
import type { Turns } from "../../core/contract.ts";
import type { LayoutError } from "../../core/errors.ts";
import { type Undo, undone } from "../../core/life/undo.ts";
import type { PictureSize } from "../../core/layout/pictures.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { check } from "../errors.ts";
import { checks, vulkan } from "../library.ts";
import { allocateMemory, type MemoryInfo, needsOf, type Origin } from "../memory_object.ts";
import type { OpenDevice } from "../open_device.ts";
import { createSemaphore } from "../semaphores.ts";
import { SharedMemory } from "../shared_memory.ts";
import { chain, type Struct, struct } from "../struct.ts";
import { type Order, tilingOf } from "./abilities.ts";
import type { VulkanFormat } from "./formats.ts";

/** Where the pixels lie in the memory. */
export interface Rows {
  /** The first byte of the first row. */
  readonly offset: number;
  /** From one row to the next, in bytes. */
  readonly stride: number;
}

/**
 * The order of the pixels: the driver's own; row by row, as the driver lays the rows out; the best of several DRM format
 * modifiers; or the known order of foreign memory.
 */
export type Tiling =
  | { readonly order: "optimal" | "linear" }
  | { readonly order: "modifier"; readonly of: readonly bigint[] }
  | { readonly order: "given"; readonly modifier: bigint; readonly rows: Rows };

const IMAGE = {};

export function objectOf(allocation: Allocation): ImageObject | undefined {
  return allocation.findAttachment(IMAGE);
}

/** The format and uses of an image. */
export interface ImageSpec extends PictureSize {
  /** The format of its pixels. */
  readonly format: VulkanFormat;
  /** What it is used for: VkImageUsageFlagBits. */
  readonly usage: number;
}

/** New or imported memory for an image. */
export interface ImageMemory {
  /** Where it comes from. */
  readonly origin: Extract<Origin, { readonly from: "new" | "fd" }>;
  /** The order of the pixels. */
  readonly tiling: Tiling;
  /** True if the memory must be this image's alone. */
  readonly dedicated: boolean;
  /** The length of memory that comes from elsewhere. */
  readonly byteLength?: number;
}

/** Another library's image. */
export interface ForeignImage {
  /** Where it comes from. */
  readonly origin: { readonly from: "foreign"; readonly image: VkImage; readonly layout: number };
  /** The record of whose turn it is, if its library keeps one. */
  readonly turns?: Turns | undefined;
}

const { VK_IMAGE_LAYOUT_UNDEFINED: UNDEFINED, VK_IMAGE_LAYOUT_GENERAL: GENERAL } = vk;
const COLOR = vk.VK_IMAGE_ASPECT_COLOR_BIT;
const ANY = vk.VK_ACCESS_MEMORY_READ_BIT | vk.VK_ACCESS_MEMORY_WRITE_BIT;

export function rangeOf({ layers = 1 }: ImageSpec) {
  return { aspectMask: COLOR, levelCount: 1, layerCount: layers } as const;
}

/**
 * A `VkImage` and its memory: the handle of an image's tensor. Its layout is VK_IMAGE_LAYOUT_GENERAL from the first command
 * that uses it, as other APIs expect. For backends.
 */
export class ImageObject extends SharedMemory {
  /** The `VkImage`. */
  readonly image: VkImage;
  /** The `VkDeviceMemory`; undefined for another library's image. */
  readonly memory: VkDeviceMemory | undefined;
  /** The parameters of its memory, which an importer has to repeat. Undefined for another library's image. */
  readonly info: MemoryInfo | undefined;
  /** Its format and uses. */
  readonly spec: ImageSpec;
  /** The DRM format modifier of the pixels; 0 for row by row, undefined for an unknown order. */
  readonly modifier: bigint | undefined;
  /** The order of its pixels; undefined for another library's image. */
  readonly order: Order | undefined;
  /** Where the rows lie in the memory; undefined for the driver's own order. */
  readonly rows: Rows | undefined;
  #layout: number;
  #turns: Turns | undefined;
  #view: VkImageView | undefined;

  /**
   * Makes the image, and allocates or imports its memory; or uses another library's image. The driver takes over an fd only if
   * this succeeds.
   */
  constructor(device: OpenDevice, spec: ImageSpec, from: ImageMemory | ForeignImage) {
    super(device, from.origin);
    this.spec = spec;
    if (isForeign(from)) {
      this.image = from.origin.image;
      this.#layout = from.origin.layout;
      this.#turns = from.turns;
      return;
    }
    const { origin, tiling, byteLength } = from;
    const { undo } = this;
    this.#layout = origin.from === "new" ? UNDEFINED : GENERAL;
    try {
      this.image = createImage(device, spec, from, undo);
      const needs = needsOf((reported) => {
        const info = struct("VkImageMemoryRequirementsInfo2", { image: this.image });
        vulkan().vkGetImageMemoryRequirements2(device.handle, info, reported);
      });
      if (byteLength !== undefined && needs.size > byteLength) throw tooShort(needs.size, byteLength);
      const wanted = { ...needs, size: byteLength ?? needs.size, dedicated: needs.dedicated || from.dedicated };
      const { handle, info } = allocateMemory(device, origin, wanted, { image: this.image }, undo);
      this.memory = handle;
      this.info = info;
      check(vulkan().vkBindImageMemory(device.handle, this.image, handle, 0n), "vkBindImageMemory");
      this.modifier = modifierOf(device, this.image, tiling);
      this.order = tiling.order === "optimal" || tiling.order === "linear" ? tiling.order : this.modifier;
      this.rows = rowsOf(device, this.image, tiling);
    } catch (error) {
      throw undone(error, undo, "making an image");
    }
  }

  /** Makes an allocation known as this image's own. */
  attachTo(allocation: Allocation): void {
    allocation.attachment(IMAGE, () => this);
  }

  /** The `VkImageView` of the whole image, for shaders. Made on first use. */
  get view(): VkImageView {
    if (this.#view !== undefined) return this.#view;
    const { image, spec, spec: { format: { code: format }, layers } } = this;
    const viewType = layers === undefined ? vk.VK_IMAGE_VIEW_TYPE_2D : vk.VK_IMAGE_VIEW_TYPE_2D_ARRAY;
    const info = struct("VkImageViewCreateInfo", { image, viewType, format, ...rangeOf(spec) });
    return this.#view = this.device.create<VkImageView>("ImageView", info, this.undo);
  }

  /** True if shaders can use it. */
  get isStorage(): boolean {
    return (this.spec.usage & vk.VK_IMAGE_USAGE_STORAGE_BIT) !== 0;
  }

  /** The record of whose turn it is, if another library uses the image too. @see {@link SharedMemory} */
  override get turns(): Turns | undefined {
    return this.#turns;
  }

  /** Lets another library use the image too: makes the record for that, with a semaphore that ends with the image. */
  takingTurns(): Turns {
    if (this.#turns !== undefined) return this.#turns;
    const semaphore = createSemaphore(this.device, "timeline-fd", this.undo);
    // Mesa's queue touches the semaphores of a submit once more after it has signalled them, FFmpeg's submits too.
    const [queue] = this.device.handles.queues;
    this.undo.push(() => check(vulkan().vkQueueWaitIdle(queue), "vkQueueWaitIdle"));
    return this.#turns = { semaphore, value: 0n, layout: this.#layout, access: 0 };
  }

  /** Uses the record that the other library keeps, until the image ends. */
  keepTurns(turns: Turns, release: () => void): void {
    this.#turns = turns;
    this.undo.push(release);
  }

  /** The image's layout after all commands so far. */
  get #current(): number {
    return this.#turns?.layout ?? this.#layout;
  }

  /** Before a Vulkan command: brings a new image into its layout. @see {@link SharedMemory} */
  override acquire(commands: VkCommandBuffer, family: number): void {
    if (this.#current === GENERAL) super.acquire(commands, family);
    else this.pass(commands, vk.VK_QUEUE_FAMILY_IGNORED, vk.VK_QUEUE_FAMILY_IGNORED);
  }

  /** After its submit. @see {@link SharedMemory} */
  override taken(): void {
    super.taken();
    this.#layout = GENERAL;
    if (this.#turns === undefined) return;
    this.#turns.value++;
    this.#turns.layout = GENERAL;
    this.#turns.access = ANY;
  }

  /** Records the barrier. @see {@link SharedMemory} */
  protected override pass(commands: VkCommandBuffer, from: number, to: number): void {
    const barrier = struct("VkImageMemoryBarrier", {
      srcAccessMask: ANY,
      dstAccessMask: ANY,
      oldLayout: this.#current,
      newLayout: GENERAL,
      srcQueueFamilyIndex: from,
      dstQueueFamilyIndex: to,
      image: this.image,
      ...rangeOf(this.spec),
    });
    const all = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    vulkan().vkCmdPipelineBarrier(commands, all, all, 0, 0, NULL, 0, NULL, 1, barrier.address);
  }
}

function isForeign(from: ImageMemory | ForeignImage): from is ForeignImage {
  return from.origin.from === "foreign";
}

function createImage(device: OpenDevice, spec: ImageSpec, { origin, tiling }: ImageMemory, undo: Undo): VkImage {
  const handleTypes = origin.from === "new" ? origin.handleTypes : origin.handleType;
  const { format: { code: format }, width, height, layers = 1, usage } = spec;
  const info = struct("VkImageCreateInfo", {
    ...{ imageType: vk.VK_IMAGE_TYPE_2D, format, width, height, depth: 1, mipLevels: 1, arrayLayers: layers },
    ...{ samples: vk.VK_SAMPLE_COUNT_1_BIT, tiling: nativeTiling(tiling), usage },
    ...{ sharingMode: vk.VK_SHARING_MODE_EXCLUSIVE, initialLayout: UNDEFINED },
  });
  const links: Struct[] = [];
  if (handleTypes !== 0) links.push(struct("VkExternalMemoryImageCreateInfo", { handleTypes }));
  if (tiling.order === "modifier") {
    links.push(struct("VkImageDrmFormatModifierListCreateInfoEXT", {
      drmFormatModifierCount: tiling.of.length,
      pDrmFormatModifiers: BigUint64Array.from(tiling.of),
    }));
  } else if (tiling.order === "given") {
    const { modifier, rows: { offset, stride } } = tiling;
    links.push(struct("VkImageDrmFormatModifierExplicitCreateInfoEXT", {
      drmFormatModifier: modifier,
      drmFormatModifierPlaneCount: 1,
      pPlaneLayouts: struct("VkSubresourceLayout", { offset, rowPitch: stride }),
    }));
  }
  return device.create<VkImage>("Image", chain(info, ...links), undo);
}

function nativeTiling({ order }: Tiling): number {
  return tilingOf(order === "optimal" || order === "linear" ? order : 0n);
}

function modifierOf(device: OpenDevice, image: VkImage, { order }: Tiling): bigint | undefined {
  if (order === "optimal") return undefined;
  if (order === "linear") return 0n; // DRM_FORMAT_MOD_LINEAR
  const reported = struct("VkImageDrmFormatModifierPropertiesEXT");
  const fn = "vkGetImageDrmFormatModifierPropertiesEXT";
  check(device.extensions[fn]!(device.handle, image, reported), fn);
  return reported.word(layouts.VkImageDrmFormatModifierPropertiesEXT.fields.drmFormatModifier);
}

function rowsOf(device: OpenDevice, image: VkImage, { order }: Tiling): Rows | undefined {
  if (order === "optimal") return undefined;
  const aspectMask = order === "linear" ? COLOR : vk.VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT;
  const reported = struct("VkSubresourceLayout");
  vulkan().vkGetImageSubresourceLayout(device.handle, image, struct("VkImageSubresource", { aspectMask }), reported);
  const { offset, rowPitch } = layouts.VkSubresourceLayout.fields;
  return { offset: Number(reported.word(offset)), stride: Number(reported.word(rowPitch)) };
}

function tooShort(needs: number, has: number): LayoutError {
  return checks.unfit(
    "source",
    `Vulkan needs ${needs} bytes for such an image, and the memory has ${has}.`,
    "Are size, format, stride and tiling what its owner has? Each has to be the same.",
    "vkGetImageMemoryRequirements2",
  );
}
