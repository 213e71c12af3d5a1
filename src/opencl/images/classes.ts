import { MemoryClass, type Verdict, verdictOf } from "../../core/device/proofs.ts";
import type { Undo } from "../../core/life/undo.ts";
import { divisorOf, multiple } from "../alias/memory.ts";
import { Trial } from "../alias/trial.ts";
import type { BaseContext } from "../base_context.ts";
import type { OpenCLDevice } from "../device.ts";
import type { PixelFormat } from "./format.ts";
import type { ImageShape } from "./shape.ts";
import { imageSpecimen } from "./specimen.ts";
import { IMAGE_TYPES, type ImageType } from "./type.ts";

export interface PitchTraits {
  /** The largest power of two, up to 4096, that divides it. */
  readonly divisor: number;
  /** True where there is room between what it steps over and the next. */
  readonly padded: boolean;
}

export interface ImageTraits {
  readonly type: ImageType;
  readonly format: PixelFormat;
  /** Where it lies and how; undefined for the driver's own memory. */
  readonly host?: {
    /** The largest power of two, up to 4096, that divides the address. */
    readonly address: number;
    readonly row: PitchTraits;
    readonly paddedSlices: boolean;
  };
}

/** An image in memory, as a proof sees it. */
export interface ImagePlace {
  /** Its format. */
  readonly format: PixelFormat;
  /** Its pixels. */
  readonly image: ImageShape;
  /** Its address; undefined for memory of the driver's own. */
  readonly address: bigint | undefined;
}

function bestFor({ images }: BaseContext, type: ImageType, { bytesPerPixel }: PixelFormat) {
  const [most] = images.abilities.limits.extents[type];
  let divisor = 4096;
  while (divisor > most * bytesPerPixel) divisor /= 2;
  return { address: 4096, row: { divisor, padded: false }, paddedSlices: false };
}

const CLASSES = new Map<string, MemoryClass<BaseContext>>();

export function named(
  name: string,
  experiment: (context: BaseContext, undo: Undo) => Verdict,
): MemoryClass<BaseContext> {
  let known = CLASSES.get(name);
  if (known === undefined) CLASSES.set(name, known = new MemoryClass(name, experiment));
  return known;
}

export function traitsOf({ format, image: { type, extent: [x, y], pitch }, address }: ImagePlace): ImageTraits {
  if (address === undefined) return { type, format };
  const row = { divisor: divisorOf(BigInt(pitch.row)), padded: pitch.row !== x * format.bytesPerPixel };
  return { type, format, host: { address: divisorOf(address), row, paddedSlices: pitch.slice !== pitch.row * y } };
}

/**
 * The class of memory as an image. The experiment is that of buffers, with the pixels of two images. A device that does
 * not use even the best aligned memory in place is taken to use none, because each "no" takes a second.
 */
export function imageClass(traits: ImageTraits): MemoryClass<BaseContext> {
  const name = describe(traits);
  return named(name, (context, undo) => verdictOf(experiment(context, traits, undo), name));
}

function describe({ type, format, host }: ImageTraits): string {
  const what = `${type} ${format.name}`;
  if (host === undefined) return `${what} in memory of the driver's own`;
  const parts = [what, multiple("address", host.address)];
  parts.push(multiple(IMAGE_TYPES[type].rank > 1 ? "row pitch" : "length", host.row.divisor));
  if (host.row.padded) parts.push("padded rows");
  if (host.paddedSlices) parts.push("padded slices");
  return parts.join(", ");
}

function experiment(context: BaseContext, traits: ImageTraits, undo: Undo): string | undefined {
  const { host, format, type } = traits;
  if (host !== undefined && Math.min(host.address, host.row.divisor) < format.bytesPerPixel) {
    return `pixels of ${format.bytesPerPixel} bytes do not lie at multiples of that, so none is tried`;
  }
  if (type === "3D" && !context.devices.every(writes3D)) {
    return "no kernel can write into a 3D image here, so nothing can be shown";
  }
  const best = { type, format, host: bestFor(context, type, format) };
  if (host !== undefined && describe(traits) !== describe(best)) {
    if (!context.proofs.prove(imageClass(best)).aliases) {
      return "not even images as well aligned as can be are used in place";
    }
  }
  const specimen = imageSpecimen(context, traits, undo);
  return typeof specimen === "string" ? specimen : new Trial(context, specimen, undo).run();
}

function writes3D({ extensions }: OpenCLDevice): boolean {
  return extensions.includes("cl_khr_3d_image_writes");
}
