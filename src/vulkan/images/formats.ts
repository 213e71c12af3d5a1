import * as vk from "../../../ffi/vulkan/constants.ts";
import { type Encoding, type PixelFormat, pixelFormat } from "../../core/layout/frame_info.ts";
import { checks } from "../library.ts";

/** A format of images: Vulkan's name without `VK_FORMAT_`. */
export type VulkanFormatName =
  | `${"R8" | "R8G8" | "R8G8B8A8" | "B8G8R8A8"}_${"UNORM" | "SNORM" | "UINT" | "SINT" | "SRGB"}`
  | `${"R16" | "R16G16" | "R16G16B16A16"}_${"UNORM" | "SNORM" | "UINT" | "SINT" | "SFLOAT"}`
  | `${"R32" | "R32G32" | "R32G32B32A32"}_${"UINT" | "SINT" | "SFLOAT"}`;

/** A format, and the memory of its pixels. Each format is one object. */
export interface VulkanFormat extends PixelFormat {
  /** Vulkan's name: `R8G8B8A8_UNORM`. */
  readonly vulkan: VulkanFormatName;
  /** Its `VkFormat`. */
  readonly code: number;
}

const ORDERS = ["r", "rg", "rgba", "bgra"] as const;

const ENCODINGS = {
  unorm8: "UNORM",
  snorm8: "SNORM",
  uint8: "UINT",
  sint8: "SINT",
  srgb8: "SRGB",
  unorm16: "UNORM",
  snorm16: "SNORM",
  uint16: "UINT",
  sint16: "SINT",
  float16: "SFLOAT",
  uint32: "UINT",
  sint32: "SINT",
  float32: "SFLOAT",
} as const satisfies { readonly [E in Encoding]?: string };

export const VULKAN_FORMATS: { readonly [N in VulkanFormatName]: VulkanFormat } = Object.fromEntries(
  ORDERS.flatMap((order) => Object.entries(ENCODINGS).map(([encoding, word]) => [order, encoding, word] as const))
    .map(([order, encoding, word]) => {
      const bits = encoding.replace(/\D/g, "");
      const name = `${[...order.toUpperCase()].map((channel) => channel + bits).join("")}_${word}`;
      const code = (vk as Readonly<Record<string, unknown>>)[`VK_FORMAT_${name}`];
      return { ...pixelFormat(order, encoding as Encoding), vulkan: name as VulkanFormatName, code: code as number };
    })
    .filter(({ code }) => code !== undefined) // B8G8R8A8 alone has its channels so
    .map((format) => [format.vulkan, Object.freeze(format)]),
) as unknown as { [N in VulkanFormatName]: VulkanFormat };

export function formatIn(given: unknown): VulkanFormat {
  return VULKAN_FORMATS[checks.nameIn(given, VULKAN_FORMATS, "format")];
}

/** The formats of a shader's storage images, by SPIR-V's numbers (SPIR-V specification, 3.11): GLSL's name and ours. */
const SHADER_FORMATS: ReadonlyMap<number, readonly [glsl: string, name: string]> = new Map([
  [1, ["rgba32f", "rgba float32"]],
  [2, ["rgba16f", "rgba float16"]],
  [3, ["r32f", "r float32"]],
  [4, ["rgba8", "rgba unorm8"]],
  [5, ["rgba8_snorm", "rgba snorm8"]],
  [6, ["rg32f", "rg float32"]],
  [7, ["rg16f", "rg float16"]],
  [9, ["r16f", "r float16"]],
  [10, ["rgba16", "rgba unorm16"]],
  [12, ["rg16", "rg unorm16"]],
  [13, ["rg8", "rg unorm8"]],
  [14, ["r16", "r unorm16"]],
  [15, ["r8", "r unorm8"]],
  [16, ["rgba16_snorm", "rgba snorm16"]],
  [17, ["rg16_snorm", "rg snorm16"]],
  [18, ["rg8_snorm", "rg snorm8"]],
  [19, ["r16_snorm", "r snorm16"]],
  [20, ["r8_snorm", "r snorm8"]],
  [21, ["rgba32i", "rgba sint32"]],
  [22, ["rgba16i", "rgba sint16"]],
  [23, ["rgba8i", "rgba sint8"]],
  [24, ["r32i", "r sint32"]],
  [25, ["rg32i", "rg sint32"]],
  [26, ["rg16i", "rg sint16"]],
  [27, ["rg8i", "rg sint8"]],
  [28, ["r16i", "r sint16"]],
  [29, ["r8i", "r sint8"]],
  [30, ["rgba32ui", "rgba uint32"]],
  [31, ["rgba16ui", "rgba uint16"]],
  [32, ["rgba8ui", "rgba uint8"]],
  [33, ["r32ui", "r uint32"]],
  [35, ["rg32ui", "rg uint32"]],
  [36, ["rg16ui", "rg uint16"]],
  [37, ["rg8ui", "rg uint8"]],
  [38, ["r16ui", "r uint16"]],
  [39, ["r8ui", "r uint8"]],
]);

/** A storage image's format as a shader declares it: GLSL's name, and that of {@link PixelFormat}. */
export function shaderFormat(code: number): readonly [glsl: string, name: string] | undefined {
  return SHADER_FORMATS.get(code);
}
