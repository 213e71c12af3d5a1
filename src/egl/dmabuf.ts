import { type Address, NULL } from "../../ffi/address.ts";
import * as names from "../../ffi/egl/constants.ts";
import type { Reason } from "../core/errors.ts";
import { thenUndo, undoAll } from "../core/life/undo.ts";
import { closeFd, factsOfFd, type FdFacts, lengthOfFd } from "../core/native/fd.ts";
import type { Display } from "./display.ts";
import { check, made } from "./errors.ts";
import type { GlFormat } from "./formats.ts";
import { checks, egl, eglExtensions } from "./library.ts";
import type { OpenContext } from "./open_context.ts";
import { EglPicture } from "./picture.ts";

export interface MemoryPlane {
  readonly fd: number;
  readonly offset: number;
  readonly stride: number;
}

/** EGL's attributes of a memory plane: fd, offset, pitch, and the halves of the modifier. */
const PLANES = [0, 1, 2, 3].map((i) =>
  (["FD", "OFFSET", "PITCH", "MODIFIER_LO", "MODIFIER_HI"] as const).map((part) =>
    names[`EGL_DMA_BUF_PLANE${i as 0 | 1 | 2 | 3}_${part}_EXT`]
  )
);

const MAX_PLANES: number = PLANES.length;

const LOW = 0xffff_ffffn;

const LINEAR = 0n;

/**
 * A picture over dma-bufs, in place. EGL keeps fds of its own.
 * @param planes the memory planes of one plane of a format: more than one if the modifier needs them
 * @param modifier undefined for a driver that takes none: the pixels then lie row by row
 */
export function importPicture(
  context: OpenContext,
  format: GlFormat,
  size: readonly [number, number],
  planes: readonly MemoryPlane[],
  modifier: bigint | undefined,
): EglPicture {
  const attributes = [
    ...[names.EGL_WIDTH, size[0], names.EGL_HEIGHT, size[1]],
    ...[names.EGL_LINUX_DRM_FOURCC_EXT, format.pixel.fourcc!, names.EGL_IMAGE_PRESERVED, names.EGL_TRUE],
    ...planes.flatMap(({ fd, offset, stride }, i) => {
      const [fdName, offsetName, strideName, low, high] = PLANES[i];
      const place = [fdName, fd, offsetName, offset, strideName, stride];
      return modifier === undefined ? place : [...place, low, modifier & LOW, high, modifier >> 32n];
    }),
    names.EGL_NONE,
  ];
  const list = BigInt64Array.from(attributes, BigInt);
  const { handle: display } = context.display;
  const image = made(
    egl().eglCreateImage(display, NULL, names.EGL_LINUX_DMA_BUF_EXT, NULL, list),
    "eglCreateImage",
  );
  return new EglPicture(context, format, size, { from: "image", image });
}

export interface ExportedPicture {
  readonly modifier: bigint;
  readonly planes: readonly MemoryPlane[];
}

export function exportPicture({ context, image, format }: EglPicture): ExportedPicture {
  const { eglExportDMABUFImageQueryMESA, eglExportDMABUFImageMESA } = eglExtensions();
  const { handle: display } = context.display;
  const [fourcc, count] = [new Int32Array(1), new Int32Array(1)];
  const query = "eglExportDMABUFImageQueryMESA";
  check(eglExportDMABUFImageQueryMESA!(display, image, fourcc, count, null), query);
  if (fourcc[0] !== format.pixel.fourcc || count[0] < 1 || count[0] > MAX_PLANES) {
    const stored = `DRM format 0x${fourcc[0].toString(16)} in ${count[0]} planes`;
    throw checks.unfit(
      "source",
      `the driver stores ${format.pixel.name} as ${stored}.`,
      "Copy it to a picture of RGBA: egl.queue.copy().",
      query,
    );
  }
  const modifiers = new BigUint64Array(MAX_PLANES);
  check(eglExportDMABUFImageQueryMESA!(display, image, null, null, modifiers), query);
  const fds = new Int32Array(MAX_PLANES).fill(-1);
  const [strides, offsets] = [new Int32Array(MAX_PLANES), new Int32Array(MAX_PLANES)];
  check(eglExportDMABUFImageMESA!(display, image, fds, strides, offsets), "eglExportDMABUFImageMESA");
  const planes = Array.from({ length: count[0] }, (_, i) => (
    { fd: fds[i] < 0 ? fds[0] : fds[i], offset: offsets[i], stride: strides[i] }
  ));
  return { modifier: modifiers[0], planes };
}

