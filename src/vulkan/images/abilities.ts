import * as vk from "../../../ffi/vulkan/constants.ts";
import { VK_ERROR_FORMAT_NOT_SUPPORTED } from "../../../ffi/vulkan/errors.ts";
import * as layouts from "../../../ffi/vulkan/structs.ts";
import { type MemoryAbility, memoryAbilityIn } from "../abilities.ts";
import { check } from "../errors.ts";
import { vulkan } from "../library.ts";
import type { OpenDevice } from "../open_device.ts";
import { chain, room, type Struct, struct } from "../struct.ts";
import type { VulkanFormat } from "./formats.ts";

/** The order of an image's pixels in memory: the driver's own, row by row, or a DRM format modifier. */
export type Order = "optimal" | "linear" | bigint;

/** What a device can do with images of a format, an order and a kind of handle. */
export interface ImageAbility extends MemoryAbility {
  /** What they can be used for: VkImageUsageFlagBits. */
  readonly usage: number;
  /** The most pixels along x. */
  readonly maxWidth: number;
  /** The most pixels along y. */
  readonly maxHeight: number;
  /** The most layers. */
  readonly maxLayers: number;
}

/** Every image can be copied. The uses to try, the most first, add those by shaders. */
const COPIED = vk.VK_IMAGE_USAGE_TRANSFER_SRC_BIT | vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT;
const USAGES = [
  COPIED | vk.VK_IMAGE_USAGE_STORAGE_BIT | vk.VK_IMAGE_USAGE_SAMPLED_BIT,
  COPIED | vk.VK_IMAGE_USAGE_SAMPLED_BIT,
  COPIED,
];

export function tilingOf(order: Order): number {
  if (order === "optimal") return vk.VK_IMAGE_TILING_OPTIMAL;
  return order === "linear" ? vk.VK_IMAGE_TILING_LINEAR : vk.VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT;
}

/** A device's abilities for images of one format. Each is queried once. */
export class ImageAbilities {
  readonly #device: OpenDevice;
  readonly #format: VulkanFormat;
  readonly #known = new Map<string, ImageAbility | undefined>();
  #modifiers: readonly bigint[] | undefined;

  /** Makes no query. */
  constructor(device: OpenDevice, format: VulkanFormat) {
    this.#device = device;
    this.#format = format;
  }

  /** The abilities of images in this order with memory of one kind of handle (0 for none); undefined if there are no such images. */
  of(order: Order, handleType: number): ImageAbility | undefined {
    const key = `${order} ${handleType}`;
    if (!this.#known.has(key)) this.#known.set(key, this.#ask(order, handleType));
    return this.#known.get(key);
  }

  /** The DRM format modifiers of such images that lie in one plane of memory. */
  get modifiers(): readonly bigint[] {
    return this.#modifiers ??= this.#askModifiers();
  }

  #ask(order: Order, handleType: number): ImageAbility | undefined {
    if (typeof order === "bigint" && !this.modifiers.includes(order)) return undefined;
    for (const usage of USAGES) {
      const found = this.#query(order, handleType, usage);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #query(order: Order, handleType: number, usage: number): ImageAbility | undefined {
    const { code: format } = this.#format;
    const info = struct("VkPhysicalDeviceImageFormatInfo2", {
      ...{ format, type: vk.VK_IMAGE_TYPE_2D, tiling: tilingOf(order), usage },
    });
    const links: Struct[] = [];
    if (handleType !== 0) links.push(struct("VkPhysicalDeviceExternalImageFormatInfo", { handleType }));
    if (typeof order === "bigint") {
      links.push(struct("VkPhysicalDeviceImageDrmFormatModifierInfoEXT", { drmFormatModifier: order }));
    }
    const external = struct("VkExternalImageFormatProperties");
    const reported = chain(struct("VkImageFormatProperties2"), ...(handleType === 0 ? [] : [external]));
    const fn = "vkGetPhysicalDeviceImageFormatProperties2";
    const code = vulkan()[fn](this.#device.handles.physicalDevice, chain(info, ...links), reported);
    if (code === VK_ERROR_FORMAT_NOT_SUPPORTED) return undefined;
    check(code, fn);
    const { maxWidth, maxHeight, maxArrayLayers } = layouts.VkImageFormatProperties2.fields;
    return {
      ...memoryAbilityIn(external, layouts.VkExternalImageFormatProperties.fields, handleType),
      usage,
      maxWidth: reported.number(maxWidth),
      maxHeight: reported.number(maxHeight),
      maxLayers: reported.number(maxArrayLayers),
    };
  }

  #askModifiers(): readonly bigint[] {
    if (!this.#device.has("VK_EXT_image_drm_format_modifier")) return [];
    const { VkDrmFormatModifierPropertiesEXT: { size, fields }, VkDrmFormatModifierPropertiesListEXT } = layouts;
    const ask = (list: Struct) => {
      const reported = chain(struct("VkFormatProperties2"), list);
      vulkan().vkGetPhysicalDeviceFormatProperties2(this.#device.handles.physicalDevice, this.#format.code, reported);
      return list.number(VkDrmFormatModifierPropertiesListEXT.fields.drmFormatModifierCount);
    };
    const count = ask(struct("VkDrmFormatModifierPropertiesListEXT"));
    const found = room("VkDrmFormatModifierPropertiesEXT", count);
    const list = { drmFormatModifierCount: count, pDrmFormatModifierProperties: found };
    const filled = count === 0 ? 0 : ask(struct("VkDrmFormatModifierPropertiesListEXT", list));
    return Array.from({ length: filled }, (_, i) => i * size)
      .filter((at) => found.number(fields.drmFormatModifierPlaneCount, at) === 1)
      .map((at) => found.word(fields.drmFormatModifier, at));
  }
}
