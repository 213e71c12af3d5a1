import type { Address } from "../../ffi/address.ts";
import { VA_STATUS_SUCCESS } from "../../ffi/va/constants.ts";
import type { Call } from "../core/contract.ts";
import { MemoryClass, UNPROVEN, type Verdict, verdictOf } from "../core/device/proofs.ts";
import { type ImageFormat, type ImageInfo, imageInfo, planeLayouts } from "../core/layout/frame_info.ts";
import type { Layout } from "../core/layout/layout.ts";
import { copyElements } from "../core/layout/runs.ts";
import type { GiveBack } from "../core/life/resource.ts";
import { thenUndo, type Undo } from "../core/life/undo.ts";
import { type Access, reads, writes } from "../core/memory/access.ts";
import { Allocation, type Fate } from "../core/memory/allocation.ts";
import { bytesAt } from "../core/native/pin.ts";
import type { VaapiBase } from "./base.ts";
import { FORMATS } from "./formats.ts";
import { SurfaceImage } from "./image.ts";
import { vaError } from "./library.ts";
import { newSurface } from "./surfaces.ts";
import type { VaapiSurface } from "./surface.ts";

/** A surface as the CPU sees it. */
export interface Shown {
  /** The address of its first byte. */
  readonly address: Address;
  /** The layout of each plane, counted from there. */
  readonly layouts: readonly Layout[];
  /** The block. */
  readonly allocation: Allocation;
  /** Copies the pixels back, if they are a copy that was written. */
  readonly giveBack: GiveBack | undefined;
}

/** A plane of host memory. */
export interface HostPlane {
  /** The address of its first element. */
  readonly address: Address;
  /** Its layout, from there. */
  readonly layout: Layout;
}

const SIZE = 64;
const CLASSES = new Map<string, MemoryClass<VaapiBase>>();
const NO_IMAGE = "the driver derives no image of";

/** How the CPU reaches a context's surfaces. For mappers. */
export class SurfaceImages {
  readonly #base: VaapiBase;

  /** Made by the context. */
  constructor(base: VaapiBase) {
    this.#base = base;
  }

  /** Finds out how the driver shows such surfaces to the CPU, by an experiment that runs once. */
  tryToProve(info: ImageInfo): void {
    this.#base.proofs.tryToProve(classOf(info));
  }

  /** The verdict: in place, or moved by the driver; undefined if only by copies. */
  judge(info: ImageInfo): Verdict | undefined {
    const verdict = this.#base.proofs.judge(classOf(info));
    return verdict === UNPROVEN || verdict.impossible ? undefined : verdict;
  }

  /** Why pixels of a format cannot be copied; undefined if they can. */
  refuseCopy({ format }: ImageInfo): string | undefined {
    return this.#formatOf(format) === undefined ? `the driver has no images of ${format}.` : undefined;
  }

  #formatOf(format: ImageFormat): DataView<ArrayBuffer> | undefined {
    const known = FORMATS[format];
    return known && this.#base.imageFormats.get(known.fourcc);
  }

  /** Shows a surface to the CPU, itself or a copy of it, until `undo` runs. */
  show(surface: VaapiSurface, copied: boolean, access: Access, undo: Undo): Shown {
    surface.sync();
    const image = copied ? this.#newImage(surface) : SurfaceImage.derive(surface);
    let kept = false;
    undo.push(() => kept ? image.keep() : image.free());
    const { layouts, byteLength } = image;
    const moved = () => this.#base.countCopied(pixelBytes(layouts));
    if (copied && reads(access)) {
      image.get();
      moved();
    }
    const address = image.map();
    const free = (fate: Fate) => void (kept = fate !== "unused");
    const allocation = new Allocation({ kind: "vaapi.map", address, byteLength, free });
    allocation.joinUntil(undo);
    const { line } = this.#base;
    const giveBack = copied && writes(access)
      ? { line, once: true, step: () => putBack(image, allocation, moved) }
      : undefined;
    return { address, layouts, allocation, giveBack };
  }

  /** Copies host memory to a surface if it is read there. Returns the copy back if it is written there. */
  hold(surface: VaapiSurface, planes: readonly HostPlane[], access: Access, undo: Undo): GiveBack | undefined {
    const image = this.#newImage(surface);
    undo.push(() => image.free());
    const moved = () => this.#base.countCopied(pixelBytes(image.layouts));
    if (reads(access)) {
      copyBetween(image, planes, "image");
      const code = image.put();
      if (code !== VA_STATUS_SUCCESS) throw vaError(code, "vaPutImage");
      moved();
    }
    return writes(access)
      ? { line: this.#base.line, once: true, step: () => takeBack(image, planes, moved) }
      : undefined;
  }

  #newImage(surface: VaapiSurface): SurfaceImage {
    return SurfaceImage.create(surface, this.#formatOf(surface.info.format)!);
  }
}

