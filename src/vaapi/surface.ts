import { Printed, withFacts } from "../core/printed.ts";
import { DRM_FORMAT_MOD_INVALID } from "../../ffi/va/constants.ts";
import * as va from "../../ffi/va/constants.ts";
import * as codes from "../../ffi/va/errors.ts";
import { VADRMFormatModifierList, VASurfaceAttrib, writeVADRMFormatModifierList } from "../../ffi/va/structs.ts";
import { IMAGE_FORMATS, type ImageInfo } from "../core/layout/frame_info.ts";
import type { Undo } from "../core/life/undo.ts";
import type { FdFacts } from "../core/native/fd.ts";
import { FixedStruct, pinned } from "../core/native/pin.ts";
import type { Display } from "./display.ts";
import { FORMATS } from "./formats.ts";
import { check, checks, libva, structOf, vaError } from "./library.ts";

const status = new Uint32Array(1);

/** Other facts about a surface. For backends. */
export interface SurfaceFacts {
  /** True if its memory is another API's. */
  readonly isImported?: boolean;
  /** Facts about its exported fds. */
  readonly fd?: FdFacts;
}

/** A `VASurfaceID` and its display. It is the handle of a surface's planes. */
export class VaapiSurface extends Printed {
  /** The `VASurfaceID`. */
  readonly id: number;
  /** The display that it belongs to. For backends. */
  readonly display: Display;
  /** Its format and size, and the modifier of the driver's layout. */
  readonly info: ImageInfo;
  /** True if its memory is another API's. For backends. */
  readonly isImported: boolean;
  /** Facts about its exported fds; undefined if it was not exported. For backends. */
  readonly fd: FdFacts | undefined;
  /** False once it was destroyed. For backends. */
  isLive = true;

  /** Takes over nothing. */
  constructor(display: Display, id: number, info: ImageInfo, about: SurfaceFacts = {}) {
    super();
    const { isImported = false, fd } = about;
    this.display = display;
    this.id = id;
    this.info = Object.isFrozen(info) ? info : Object.freeze({ ...info });
    this.isImported = isImported;
    this.fd = fd;
  }

  /** Its id and picture. */
  toString(): string {
    const { id, info: { format, width, height } } = this;
    return withFacts(`VASurfaceID ${id}: ${format} ${width} × ${height}`, [this.isLive ? undefined : "destroyed"]);
  }

  /** True while the device works on it. */
  get isBusy(): boolean {
    if (!this.isLive) return false;
    check(libva().vaQuerySurfaceStatus(this.display.handle, this.id, status), "vaQuerySurfaceStatus");
    return (status[0] & va.VASurfaceRendering) !== 0;
  }

  /** Blocks until the device has done all work on it. */
  sync(): void {
    check(libva().vaSyncSurface(this.display.handle, this.id), "vaSyncSurface");
  }
}

interface Reported {
  readonly width: number;
  readonly height: number;
  /** The fourcc of the surface's own format, if the driver reports it. */
  readonly fourcc?: number;
}

/**
 * Throws an {@link ArgumentError} if the driver reports fewer pixels than the program described, or another order. It compares
 * the order of bytes, because drivers have several names for the same format.
 */
export function assertFits({ width, height, format }: ImageInfo, there: Reported): void {
  if (width > there.width || height > there.height) {
    const what = `the surface has ${there.width} × ${there.height} pixels, and not ${width} × ${height}.`;
    throw checks.wrong("info", what, "Its maker knows its size: what was vaCreateSurfaces called with?");
  }
  const formats = Object.keys(FORMATS) as (keyof typeof FORMATS)[];
  const stored = formats.find((name) => FORMATS[name]!.fourcc === there.fourcc);
  if (stored === undefined || placesOf(stored) === placesOf(format)) return;
  const what = `the surface has pixels of ${stored}, and not of ${format}.`;
  throw checks.wrong("info", what, "Its maker knows its format: what was vaCreateSurfaces called with?");
}

