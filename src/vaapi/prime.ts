import * as va from "../../ffi/va/constants.ts";
import * as codes from "../../ffi/va/errors.ts";
import {
  VADRMPRIMESurfaceDescriptor,
  VASurfaceAttribExternalBuffers,
  writeVASurfaceAttribExternalBuffers,
} from "../../ffi/va/structs.ts";
import { F_GETFL } from "../../ffi/libc/constants.ts";
import { NativeCallError } from "../core/errors.ts";
import { IMAGE_FORMATS, type ImageInfo } from "../core/layout/frame_info.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { type Access, reads, writes } from "../core/memory/access.ts";
import { closeFd, lengthOfFd } from "../core/native/fd.ts";
import { libc } from "../core/native/libc.ts";
import { FixedStruct } from "../core/native/pin.ts";
import type { Display } from "./display.ts";
import { FORMATS } from "./formats.ts";
import { libva, vaError } from "./library.ts";
import { assertFits, createSurface, UNKNOWN_MODIFIER, type VaapiSurface } from "./surface.ts";

/** How an export describes planes: each as a picture of its own, or all as one. */
export type Layers = "separate" | "composed";

/** A block of memory. */
export interface PrimeObject {
  /** Its fd. */
  readonly fd: number;
  /** Its length in bytes. */
  readonly byteLength: number;
}

/** Where a plane lies. */
export interface PrimePlane {
  /** The index of its object. */
  readonly object: number;
  /** Its offset in the object, in bytes. */
  readonly offset: number;
  /** Bytes from one row to the next. */
  readonly stride: number;
}

/** A surface's memory. */
export interface PrimeSurface {
  /** Pixels across. */
  readonly width: number;
  /** Pixels down. */
  readonly height: number;
  /** The 64-bit DRM format modifier; undefined if the driver does not report it. */
  readonly modifier: bigint | undefined;
  /** Its blocks of memory. */
  readonly objects: readonly PrimeObject[];
  /** Its planes, in the order of the format. */
  readonly planes: readonly PrimePlane[];
}

const EXPORTED = new FixedStruct(VADRMPRIMESurfaceDescriptor.size);
const { view: descriptor } = EXPORTED;

/** The limit of objects, of layers, and of planes in a layer. */
const MOST = 4;
const D = VADRMPRIMESurfaceDescriptor.fields;
const OBJECT = D.objects1.offset - D.objects.offset;
const LAYER = D.layers1.offset - D.layers.offset;

/**
 * Exports the memory of a surface whose work is over. The caller owns the fds. Without `layers`, requests composed layers if
 * the driver refuses separate ones.
 * @throws {NativeCallError} if it cannot be exported. No fd stays open, although some drivers make fds before they fail.
 */
export function exportSurface(surface: VaapiSurface, access: Access, layers?: Layers): PrimeSurface {
  let code = exported(surface, access, layers ?? "separate");
  if (layers === undefined && code !== va.VA_STATUS_SUCCESS) {
    const composed = exported(surface, access, "composed");
    if (composed === va.VA_STATUS_SUCCESS) code = composed;
  }
  if (code !== va.VA_STATUS_SUCCESS) throw vaError(code, "vaExportSurfaceHandle", { hint: NO_EXPORT });
  const fds = madeFds();
  return allOrNothing("exporting a surface", () => described(surface, fds), fds.map((fd) => () => closeFd(fd)));
}

const NO_EXPORT = "Allocate the surface with the context: it makes surfaces exportable if the driver can.";

function exported({ display, id }: VaapiSurface, access: Access, layers: Layers): number {
  const flags = (layers === "separate" ? va.VA_EXPORT_SURFACE_SEPARATE_LAYERS : va.VA_EXPORT_SURFACE_COMPOSED_LAYERS) |
    (reads(access) ? va.VA_EXPORT_SURFACE_READ_ONLY : 0) | (writes(access) ? va.VA_EXPORT_SURFACE_WRITE_ONLY : 0);
  EXPORTED.cleared();
  for (let i = 0; i < MOST; i++) descriptor.setInt32(D.objects.offset + i * OBJECT, -1, true);
  const type = va.VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2;
  const code = libva().vaExportSurfaceHandle(display.handle, id, type, flags, descriptor);
  // Some drivers make fds before they fail, and leave them open.
  if (code !== va.VA_STATUS_SUCCESS) { for (const fd of madeFds()) if (isOpen(fd)) closeFd(fd); }
  return code;
}

function isOpen(fd: number): boolean {
  return libc().fcntl(fd, F_GETFL, 0) >= 0;
}

function madeFds(): number[] {
  const count = Math.min(descriptor.getUint32(D.num_objects.offset, true), MOST);
  return Array.from({ length: count }, (_, i) => descriptor.getInt32(D.objects.offset + i * OBJECT, true))
    .filter((fd) => fd >= 0);
}

