import { optionsIn } from "../../core/argument.ts";
import type { Reason } from "../../core/errors.ts";
import { type ExportKind, HANDLES, unsupported } from "../handle_kinds.ts";
import type { VulkanImageTarget } from "../image.ts";
import { checks } from "../library.ts";
import type { ImageAbility, Order } from "./abilities.ts";
import type { Tiling } from "./image_object.ts";

/** The order of an image's pixels in memory. */
export type VulkanTiling =
  /** The driver's own order, which is the fastest; only the same device knows it. */
  | "optimal"
  /** Row by row, as the driver lays them out. */
  | "linear"
  /** One of these DRM format modifiers: the driver chooses the best that it has. */
  | { readonly modifiers: readonly bigint[] };

export interface Choice {
  readonly tiling: Tiling;
  /** The kinds of handle that it can be exported by: VkExternalMemoryHandleTypeFlagBits, or 0. */
  readonly handleTypes: number;
  readonly ability: ImageAbility;
}

const TILINGS = { optimal: true, linear: true } as const;

export const ONLY_THE_DEVICE = {
  reason: "only the device knows its own order of pixels: a dma-buf's users could not distinguish them.",
  remedy: 'Allocate it with { tiling: "linear" }, or { tiling: { modifiers } }.',
} as const;

export const ONE_PICTURE = {
  reason:
    "layers lie in the driver's own order, which goes by opaque fds: rows, modifiers and dma-bufs are one picture's.",
  remedy: "Make an image of each layer, or leave tiling and exportAs out.",
} as const;

/** Why images of a target in an order cannot be shared by a kind of fd; undefined if they can. */
export function closedFor(
  { base: { openDevice: device, name }, abilities, format }: VulkanImageTarget,
  kind: ExportKind,
  side: "exports" | "imports",
  order: Order,
): Reason | undefined {
  const { type, extension } = HANDLES[kind];
  if (order === "optimal" && kind === "dma-buf") return ONLY_THE_DEVICE;
  const byModifier = typeof order === "bigint";
  if (byModifier && kind === "opaque-fd") {
    return { reason: "images by a DRM format modifier cross by dma-bufs.", remedy: 'Pass { exportAs: "dma-buf" }.' };
  }
  const lacking = device.lacks(extension) ??
    (byModifier ? device.lacks("VK_EXT_image_drm_format_modifier") : undefined);
  if (lacking !== undefined) return lacking;
  if (abilities.of(order, type)?.[side]) return undefined;
  return unsupported(name, `images of ${format.vulkan}, ${inWords(order)},`, side, kind);
}

/** The order to allocate in, and the kind of handle for exports. @throws {ArgumentError} if no order fits. */
export function choose(target: VulkanImageTarget, orders: readonly Order[], asked: ExportKind | undefined): Choice {
  const { abilities, base, format, modifiers } = target;
  const kinds: readonly ExportKind[] = asked === undefined ? ["dma-buf", "opaque-fd"] : [asked];
  for (const kind of kinds) {
    const able = orders.filter((order) => closedFor(target, kind, "exports", order) === undefined);
    if (able.length > 0) return choiceOf(target, able, HANDLES[kind].type);
  }
  if (asked !== undefined) {
    const { reason, remedy } = closedFor(target, asked, "exports", orders[0])!;
    throw checks.wrong("exportAs", reason, remedy);
  }
  const able = orders.filter((order) => abilities.of(order, 0) !== undefined);
  if (able.length > 0) return choiceOf(target, able, 0);
  const what = `${base.name} has no images of ${format.vulkan}, ${orders.map(inWords).join(" or ")}.`;
  const there = modifiers.map((modifier) => `0x${modifier.toString(16)}`).join(", ");
  throw checks.wrong("tiling", what, `Its DRM format modifiers for them: ${there || "none"}.`);
}

function choiceOf({ abilities }: VulkanImageTarget, orders: readonly Order[], handleTypes: number): Choice {
  const all = orders.map((order) => abilities.of(order, handleTypes)!);
  const ability = all.reduce((one, other) => ({
    ...one,
    usage: one.usage & other.usage,
    maxWidth: Math.min(one.maxWidth, other.maxWidth),
    maxHeight: Math.min(one.maxHeight, other.maxHeight),
    dedicated: one.dedicated || other.dedicated,
  }));
  const [first] = orders;
  const tiling: Tiling = typeof first === "bigint"
    ? { order: "modifier", of: orders as readonly bigint[] }
    : { order: first };
  return { tiling, handleTypes, ability };
}

/** The orders that a tiling asks for: one, or modifiers. @throws {ArgumentError} for any other value. */
export function ordersIn(given: VulkanTiling): readonly Order[] {
  if (typeof given !== "object") return [checks.nameIn(given, TILINGS, "tiling")];
  const { modifiers } = optionsIn(given, { modifiers: true }, "tiling");
  if (!Array.isArray(modifiers)) {
    throw checks.wrongKind("tiling.modifiers", "a list of DRM format modifiers", modifiers);
  }
  if (modifiers.length === 0) {
    throw checks.wrong("tiling.modifiers", "expected a list of DRM format modifiers, got one of none.");
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
