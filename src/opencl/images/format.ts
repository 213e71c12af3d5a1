import * as cl from "../../../ffi/opencl/constants.ts";
import { object } from "../../core/argument.ts";
import type { DType } from "../../core/layout/dtype.ts";
import {
  type ChannelKind,
  type ChannelOrder as Order,
  type Encoding,
  pixelFormat,
} from "../../core/layout/frame_info.ts";
import { checks } from "../check.ts";

/** How a kernel reads and writes the channels: `read_imagef`, `read_imagei` or `read_imageui`. */
export type ChannelAccess = "f" | "i" | "ui";

/** The type of a channel: OpenCL's name without `CL_`. */
export type ChannelType =
  | "SNORM_INT8"
  | "SNORM_INT16"
  | "UNORM_INT8"
  | "UNORM_INT16"
  | "UNORM_SHORT_565"
  | "UNORM_SHORT_555"
  | "UNORM_INT_101010"
  | "UNORM_INT_101010_2"
  | "SIGNED_INT8"
  | "SIGNED_INT16"
  | "SIGNED_INT32"
  | "UNSIGNED_INT8"
  | "UNSIGNED_INT16"
  | "UNSIGNED_INT32"
  | "HALF_FLOAT"
  | "FLOAT";

/** The channels of a pixel, in order: OpenCL's name without `CL_`. */
export type ChannelOrder =
  | "R"
  | "A"
  | "Rx"
  | "INTENSITY"
  | "LUMINANCE"
  | "DEPTH"
  | "RG"
  | "RA"
  | "RGx"
  | "RGB"
  | "RGBx"
  | "RGBA"
  | "BGRA"
  | "ARGB"
  | "ABGR"
  | "sRGBA"
  | "sBGRA";

const ACCESS: { readonly [K in ChannelKind]: ChannelAccess } = { float: "f", sint: "i", uint: "ui" };

/** Channel data types (OpenCL 3.0, "Image Channel Data Type"), by their CL_ names. CL_UNORM_INT24 is a part of others. */
const TYPES: { readonly [T in ChannelType]: { readonly code: number; readonly encoding: Encoding } } = {
  SNORM_INT8: { code: cl.CL_SNORM_INT8, encoding: "snorm8" },
  SNORM_INT16: { code: cl.CL_SNORM_INT16, encoding: "snorm16" },
  UNORM_INT8: { code: cl.CL_UNORM_INT8, encoding: "unorm8" },
  UNORM_INT16: { code: cl.CL_UNORM_INT16, encoding: "unorm16" },
  UNORM_SHORT_565: { code: cl.CL_UNORM_SHORT_565, encoding: "unorm565" },
  UNORM_SHORT_555: { code: cl.CL_UNORM_SHORT_555, encoding: "unorm555" },
  UNORM_INT_101010: { code: cl.CL_UNORM_INT_101010, encoding: "unorm101010" },
  UNORM_INT_101010_2: { code: cl.CL_UNORM_INT_101010_2, encoding: "unorm1010102" },
  SIGNED_INT8: { code: cl.CL_SIGNED_INT8, encoding: "sint8" },
  SIGNED_INT16: { code: cl.CL_SIGNED_INT16, encoding: "sint16" },
  SIGNED_INT32: { code: cl.CL_SIGNED_INT32, encoding: "sint32" },
  UNSIGNED_INT8: { code: cl.CL_UNSIGNED_INT8, encoding: "uint8" },
  UNSIGNED_INT16: { code: cl.CL_UNSIGNED_INT16, encoding: "uint16" },
  UNSIGNED_INT32: { code: cl.CL_UNSIGNED_INT32, encoding: "uint32" },
  HALF_FLOAT: { code: cl.CL_HALF_FLOAT, encoding: "float16" },
  FLOAT: { code: cl.CL_FLOAT, encoding: "float32" },
};

const PACKED = ["UNORM_SHORT_565", "UNORM_SHORT_555", "UNORM_INT_101010"] as const;
const NOT_PLAIN: readonly ChannelType[] = [...PACKED, "UNORM_INT_101010_2"];
const PLAIN = (Object.keys(TYPES) as ChannelType[]).filter((type) => !NOT_PLAIN.includes(type));
const BYTES = ["UNORM_INT8", "SNORM_INT8", "SIGNED_INT8", "UNSIGNED_INT8"] as const;
const NORMALIZED = ["UNORM_INT8", "UNORM_INT16", "SNORM_INT8", "SNORM_INT16", "HALF_FLOAT", "FLOAT"] as const;

interface OrderRow {
  readonly code: number;
  /** The channels in memory: `x` of Rx and RGx is in none. */
  readonly order: Order;
  readonly types: readonly ChannelType[];
}

