import * as va from "../../ffi/va/constants.ts";
import {
  readVASurfaceAttrib,
  VAConfigAttrib,
  VAImageFormat,
  VASurfaceAttrib,
  writeVAConfigAttrib,
} from "../../ffi/va/structs.ts";
import { NativeCallError } from "../core/errors.ts";
import { fourccText } from "../core/layout/frame_info.ts";
import { thenUndo } from "../core/life/undo.ts";
import { textAt } from "../core/native/text.ts";
import type { Address } from "../../ffi/address.ts";
import { check, libva, structOf } from "./library.ts";

/** One of a driver's operations on surfaces: to decode or encode a codec, or to process video. */
export interface VaapiConfig {
  /** The codec and its profile: `"VAProfileH264Main"`; `"VAProfileNone"` without a codec. */
  readonly profile: string;
  /** The operation: `"VAEntrypointVLD"` decodes, `"VAEntrypointVideoProc"` processes. */
  readonly entrypoint: string;
  /** The kinds of surfaces: `"YUV420"`, `"RGB32"`. */
  readonly rtFormats: readonly string[];
  /** The formats of surfaces, by VA-API's names: `"NV12"`. */
  readonly fourccs: readonly string[];
  /** The memory of surfaces: `"VA"` is the driver's own, `"DRM_PRIME_2"` is shared by fds. */
  readonly memoryTypes: readonly string[];
  /** The smallest and the largest width in pixels; undefined if the driver does not report it. */
  readonly width: { readonly min: number | undefined; readonly max: number | undefined };
  /** The smallest and the largest height in pixels; undefined if the driver does not report it. */
  readonly height: { readonly min: number | undefined; readonly max: number | undefined };
  /** The driver's reason, if it lists the configuration but does not describe it. */
  readonly refused: string | undefined;
}

function namesIn(bits: number, prefix: string): string[] {
  return Object.entries(va)
    .filter(([name, value]) => name.startsWith(prefix) && typeof value === "number" && (bits & value) === value)
    .map(([name]) => name.slice(prefix.length));
}

export function configsOf(display: Address): VaapiConfig[] {
  const lib = libva();
  const profiles = new Int32Array(lib.vaMaxNumProfiles(display));
  const count = new Int32Array(1);
  check(lib.vaQueryConfigProfiles(display, profiles, count), "vaQueryConfigProfiles");
  return [...profiles.subarray(0, count[0])].flatMap((profile) => {
    const entrypoints = new Int32Array(lib.vaMaxNumEntrypoints(display));
    check(lib.vaQueryConfigEntrypoints(display, profile, entrypoints, count), "vaQueryConfigEntrypoints");
    return [...entrypoints.subarray(0, count[0])].map((entrypoint) => configOf(display, profile, entrypoint));
  });
}

/** The `VAImageFormat`s, through which pixels are copied, by fourcc. */
export function imageFormatsOf(display: Address): ReadonlyMap<number, DataView<ArrayBuffer>> {
  const { size, fields: { fourcc } } = VAImageFormat;
  const count = new Int32Array(1);
  const formats = structOf(VAImageFormat, libva().vaMaxNumImageFormats(display));
  check(libva().vaQueryImageFormats(display, formats, count), "vaQueryImageFormats");
  return new Map(Array.from({ length: count[0] }, (_, i) => {
    const one = new DataView(formats.buffer.slice(i * size, (i + 1) * size));
    return [one.getUint32(fourcc.offset, true), one];
  }));
}

/** Describes a configuration. Drivers refuse to describe some that they list. */
function configOf(display: Address, profile: number, entrypoint: number): VaapiConfig {
  const [rtFormats, attributes] = [new Uint32Array(1), [] as VASurfaceAttrib[]];
  let refused: string | undefined;
  try {
    askConfig(display, profile, entrypoint, rtFormats, attributes);
  } catch (error) {
    if (!(error instanceof NativeCallError)) throw error;
    refused = error.message;
  }
  const valuesOf = (type: number) => attributes.filter((one) => one.type === type).map(({ integer }) => integer);
  const [types = 0] = valuesOf(va.VASurfaceAttribMemoryType);
  const range = (min: number, max: number) => ({ min: valuesOf(min)[0], max: valuesOf(max)[0] });
  return {
    profile: textAt(libva().vaProfileStr(profile))!,
    entrypoint: textAt(libva().vaEntrypointStr(entrypoint))!,
    rtFormats: namesIn(rtFormats[0], "VA_RT_FORMAT_"),
    fourccs: valuesOf(va.VASurfaceAttribPixelFormat).map(fourccText),
    memoryTypes: namesIn(types, "VA_SURFACE_ATTRIB_MEM_TYPE_"),
    width: range(va.VASurfaceAttribMinWidth, va.VASurfaceAttribMaxWidth),
    height: range(va.VASurfaceAttribMinHeight, va.VASurfaceAttribMaxHeight),
    refused,
  };
}

function askConfig(
  display: Address,
  profile: number,
  entrypoint: number,
  rtFormats: Uint32Array,
  attributes: VASurfaceAttrib[],
): void {
  const lib = libva();
  const attribute = structOf(VAConfigAttrib);
  writeVAConfigAttrib(attribute, 0, { type: va.VAConfigAttribRTFormat, value: 0 });
  check(lib.vaGetConfigAttributes(display, profile, entrypoint, attribute, 1), "vaGetConfigAttributes");
  rtFormats[0] = attribute.getUint32(VAConfigAttrib.fields.value.offset, true);
  const config = new Uint32Array(1);
  check(lib.vaCreateConfig(display, profile, entrypoint, null, 0, config), "vaCreateConfig");
  const destroy = () => check(lib.vaDestroyConfig(display, config[0]), "vaDestroyConfig");
  thenUndo("asking a VA-API driver", () => attributes.push(...attributesOf(display, config[0])), [destroy]);
}

function attributesOf(display: Address, config: number): VASurfaceAttrib[] {
  const count = new Uint32Array(1);
  check(libva().vaQuerySurfaceAttributes(display, config, null, count), "vaQuerySurfaceAttributes");
  const list = structOf(VASurfaceAttrib, count[0]);
  check(libva().vaQuerySurfaceAttributes(display, config, list, count), "vaQuerySurfaceAttributes");
  return Array.from({ length: count[0] }, (_, i) => readVASurfaceAttrib(list, i * VASurfaceAttrib.size));
}
