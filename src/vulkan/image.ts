import type { VkImage } from "../../ffi/vulkan/handles.ts";
import { VK_IMAGE_LAYOUT_GENERAL } from "../../ffi/vulkan/constants.ts";
import { type Names, optionsIn, shown } from "../core/argument.ts";
import type { Refusal } from "../core/errors.ts";
import type { Memory, MemoryTarget } from "../core/device/memory.ts";
import type { Context } from "../core/graph/context.ts";
import { describeLayout, type Layout } from "../core/layout/layout.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { Allocation } from "../core/memory/allocation.ts";
import { own } from "../core/memory/own.ts";
import { findByHandle, tellByHandle } from "../core/memory/peers.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { VulkanBase } from "./base.ts";
import { type ExportKind, HANDLES } from "./handle_kinds.ts";
import { ImageAbilities, type ImageAbility, type Order } from "./images/abilities.ts";
import { clearCall } from "./images/commands.ts";
import type { VulkanFormat } from "./images/formats.ts";
import { ImageObject, objectOf, type Tiling } from "./images/image_object.ts";
import { ONLY_THE_DEVICE, portsOf } from "./images/ports.ts";
import { assertSize, pixelsIn, type Size } from "./images/shape.ts";
import { VulkanImage } from "./images/tensor.ts";
import { checks } from "./library.ts";

/** The order of an image's pixels in memory. */
export type VulkanTiling =
  /** The driver's own, which is the fastest: only the same device knows it. */
  | "optimal"
  /** Row by row, as the driver lays them out. */
  | "linear"
  /** By one of these DRM format modifiers: the driver takes the best that it has. */
  | { readonly modifiers: readonly bigint[] };

/** Options of {@link VulkanImageTarget.allocate}. */
export interface VulkanImageInit {
  /** `[height, width, channels]`; `[height, width]` for pixels of one channel. */
  readonly shape: readonly number[];
  /** The order of the pixels; `"optimal"` by default. */
  readonly tiling?: VulkanTiling;
  /** The kind of fd by which other APIs get it; by default the best that the device has for this tiling, if any. */
  readonly exportAs?: ExportKind;
}

/** What a program says of another library's image. */
export interface VulkanImageForm {
  /** `[height, width, channels]`; `[height, width]` for pixels of one channel. */
  readonly shape: readonly number[];
  /** Its VkImageLayout until the first command here uses it; VK_IMAGE_LAYOUT_GENERAL by default. */
  readonly layout?: number;
}

const INIT: Names<VulkanImageInit> = { shape: true, tiling: true, exportAs: true };
const FORM: Names<VulkanImageForm> = { shape: true, layout: true };
const TILINGS = { optimal: true, linear: true } as const;
const KINDS = { "opaque-fd": true, "dma-buf": true } as const satisfies { [K in ExportKind]: true };

/** Images of one format in one context, as a node of the graph. `vulkan.image(format)` returns the same object each time. */
export class VulkanImageTarget implements MemoryTarget<VulkanImage> {
  /** The kind of memory. */
  readonly kind = "vulkan.image";
  /** The context. */
  readonly context: Context;
  /** The format of the pixels. */
  readonly format: VulkanFormat;
  /** What the device does with such images. For those who write mappers. */
  readonly abilities: ImageAbilities;
  /** Its ports: opaque fds and dma-bufs. For those who write mappers. */
  readonly ports: Memory<VulkanImage, ImageObject>;
  /** The context, as its parts know it. For those who write mappers. */
  readonly base: VulkanBase;