/** By CL_ names (OpenCL 3.0). CL_sRGB and CL_sRGBx are left out: three bytes make no pixel of a power of two. */
const ORDERS: { readonly [O in ChannelOrder]: OrderRow } = {
  R: { code: cl.CL_R, order: "r", types: PLAIN },
  A: { code: cl.CL_A, order: "a", types: PLAIN },
  Rx: { code: cl.CL_Rx, order: "r", types: PLAIN },
  INTENSITY: { code: cl.CL_INTENSITY, order: "i", types: NORMALIZED },
  LUMINANCE: { code: cl.CL_LUMINANCE, order: "l", types: NORMALIZED },
  DEPTH: { code: cl.CL_DEPTH, order: "d", types: ["UNORM_INT16", "FLOAT"] },
  RG: { code: cl.CL_RG, order: "rg", types: PLAIN },
  RA: { code: cl.CL_RA, order: "ra", types: PLAIN },
  RGx: { code: cl.CL_RGx, order: "rg", types: PLAIN },
  RGB: { code: cl.CL_RGB, order: "rgb", types: PACKED },
  RGBx: { code: cl.CL_RGBx, order: "rgbx", types: PACKED },
  RGBA: { code: cl.CL_RGBA, order: "rgba", types: [...PLAIN, "UNORM_INT_101010_2"] },
  BGRA: { code: cl.CL_BGRA, order: "bgra", types: BYTES },
  ARGB: { code: cl.CL_ARGB, order: "argb", types: BYTES },
  ABGR: { code: cl.CL_ABGR, order: "abgr", types: BYTES },
  sRGBA: { code: cl.CL_sRGBA, order: "rgba", types: ["UNORM_INT8"] },
  sBGRA: { code: cl.CL_sBGRA, order: "bgra", types: ["UNORM_INT8"] },
};

/** A `cl_image_format`, by OpenCL's own names. */
export interface OpenCLImageFormat {
  /** The channels: `"RGBA"`. */
  readonly order: ChannelOrder;
  /** The type of each: `"UNORM_INT8"`. */
  readonly type: ChannelType;
}

/** A format, and the memory of its pixels. Each format is one object. */
export interface PixelFormat extends OpenCLImageFormat {
  /** `RGBA UNORM_INT8`. */
  readonly name: string;
  /** The same in the words of all APIs: `rgba unorm8`. */
  readonly common: string;
  /** CL_R and so on. */
  readonly orderCode: number;
  /** CL_SNORM_INT8 and so on. */
  readonly typeCode: number;
  /** The dtype of a tensor of such pixels. */
  readonly dtype: DType;
  /** Elements of that dtype in a pixel: its channels, or 1 for a packed type. */
  readonly elements: number;
  /** A pixel's size. */
  readonly bytesPerPixel: number;
  /** How kernels read it. */
  readonly access: ChannelAccess;
}

function openclFormat(order: ChannelOrder, type: ChannelType): PixelFormat {
  const [{ code: orderCode, order: channels }, { code: typeCode, encoding }] = [ORDERS[order], TYPES[type]];
  const { name: common, dtype, elements, bytesPerPixel, kind } = pixelFormat(channels, encoding);
  return Object.freeze({
    order,
    type,
    name: `${order} ${type}`,
    common,
    orderCode,
    typeCode,
    dtype,
    elements,
    bytesPerPixel,
    access: ACCESS[kind],
  });
}

export const PIXEL_FORMATS: ReadonlyMap<string, PixelFormat> = new Map(
  (Object.keys(ORDERS) as ChannelOrder[])
    .flatMap((order) => ORDERS[order].types.map((type) => openclFormat(order, type)))
    .map((format) => [format.name, format]),
);

const BY_CODES: ReadonlyMap<string, PixelFormat> = new Map(
  [...PIXEL_FORMATS.values()].map((format) => [`${format.orderCode} ${format.typeCode}`, format]),
);

export function formatOfCodes(orderCode: number, typeCode: number): PixelFormat | undefined {
  return BY_CODES.get(`${orderCode} ${typeCode}`);
}

/** @throws {ArgumentError} if OpenCL has no such format. */
export function formatOf(given: OpenCLImageFormat): PixelFormat {
  const { order, type } = object(given, "format");
  checks.nameIn(order, ORDERS, "format.order");
  checks.nameIn(type, TYPES, "format.type");
  const format = PIXEL_FORMATS.get(`${order} ${type}`);
  if (format !== undefined) return format;
  const hint = `${order} takes ${ORDERS[order].types.join(", ")}.`;
  throw checks.wrong("format.type", `OpenCL has no ${order} images of ${type}.`, hint);
}
