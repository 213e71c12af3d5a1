import * as CONSTANTS from "../../ffi/dmabuf/constants.ts";

const NAMES = Object.entries(CONSTANTS);

export function isLinear(modifier: bigint): boolean {
  return modifier === CONSTANTS.DRM_FORMAT_MOD_LINEAR;
}

/** The layout that a DRM modifier stands for, in words: by its name in drm_fourcc.h, or by its vendor. */
export function modifierName(modifier: bigint): string {
  const name = NAMES.find(([name, value]) => name.includes("_FORMAT_MOD_") && value === modifier)?.[0];
  if (name !== undefined) return name;
  const vendor = NAMES.find(([name, value]) => name.includes("_MOD_VENDOR_") && value === Number(modifier >> 56n))?.[0];
  const number = `0x${modifier.toString(16).padStart(16, "0")}`;
  return vendor === undefined ? number : `${number} of ${vendor.slice("DRM_FORMAT_MOD_VENDOR_".length)}`;
}
