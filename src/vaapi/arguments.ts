import { VA_INVALID_SURFACE } from "../../ffi/va/constants.ts";
import { literal } from "../core/argument.ts";
import { type FrameInfo, frameInfo, type ImageInfo } from "../core/layout/frame_info.ts";
import type { VaapiBase } from "./base.ts";
import type { Display } from "./display.ts";
import { checks } from "./library.ts";

/** The limit of surfaces in a pool: no decoder keeps more pictures. */
const MAX_SURFACES = 256;

/** Checks the picture of a surface. @throws {ArgumentError} if the driver has no such surface. */
export function pictureIn(base: VaapiBase, given: FrameInfo): ImageInfo {
  const info = frameInfo(given);
  if (info.type !== "image") {
    throw checks.wrong("info", `expected an image, got ${info.type === "audio" ? "audio" : info.format}.`);
  }
  const reason = base.refuse(info);
  if (reason !== undefined) throw checks.wrong("info", reason, `It has surfaces of ${base.formats.join(", ")}.`);
  if (info.modifier === 0n) return info;
  throw checks.wrong("info.modifier", "the driver lays its surfaces out.", "Pass { modifiers: […] } to choose from.");
}

export function poolSizeIn(size: number): number {
  if (Number.isInteger(size) && size >= 1 && size <= MAX_SURFACES) return size;
  throw checks.wrong("size", `expected 1 to ${MAX_SURFACES} surfaces, got ${literal(size)}.`);
}

/** @throws {ArgumentError} for a value that is not a foreign surface's id, and for memory that was imported here. */
export function surfaceIdIn({ imported }: Display, given: number | bigint): number {
  const surface = typeof given === "bigint" && given < VA_INVALID_SURFACE ? Number(given) : given;
  if (typeof surface !== "number" || !Number.isInteger(surface) || surface < 0 || surface >= VA_INVALID_SURFACE) {
    throw checks.wrong("surface", `expected a VASurfaceID, got ${literal(surface)}.`);
  }
  if (!imported.has(surface)) return surface >>> 0; // FFI refuses -0
  const what = `VASurfaceID ${surface} is a frame already, which was mapped from another API's memory.`;
  throw checks.wrong("surface", what, "Use that frame, which knows who else holds its bytes.");
}

export function modifiersIn(given: readonly bigint[] | undefined): readonly bigint[] | undefined {
  if (given === undefined) return undefined;
  if (!Array.isArray(given)) throw checks.wrongKind("modifiers", "an array of bigints", given);
  const modifiers = checks.itemsIn<bigint>(given, "modifiers");
  const wrong = modifiers.findIndex((one) => typeof one !== "bigint" || one < 0n || one >= 2n ** 64n);
  if (wrong >= 0) {
    throw checks.wrong(`modifiers[${wrong}]`, `expected 64 bits, got ${literal(modifiers[wrong])}.`);
  }
  if (modifiers.length === 0) throw checks.wrong("modifiers", "expected at least one.", "Leave it out for any.");
  return modifiers;
}