/** Facts about the fd that the driver exports of a picture. Mesa's virgl exports a stub of 4096 bytes for its own pictures. */
export function seenOutside(picture: EglPicture): FdFacts {
  const { planes, modifier } = exportPicture(picture);
  return thenUndo("asking for what a picture's fds allow", () => {
    const facts = factsOfFd(planes[0].fd);
    const lastRow = Math.max(...planes.map(({ offset, stride }) => offset + stride * (picture.height - 1)));
    const length = lengthOfFd(planes[0].fd);
    if (modifier !== LINEAR || lastRow < length) return facts;
    const reason =
      `the driver lets out ${length} bytes, and its last row begins at byte ${lastRow}: they only name it.`;
    return { ...facts, stub: { reason, remedy: "Map it to an API on the same GPU, or to the host by a copy." } };
  }, [() => closePlanes(planes)]);
}

/** The DRM formats that the driver imports and draws to, and the modifiers of each. */
export class DmaBufFormats {
  readonly #display: Address;
  readonly #formats: ReadonlySet<number>;
  readonly #modifiers = new Map<number, readonly bigint[] | undefined>();

  /** For a driver with EGL_EXT_image_dma_buf_import_modifiers. */
  constructor({ handle }: Display) {
    this.#display = handle;
    const { eglQueryDmaBufFormatsEXT } = eglExtensions();
    const count = new Int32Array(1);
    check(eglQueryDmaBufFormatsEXT!(handle, 0, null, count), "eglQueryDmaBufFormatsEXT");
    const formats = new Int32Array(count[0]);
    check(eglQueryDmaBufFormatsEXT!(handle, formats.length, formats, count), "eglQueryDmaBufFormatsEXT");
    this.#formats = new Set(formats.subarray(0, count[0]));
  }

  ask(formats: readonly GlFormat[]): void {
    for (const { pixel: { fourcc } } of formats) {
      if (this.#formats.has(fourcc!) && !this.#modifiers.has(fourcc!)) {
        this.#modifiers.set(fourcc!, this.#ask(fourcc!));
      }
    }
  }

  /** Why a picture of these planes cannot be imported. Makes no native call. */
  refuse(driver: string, formats: readonly GlFormat[], modifier: bigint): Reason | undefined {
    const missing = formats.find(({ pixel: { fourcc } }) => !this.#formats.has(fourcc!));
    if (missing !== undefined) return { reason: `${driver} imports no dma-bufs of ${missing.pixel.name}.` };
    for (const { pixel: { fourcc, name } } of formats) {
      if (!this.#modifiers.has(fourcc!)) continue; // not queried yet
      const known = this.#modifiers.get(fourcc!) ?? [LINEAR];
      if (known.includes(modifier)) continue;
      const list = known.map((one) => `0x${one.toString(16)}`).join(", ");
      return {
        reason: `${driver} draws to no dma-bufs of ${name} with the modifier 0x${modifier.toString(16)}.`,
        ...(list === "" ? {} : { remedy: `It has ${list}: have the other side make one of these.` }),
      };
    }
    return undefined;
  }

  /** True if an import has to name the modifier, because the driver lists those that it takes. */
  takesModifier({ pixel: { fourcc } }: GlFormat): boolean {
    return this.#modifiers.get(fourcc!) !== undefined;
  }

  /** Undefined if the driver lists no modifiers: Mesa's virgl imports without. */
  #ask(fourcc: number): bigint[] | undefined {
    const { eglQueryDmaBufModifiersEXT } = eglExtensions();
    const fn = "eglQueryDmaBufModifiersEXT";
    const count = new Int32Array(1);
    check(eglQueryDmaBufModifiersEXT!(this.#display, fourcc, 0, null, null, count), fn);
    if (count[0] === 0) return undefined;
    const [modifiers, external] = [new BigUint64Array(count[0]), new Uint32Array(count[0])];
    check(eglQueryDmaBufModifiersEXT!(this.#display, fourcc, count[0], modifiers, external, count), fn);
    return [...modifiers.subarray(0, count[0])].filter((_, i) => external[i] === names.EGL_FALSE);
  }
}

export function closePlanes(planes: readonly MemoryPlane[]): void {
  const fds = new Set(planes.map(({ fd }) => fd));
  undoAll([...fds].map((fd) => () => closeFd(fd)), "closing dma-bufs");
}