function placesOf(format: ImageInfo["format"]): string {
  const { planes } = IMAGE_FORMATS[format];
  return planes.map(({ bytesPerPixel, step, rows = step }) => [bytesPerPixel, step, rows].join()).join(" ");
}

export interface SurfaceInit {
  /** The layouts that the driver may choose from; any of its own if left out. */
  readonly modifiers?: readonly bigint[] | undefined;
  /** A descriptor of memory by fds, and its type. */
  readonly memory?: { readonly type: number; readonly descriptor: FixedStruct };
  /** True to make the surface exportable, if the driver shares memory by fds. */
  readonly prime2?: boolean;
}

/** Codes of drivers that accept a memory type only together with memory. */
const WITHOUT_TYPE: readonly number[] = [
  codes.VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE,
  codes.VA_STATUS_ERROR_ATTR_NOT_SUPPORTED,
  codes.VA_STATUS_ERROR_INVALID_PARAMETER,
];

export function createSurface(display: Display, info: ImageInfo, init: SurfaceInit, undo: Undo): number {
  const id = new Uint32Array([va.VA_INVALID_SURFACE]);
  let code = create(display, info, init, id);
  if (init.prime2 && WITHOUT_TYPE.includes(code)) code = create(display, info, { ...init, prime2: false }, id);
  if (code !== va.VA_STATUS_SUCCESS) throw vaError(code, "vaCreateSurfaces");
  undo.push(() => {
    if (!display.kept.has(id[0])) check(libva().vaDestroySurfaces(display.handle, id, 1), "vaDestroySurfaces");
  });
  return id[0];
}

type Attribute = readonly [type: number, value: number | bigint];

function create(display: Display, info: ImageInfo, init: SurfaceInit, id: Uint32Array<ArrayBuffer>): number {
  const { memory, modifiers, prime2 } = init;
  const { fourcc, rtFormat } = FORMATS[info.format]!;
  const attributes: Attribute[] = [[va.VASurfaceAttribPixelFormat, fourcc]];
  const type = memory?.type ?? (prime2 ? va.VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2 : undefined);
  if (type !== undefined) attributes.push([va.VASurfaceAttribMemoryType, type]);
  const call = () => {
    const list = listOf(attributes);
    return libva().vaCreateSurfaces(display.handle, rtFormat, info.width, info.height, id, 1, list, attributes.length);
  };
  if (memory !== undefined) attributes.push([va.VASurfaceAttribExternalBufferDescriptor, memory.descriptor.address]);
  if (modifiers === undefined) return call();
  const values = new BigUint64Array(modifiers);
  return pinned(values, "vaapi", (address) => {
    const list = structOf(VADRMFormatModifierList);
    writeVADRMFormatModifierList(list, 0, { num_modifiers: values.length, modifiers: address });
    return pinned(list, "vaapi", (address) => {
      attributes.push([va.VASurfaceAttribDRMFormatModifiers, address]);
      return call();
    });
  });
}

/** The attributes of a surface, which a driver reads only during a call. */
const LIST = new FixedStruct(4 * VASurfaceAttrib.size);

function listOf(attributes: readonly Attribute[]): DataView<ArrayBuffer> {
  const { view: list } = LIST.cleared();
  const { type, flags, valueType, integer, pointer } = VASurfaceAttrib.fields;
  for (const [i, [kind, value]] of attributes.entries()) {
    const at = i * VASurfaceAttrib.size;
    const isPointer = typeof value === "bigint";
    list.setUint32(at + type.offset, kind, true);
    list.setUint32(at + flags.offset, va.VA_SURFACE_ATTRIB_SETTABLE, true);
    list.setUint32(
      at + valueType.offset,
      isPointer ? va.VAGenericValueTypePointer : va.VAGenericValueTypeInteger,
      true,
    );
    if (isPointer) list.setBigUint64(at + pointer.offset, value, true);
    else list.setUint32(at + integer.offset, value, true);
  }
  return list;
}

/** The modifier of a layout that only the driver knows. */
export const UNKNOWN_MODIFIER: bigint = DRM_FORMAT_MOD_INVALID;