function described(surface: VaapiSurface, fds: readonly number[]): PrimeSurface {
  const at = descriptor;
  const { format, width, height } = surface.info;
  assertFits(surface.info, {
    width: at.getUint32(D.width.offset, true),
    height: at.getUint32(D.height.offset, true),
    fourcc: at.getUint32(D.fourcc.offset, true),
  });
  const planes: PrimePlane[] = [];
  for (let layer = 0; layer < Math.min(at.getUint32(D.num_layers.offset, true), MOST); layer++) {
    const field = (offset: number, i = 0) => at.getUint32(offset + layer * LAYER + i * 4, true);
    for (let i = 0; i < Math.min(field(D.layer_planes.offset), MOST); i++) {
      const [object, offset] = [field(D.layer_objects.offset, i), field(D.layer_offsets.offset, i)];
      planes.push({ object, offset, stride: field(D.layer_pitches.offset, i) });
    }
  }
  const expected = IMAGE_FORMATS[format].planes.length;
  if (planes.length < expected || planes.some(({ object }) => object >= fds.length)) {
    const what = `${planes.length} planes of ${format} in ${fds.length} objects`;
    throw vaError(codes.VA_STATUS_ERROR_INVALID_VALUE, "vaExportSurfaceHandle", {
      hint: `The driver reports ${what}.`,
    });
  }
  const objects = fds.map((fd, i) => {
    const size = at.getUint32(D.object_size.offset + i * OBJECT, true);
    return { fd, byteLength: size > 0 ? size : lengthOfFd(fd) }; // not every driver reports it
  });
  const modifier = at.getBigUint64(D.object_modifier.offset, true);
  return {
    width,
    height,
    objects,
    planes,
    modifier: modifier === UNKNOWN_MODIFIER ? undefined : modifier,
  };
}

interface Attempt {
  readonly name: string;
  readonly type: number;
  readonly descriptor: FixedStruct;
}

/** Descriptions of memory, which a driver reads only during a call. */
const DESCRIPTORS = {
  prime2: new FixedStruct(VADRMPRIMESurfaceDescriptor.size),
  prime1: new FixedStruct(VASurfaceAttribExternalBuffers.size),
  fds: new FixedStruct(BigUint64Array.BYTES_PER_ELEMENT),
};

/**
 * A surface over memory by fds, which stay the caller's: the driver keeps duplicates. `undo` destroys the surface. Drivers
 * accept different descriptions, so the memory is described as one picture, then plane by plane, then by the old interface.
 * @throws {NativeCallError} if the driver refuses all descriptions; the hint lists its codes.
 */
export function importSurface(display: Display, info: ImageInfo, memory: PrimeSurface, undo: Undo): number {
  const refusals: string[] = [];
  let first: number | undefined;
  for (const { name, ...reported } of attempts(info, memory)) {
    try {
      return createSurface(display, info, { memory: reported }, undo);
    } catch (error) {
      if (!(error instanceof NativeCallError)) throw error;
      first ??= error.code!;
      refusals.push(`${name}: ${error.codeName}`);
    }
  }
  const hint = `The driver takes no such memory (${refusals.join(", ")}). Export its own surfaces instead.`;
  throw vaError(first!, "vaCreateSurfaces", { hint });
}

function* attempts(info: ImageInfo, memory: PrimeSurface): Generator<Attempt> {
  yield prime2("composed", info, memory);
  if (memory.planes.length > 1) yield prime2("separate", info, memory);
  if (memory.objects.length === 1 && (memory.modifier ?? 0n) === 0n) yield prime1(info, memory);
}

function prime2(layers: Layers, info: ImageInfo, { objects, planes, modifier = 0n }: PrimeSurface): Attempt {
  const descriptor = DESCRIPTORS.prime2.cleared();
  const { view } = descriptor;
  const set = (offset: number, value: number) => view.setUint32(offset, value, true);
  set(D.fourcc.offset, FORMATS[info.format]!.fourcc);
  set(D.width.offset, info.width);
  set(D.height.offset, info.height);
  set(D.num_objects.offset, objects.length);
  for (const [i, { fd, byteLength }] of objects.entries()) {
    view.setInt32(D.objects.offset + i * OBJECT, fd, true);
    set(D.object_size.offset + i * OBJECT, byteLength);
    view.setBigUint64(D.object_modifier.offset + i * OBJECT, modifier, true);
  }
  set(D.num_layers.offset, layers === "separate" ? planes.length : 1);
  for (const [p, { object, offset, stride }] of planes.entries()) {
    const [layer, i] = layers === "separate" ? [p * LAYER, 0] : [0, p];
    const { fourcc } = layers === "separate" ? IMAGE_FORMATS[info.format].planes[p] : info;
    set(D.layers.offset + layer, fourcc!);
    set(D.layer_planes.offset + layer, i + 1);
    set(D.layer_objects.offset + layer + i * 4, object);
    set(D.layer_offsets.offset + layer + i * 4, offset);
    set(D.layer_pitches.offset + layer + i * 4, stride);
  }
  return { name: `DRM_PRIME_2, ${layers}`, type: va.VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2, descriptor };
}

/** The old interface (VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME): one object, whose fd is in a list of handles. */
function prime1(info: ImageInfo, { objects: [{ fd, byteLength }], planes }: PrimeSurface): Attempt {
  const descriptor = DESCRIPTORS.prime1.cleared();
  const { view } = descriptor;
  DESCRIPTORS.fds.view.setBigUint64(0, BigInt(fd), true);
  const E = VASurfaceAttribExternalBuffers.fields;
  const { fourcc } = FORMATS[info.format]!;
  const { width, height } = info;
  const about = { pixel_format: fourcc, width, height, data_size: byteLength, num_planes: planes.length };
  writeVASurfaceAttribExternalBuffers(view, 0, {
    ...about,
    ...{ pitches: 0, offsets: 0, num_buffers: 1, flags: 0 },
    buffers: DESCRIPTORS.fds.address as Parameters<typeof writeVASurfaceAttribExternalBuffers>[2]["buffers"],
  });
  for (const [p, { offset, stride }] of planes.entries()) {
    view.setUint32(E.pitches.offset + p * 4, stride, true);
    view.setUint32(E.offsets.offset + p * 4, offset, true);
  }
  return { name: "DRM_PRIME", type: va.VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME, descriptor };
}
