import * as va from "../../ffi/va/constants.ts";
import type { VaapiConfig } from "./abilities.ts";
import { fourccText, type ImageFormat } from "../core/layout/frame_info.ts";

export interface VaapiFormat {
  readonly fourcc: number;
  readonly rtFormat: number;
}

/** The formats that samepage and VA-API share. VA-API names bytes in memory order, and has no formats of 3 bytes per pixel. */
export const FORMATS: { readonly [F in ImageFormat]?: VaapiFormat } = {
  GRAY8: { fourcc: va.VA_FOURCC_Y800, rtFormat: va.VA_RT_FORMAT_YUV400 },
  RGBA: { fourcc: va.VA_FOURCC_RGBA, rtFormat: va.VA_RT_FORMAT_RGB32 },
  BGRA: { fourcc: va.VA_FOURCC_BGRA, rtFormat: va.VA_RT_FORMAT_RGB32 },
  RGBX: { fourcc: va.VA_FOURCC_RGBX, rtFormat: va.VA_RT_FORMAT_RGB32 },
  BGRX: { fourcc: va.VA_FOURCC_BGRX, rtFormat: va.VA_RT_FORMAT_RGB32 },
  NV12: { fourcc: va.VA_FOURCC_NV12, rtFormat: va.VA_RT_FORMAT_YUV420 },
  I420: { fourcc: va.VA_FOURCC_I420, rtFormat: va.VA_RT_FORMAT_YUV420 },
  YV12: { fourcc: va.VA_FOURCC_YV12, rtFormat: va.VA_RT_FORMAT_YUV420 },
  YUV444: { fourcc: va.VA_FOURCC_444P, rtFormat: va.VA_RT_FORMAT_YUV444 },
  P010: { fourcc: va.VA_FOURCC_P010, rtFormat: va.VA_RT_FORMAT_YUV420_10 },
  P012: { fourcc: va.VA_FOURCC_P012, rtFormat: va.VA_RT_FORMAT_YUV420_12 },
  P016: { fourcc: va.VA_FOURCC_P016, rtFormat: va.VA_RT_FORMAT_YUV420_12 },
  YUY2: { fourcc: va.VA_FOURCC_YUY2, rtFormat: va.VA_RT_FORMAT_YUV422 },
  UYVY: { fourcc: va.VA_FOURCC_UYVY, rtFormat: va.VA_RT_FORMAT_YUV422 },
};

export function formatsIn(configs: readonly VaapiConfig[]): readonly ImageFormat[] {
  const there = new Set(configs.flatMap(({ fourccs }) => fourccs));
  return Object.entries(FORMATS)
    .filter(([, { fourcc }]) => there.has(fourccText(fourcc)))
    .map(([name]) => name as ImageFormat);
}
