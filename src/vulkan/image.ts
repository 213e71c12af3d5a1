import type { VkImage } from "../../ffi/vulkan/handles.ts";
import { VK_IMAGE_LAYOUT_GENERAL } from "../../ffi/vulkan/constants.ts";
import { type Names, optionsIn, shown } from "../core/argument.ts";
import type { Memory, MemoryTarget, Turns } from "../core/contract.ts";
import { type Context, PrintedTarget } from "../core/graph/context.ts";
import { describeLayout, type Layout } from "../core/layout/layout.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { Allocation } from "../core/memory/allocation.ts";
import { own } from "../core/memory/own.ts";
import { findByHandle, registerByHandle } from "../core/memory/peers.ts";
import type { Access } from "../core/memory/access.ts";
import { attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import { type ImageImport, importImage } from "../core/tensors/foreign_memory.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { VulkanBase } from "./base.ts";
import { EXPORT_KINDS, type ExportKind } from "./handle_kinds.ts";
import { ImageAbilities } from "./images/abilities.ts";
import { choose, ONE_PICTURE, ordersIn, type VulkanTiling } from "./images/choice.ts";
import { clearCall } from "./images/commands.ts";
import type { VulkanFormat } from "./images/formats.ts";
import { type ForeignImage, ImageObject, type ImageSpec, objectOf } from "./images/image_object.ts";
import { portsOf } from "./images/ports.ts";
import { assertSize, pixelsIn } from "./images/shape.ts";
import { VulkanImage } from "./images/tensor.ts";
import { checks } from "./library.ts";

/** Options of {@link VulkanImageTarget.allocate}. */
export interface VulkanImageInit {
  /** `[height, width, channels]`, or `[layers, height, width, channels]`; one channel may be left out. */
  readonly shape: readonly number[];
  /** The order of the pixels; `"optimal"` by default. */
  readonly tiling?: VulkanTiling;
  /** The kind of fd by which other APIs import it; by default the best that the device has for this tiling, if any. */
  readonly exportAs?: ExportKind;
}

/** The description of another library's image. */
export interface VulkanImageForm {
  /** `[height, width, channels]`, or `[layers, height, width, channels]`; one channel may be left out. */
  readonly shape: readonly number[];
  /** Its VkImageLayout until the first command here uses it; VK_IMAGE_LAYOUT_GENERAL by default. */
  readonly layout?: number;
}

const INIT: Names<VulkanImageInit> = { shape: true, tiling: true, exportAs: true };
const FORM: Names<VulkanImageForm> = { shape: true, layout: true };

/** Attaches an image of a library that keeps the record of whose turn it is. */
export let attachedTo: (
  target: VulkanImageTarget,
  image: bigint,
  form: VulkanImageForm,
  access: Access | undefined,
  turns: Turns | undefined,
) => VulkanImage;

/** Images of one format in one context, as a node of the graph. `vulkan.image(format)` returns the same object each time. */
export class VulkanImageTarget extends PrintedTarget<Context> implements MemoryTarget<VulkanImage> {
  /** The kind of memory. */
  readonly kind = "vulkan.image";
  /** The format of the pixels. */
  readonly format: VulkanFormat;
  /** What the device can do with such images. For mappers. */
  readonly abilities: ImageAbilities;
  /** Its ports: opaque fds and dma-bufs. For mappers. */
  readonly ports: Memory<VulkanImage, ImageObject>;
  /** The context. For mappers. */
  readonly base: VulkanBase;

  static {
    attachedTo = (target, ...about) => target.#attached(...about);
  }

  /** Made by `vulkan.image()`. */
  constructor(base: VulkanBase, format: VulkanFormat) {
    super(base.context);
    this.base = base;
    this.format = format;
    this.abilities = new ImageAbilities(base.openDevice, format);
    this.ports = portsOf(this);
  }

  /** The format, for messages. */
  protected override facts(): string[] {
    return [this.format.name];
  }

  /** True for images that were mapped to this target or allocated by it. */
  is(value: Mapped): value is VulkanImage {
    return value instanceof VulkanImage && value.target === this;
  }

  /** The DRM format modifiers of images whose pixels lie in one plane of memory; none without VK_EXT_image_drm_format_modifier. */
  get modifiers(): readonly bigint[] {
    return this.abilities.modifiers;
  }

  /**
   * Allocates a zeroed image.
   *
   * @throws {LayoutError} for a shape that is not an image of this format, or is larger than the device's images.
   * @throws {ArgumentError} if the device has no images of this format in this tiling, or exports none by the kind of fd in
   * `exportAs`.
   * @throws {NativeCallError} if memory runs out.
   *
   * @example
   * ```ts
   * import { VulkanContext } from "@samepage/interop/vulkan";
   *
   * using vulkan = VulkanContext.open();
   * using image = vulkan.image("R8G8B8A8_UNORM").allocate({ shape: [480, 640, 4] });
   * const pixels = new Uint8Array(480 * 640 * 4).fill(255);
   * vulkan.queue.write(image, pixels);
   * console.log(image.width, vulkan.bytesCopied); // 640 1228800
   * ```
   */
  allocate(init: VulkanImageInit): VulkanImage {
    const { shape, tiling = "optimal", exportAs } = optionsIn(init, INIT, "init");
    const { width, height, layers, ...at } = pixelsIn(shape, this.format);
    const orders = ordersIn(tiling);
    if (exportAs !== undefined) checks.nameIn(exportAs, EXPORT_KINDS, "exportAs");
    if (layers !== undefined && (tiling !== "optimal" || exportAs === "dma-buf")) {
      throw checks.wrong(tiling === "optimal" ? "exportAs" : "tiling", ONE_PICTURE.reason, ONE_PICTURE.remedy);
    }
    this.base.resource.assertLive();
    const { handleTypes, ability, ...order } = choose(this, orders, exportAs);
    const size = { width, height, layers };
    assertSize(size, ability, this.base.name);
    const object = new ImageObject(this.base.openDevice, { ...size, format: this.format, usage: ability.usage }, {
      ...order,
      origin: { from: "new", place: "device", handleTypes },
      dedicated: ability.dedicated,
    });
    const undo: Undo = [() => object.free()];
    return allOrNothing("allocating a Vulkan image", () => {
      const { line } = this.base;
      const cleared = line.submitRaw(clearCall(object));
      undo.push(() => line.block(cleared.mark));
      const image = this.#over(this.#allocationOf(object, at), object, at);
      image.resource.usedBy(cleared);
      return image;
    }, undo);
  }

  /**
   * Attaches to a `VkImage` of this `VkDevice` and this format that other code made: 2D, with one level, the shape's layers,
   * one sample, and usable for transfers and as a storage image. It stays its maker's, and has to outlive the result. It is in
   * VK_IMAGE_LAYOUT_GENERAL after the first command that uses it here.
   *
   * @param image a live `VkImage`; a wrong one crashes the process
   * @param form the parameters that vkCreateImage was called with. Vulkan does not report them, so mistakes go unnoticed
   * @throws {ArgumentError} if `image` is not a handle.
   * @throws {LayoutError} for a shape that is not an image of this format.
   */
  attach(image: bigint, form: VulkanImageForm, options: AttachOptions = {}): VulkanImage {
    return attaching(options, (access) => this.#attached(image, form, access));
  }

  /**
   * An image over other code's memory by its fd (VK_KHR_external_memory_fd). The fd stays the caller's, who may close it at
   * once, whether this succeeds or not. samepage does not see the other code's work: order it by semaphores
   * (`importSemaphore`) or by `after`.
   *
   * @param fd an opaque fd (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT) of memory on the same device
   * @param init the size of the image, and the parameters of the memory. The image has to be made with the create info of
   *   `allocate` here, usage and flags included; `offset` is 0
   * @throws {ArgumentError} for anything but an open fd, another device's `uuid`, and if the device imports no fds.
   * @throws {LayoutError} for a shape that is not an image of this format, or is larger than the device's images.
   * @throws {NativeCallError} if the driver refuses the fd.
   *
   * @example
   * ```ts ignore
   * import { VulkanContext } from "@samepage/interop/vulkan";
   *
   * declare const theirs: { uuid: string; exportFd(): number; allocationSize: number }; // a `VkImage` of a program's own code
   * using vulkan = VulkanContext.open({ uuid: theirs.uuid });
   * const target = vulkan.image("R8G8B8A8_UNORM");
   * using image = target.importMemory(theirs.exportFd(), { shape: [480, 640, 4], size: theirs.allocationSize });
   * ```
   */
  importMemory(fd: number, init: ImageImport, options: AttachOptions = {}): VulkanImage {
    return importImage(this, fd, init, this.format, options, (size) => {
      const { maxImageDimension2D: maxWidth, maxImageArrayLayers: maxLayers } = this.base.openDevice.facts.limits;
      assertSize({ layers: undefined, ...size }, { maxWidth, maxHeight: maxWidth, maxLayers }, this.base.name);
    });
  }

  #attached(image: bigint, form: VulkanImageForm, access: Access | undefined, turns?: Turns): VulkanImage {
    const handle = checks.handleIn<VkImage>(image, "image");
    const { shape, layout = VK_IMAGE_LAYOUT_GENERAL } = optionsIn(form, FORM, "form");
    if (!Number.isInteger(layout) || layout < 0 || layout >= 2 ** 31) {
      throw checks.wrong("form.layout", `expected a VkImageLayout, got ${shown(layout)}.`);
    }
    const { width, height, layers, ...at } = pixelsIn(shape, this.format);
    const said = { width, height, layers, format: this.format };
    this.base.resource.assertLive();
    const known = findByHandle(this.#registryKey, handle);
    const object = (known && objectOf(known)) ??
      this.#foreign(said, { origin: { from: "foreign", image: handle, layout }, turns });
    if (describeSpec(object.spec) !== describeSpec(said)) {
      throw checks.wrong("image", `it is known here as ${describeSpec(object.spec)}.`);
    }
    return this.#over(known ?? this.#allocationOf(object, at), object, at, access);
  }

  #foreign(said: Omit<ImageSpec, "usage">, from: ForeignImage): ImageObject {
    const usage = this.abilities.of("optimal", 0)?.usage ?? 0;
    return new ImageObject(this.base.openDevice, { ...said, usage }, from);
  }

  /** Distinguishes devices, because handles of two devices may be equal. */
  get #registryKey(): string {
    return `VkImage of ${this.base.openDevice.handle}`;
  }

  #allocationOf(object: ImageObject, { byteLength }: Layout): Allocation {
    const allocation = new Allocation({ kind: "vulkan.image", byteLength, free: () => object.free() });
    object.attachTo(allocation);
    registerByHandle(this.#registryKey, object.image, allocation);
    return allocation;
  }

  #over(allocation: Allocation, handle: ImageObject, layout: Layout, access: Access = "read-write"): VulkanImage {
    const name = `vulkan image ${describeLayout(layout)}`;
    const resource = own({ name, allocation, access, owners: [this.base.resource] });
    return new VulkanImage({ target: this, handle, layout, resource });
  }
}

function describeSpec({ width, height, layers, format }: Omit<ImageSpec, "usage">): string {
  return `${layers === undefined ? "" : `${layers} layers of `}${width} × ${height} pixels of ${format.vulkan}`;
}