function pixelBytes(layouts: readonly Layout[]): number {
  return layouts.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

function putBack(image: SurfaceImage, { escaped }: Allocation, moved: () => void): Call<undefined> {
  return {
    fn: "vaPutImage",
    blocks: true,
    call() {
      if (!escaped) image.unmap(); // else an escaped view may still use it
      const code = image.put();
      if (code === VA_STATUS_SUCCESS) moved();
      return code;
    },
  };
}

function takeBack(image: SurfaceImage, planes: readonly HostPlane[], moved: () => void): Call<undefined> {
  return {
    fn: "vaGetImage",
    blocks: true,
    call() {
      image.get();
      copyBetween(image, planes, "host");
      moved();
      return VA_STATUS_SUCCESS;
    },
  };
}

function copyBetween(image: SurfaceImage, planes: readonly HostPlane[], to: "image" | "host"): void {
  thenUndo("copying an image", (undo) => {
    const there = bytesAt(image.map(), image.byteLength, "vaapi", undo);
    for (const [p, { address, layout }] of planes.entries()) {
      const here = bytesAt(address, layout.byteLength, "vaapi", undo);
      if (to === "image") copyElements(there, image.layouts[p], here, layout);
      else copyElements(here, layout, there, image.layouts[p]);
    }
  }, [() => image.unmap()]);
}

/** The class of surfaces that a driver shows to the CPU in the same way: of one format and one memory layout. */
function classOf({ format, modifier }: ImageInfo): MemoryClass<VaapiBase> {
  const name = `${format} surfaces of modifier 0x${modifier.toString(16)}`;
  let known = CLASSES.get(name);
  if (known === undefined) {
    CLASSES.set(name, known = new MemoryClass(name, (base, undo) => seen(base, format, modifier, name, undo)));
  }
  return known;
}

/** Tests whether a derived image is the surface itself: while it is mapped, driver and CPU have to see each other's writes. */
function seen(base: VaapiBase, format: ImageFormat, modifier: bigint, name: string, undo: Undo): Verdict {
  const surface = sampleOf(base, format, modifier, undo);
  const { info } = surface;
  const derived = info.modifier === modifier ? SurfaceImage.tryToDerive(surface) : undefined;
  if (derived === undefined || typeof derived === "number") {
    return { aliases: false, evidence: `${NO_IMAGE} ${name}.`, impossible: true };
  }
  undo.push(() => derived.free());
  const other = base.imageFormats.get(FORMATS[format]!.fourcc);
  if (other === undefined) return verdictOf("the driver has no image to compare with", name);
  const copy = SurfaceImage.create(surface, other);
  undo.push(() => copy.free());
  const here = bytesAt(derived.map(), derived.byteLength, "vaapi", undo);
  const isSame = () => {
    const [one, another] = [pixelsOf(derived, here, info), pixelsIn(copy, info)];
    return one.every((byte, i) => byte === another[i]);
  };
  crypto.getRandomValues(here);
  copy.get();
  if (!isSame()) return verdictOf("the driver did not read what the CPU had written, while the image was mapped", name);
  randomize(copy);
  const code = copy.put();
  if (code !== VA_STATUS_SUCCESS) throw vaError(code, "vaPutImage");
  return verdictOf(isSame() ? undefined : "the CPU did not read what the driver had written", name);
}

/** A surface with this layout, which is the driver's own choice or requested by its modifier. */
function sampleOf(base: VaapiBase, format: ImageFormat, modifier: bigint, undo: Undo): VaapiSurface {
  const info = imageInfo({ format, width: SIZE, height: SIZE });
  const surface = newSurface(base, info, undefined, undo);
  return surface.info.modifier === modifier ? surface : newSurface(base, info, [modifier], undo);
}

function lookAt<T>(image: SurfaceImage, look: (bytes: Uint8Array<ArrayBuffer>) => T): T {
  const use = (undo: Undo) => look(bytesAt(image.map(), image.byteLength, "vaapi", undo));
  return thenUndo("looking at an image", use, [() => image.unmap()]);
}

function randomize(image: SurfaceImage): void {
  lookAt(image, (bytes) => crypto.getRandomValues(bytes));
}

function pixelsIn(image: SurfaceImage, info: ImageInfo): Uint8Array {
  return lookAt(image, (bytes) => pixelsOf(image, bytes, info));
}

function pixelsOf({ layouts }: SurfaceImage, bytes: Uint8Array, info: ImageInfo): Uint8Array {
  const tight = planeLayouts(info);
  const last = tight[tight.length - 1];
  const pixels = new Uint8Array(last.byteOffset + last.byteLength);
  for (const [p, layout] of layouts.entries()) copyElements(pixels, tight[p], bytes, layout);
  return pixels;
}