  /** Made by `vulkan.image()`. */
  constructor(base: VulkanBase, format: VulkanFormat) {
    this.base = base;
    this.context = base.context;
    this.format = format;
    this.abilities = new ImageAbilities(base.openDevice, format);
    this.ports = portsOf(this);
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
   * Allocates an image, every byte of it zero.
   *
   * @throws {LayoutError} for a shape that is no image of this format, or more than the device takes.
   * @throws {ArgumentError} if the device has no images of this format in this tiling, or none that go out as `exportAs` asks.
   * @throws {NativeCallError} if there is too little memory.
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
    const { width, height, ...at } = pixelsIn(shape, this.format);
    const orders = ordersIn(tiling);
    if (exportAs !== undefined) checks.nameIn(exportAs, KINDS, "exportAs");
    this.base.resource.assertLive();
    const { chosen, handleTypes, ability } = this.#choice(orders, exportAs);
    assertSize({ width, height }, ability, this.base.name);
    const spec = { format: this.format, width, height, usage: ability.usage };
    const object = new ImageObject(this.base.openDevice, spec, {
      origin: { from: "new", place: "device", handleTypes },
      tiling: chosen,
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
   * Attaches to a `VkImage` of this `VkDevice` that other code made, of this format: 2D, with one level and one layer, one
   * sample, and usable for transfers and as a storage image. It stays its maker's, and lives longer than the result. It is
   * in VK_IMAGE_LAYOUT_GENERAL after the first command that uses it here.
   *
   * @param image a live `VkImage`; a wrong one crashes the process
   * @throws {ArgumentError} if it is not a handle.
   * @throws {LayoutError} for a shape that is no image of this format.
   */
  attach(image: bigint, form: VulkanImageForm): VulkanImage {
    const handle = checks.handleIn<VkImage>(image, "image");
    const { shape, layout = VK_IMAGE_LAYOUT_GENERAL } = optionsIn(form, FORM, "form");
    if (!Number.isInteger(layout) || layout < 0) {
      throw checks.wrong("form.layout", `expected a VkImageLayout, got ${shown(layout)}.`);
    }
    const { width, height, ...at } = pixelsIn(shape, this.format);
    this.base.resource.assertLive();
    const known = findByHandle(this.#handleKind, handle);
    const object = (known && objectOf(known)) ?? this.#foreign({ width, height }, handle, layout);
    if (object.spec.format !== this.format || object.spec.width !== width || object.spec.height !== height) {
      const { format, width, height } = object.spec;
      throw checks.wrong("image", `it is known here as ${width} × ${height} pixels of ${format.vulkan}.`);
    }
    return this.#over(known ?? this.#allocationOf(object, at), object, at);
  }

  /** Why no image of this format and order crosses by fds of a kind; undefined if some do. For those who write mappers. */
  closedFor(kind: ExportKind, way: "exports" | "imports", order: Order): Omit<Refusal, "edge"> | undefined {
    const { openDevice: device, name } = this.base;
    const { type, extension } = HANDLES[kind];
    if (order === "optimal" && kind === "dma-buf") {
      return ONLY_THE_DEVICE;
    }
    if (typeof order === "bigint" && kind === "opaque-fd") {
      return { reason: "images by a DRM format modifier cross by dma-bufs.", remedy: 'Pass { exportAs: "dma-buf" }.' };
    }
    const lacking = device.lacks(extension) ??
      (typeof order === "bigint" ? device.lacks("VK_EXT_image_drm_format_modifier") : undefined);
    if (lacking !== undefined) return lacking;
    if (this.abilities.of(order, type)?.[way]) return undefined;
    const verb = way === "exports" ? "go out" : "come in";
    return {
      reason: `${name} answers that its images of ${this.format.vulkan}, ${inWords(order)}, ${verb} by no ${kind}.`,
    };
  }

  /** The order to allocate by, the kinds of handle to go out by, and what the device does with such images. */
  #choice(orders: readonly Order[], asked: ExportKind | undefined): Choice {
    const kinds: readonly ExportKind[] = asked === undefined ? ["dma-buf", "opaque-fd"] : [asked];
    for (const kind of kinds) {
      const able = orders.filter((order) => this.closedFor(kind, "exports", order) === undefined);
      if (able.length > 0) return choiceOf(able, HANDLES[kind].type, this.abilities);
    }
    if (asked !== undefined) {
      const { reason, remedy } = this.closedFor(asked, "exports", orders[0])!;
      throw checks.wrong("exportAs", reason, remedy);
    }
    const able = orders.filter((order) => this.abilities.of(order, 0) !== undefined);
    if (able.length > 0) return choiceOf(able, 0, this.abilities);
    const what = `${this.base.name} has no images of ${this.format.vulkan}, ${orders.map(inWords).join(" or ")}.`;
    const there = this.modifiers.map((modifier) => `0x${modifier.toString(16)}`).join(", ");
    throw checks.wrong("tiling", what, `Its DRM format modifiers for them: ${there || "none"}.`);
  }

  #foreign({ width, height }: Size, image: VkImage, layout: number): ImageObject {
    const usage = this.abilities.of("optimal", 0)?.usage ?? 0;
    const spec = { format: this.format, width, height, usage };
    return new ImageObject(this.base.openDevice, spec, { origin: { from: "foreign", image, layout } });
  }

  /** Handles of two devices may be equal. */
  get #handleKind(): string {
    return `VkImage of ${this.base.openDevice.handle}`;
  }

  #allocationOf(object: ImageObject, { byteLength }: Layout): Allocation {
    const allocation = new Allocation({ kind: "vulkan.image", byteLength, free: () => object.free() });
    object.attachTo(allocation);
    tellByHandle(this.#handleKind, object.image, allocation);
    return allocation;
  }

  #over(allocation: Allocation, handle: ImageObject, layout: Layout): VulkanImage {
    const name = `vulkan image ${describeLayout(layout)}`;
    const resource = own({ name, allocation, owners: [this.base.resource] });
    return new VulkanImage({ target: this, handle, layout, resource });
  }
}

/** How a new image is made. */
interface Choice {
  readonly chosen: Tiling;
  readonly handleTypes: number;
  readonly ability: ImageAbility;
}

/** What holds for images of each of these orders. */
function choiceOf(orders: readonly Order[], handleTypes: number, abilities: ImageAbilities): Choice {
  const all = orders.map((order) => abilities.of(order, handleTypes)!);
  const ability = all.reduce((one, other) => ({
    ...one,
    usage: one.usage & other.usage,
    maxWidth: Math.min(one.maxWidth, other.maxWidth),
    maxHeight: Math.min(one.maxHeight, other.maxHeight),
    dedicated: one.dedicated || other.dedicated,
  }));
  const modifiers = orders.filter((order) => typeof order === "bigint");
  const chosen: Tiling = modifiers.length > 0
    ? { order: "modifier", of: modifiers }
    : { order: orders[0] as "optimal" | "linear" };
  return { chosen, handleTypes, ability };
}

function ordersIn(given: VulkanTiling): readonly Order[] {
  if (typeof given !== "object") return [checks.nameIn(given, TILINGS, "tiling")];
  const { modifiers } = optionsIn(given, { modifiers: true }, "tiling");
  if (!Array.isArray(modifiers) || modifiers.length === 0) {
    throw checks.wrongKind("tiling.modifiers", "a list of DRM format modifiers", modifiers);
  }
  return checks.itemsIn<bigint>(modifiers, "tiling.modifiers").map((modifier, i) => {
    if (typeof modifier === "bigint" && modifier >= 0n && modifier < 2n ** 64n) return modifier;
    throw checks.wrongKind(`tiling.modifiers[${i}]`, "a bigint of 64 bits", modifier);
  });
}

function inWords(order: Order): string {
  if (order === "optimal") return "in the driver's own order";
  return order === "linear" ? "row by row" : `by the modifier 0x${order.toString(16)}`;
}
