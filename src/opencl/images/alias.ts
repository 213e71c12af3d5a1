import type { Undo } from "../../core/life/undo.ts";
import { divisorOf, multiple } from "../alias/memory.ts";
import { Trial } from "../alias/trial.ts";
import type { OpenCLDevice } from "../device.ts";
import type { PixelFormat } from "./format.ts";
import type { ImageShape } from "./shape.ts";
import { ImageSpecimen } from "./specimen.ts";
import { IMAGE_TYPES, type ImageType } from "./type.ts";
import { type Outcome, Proofs, type Verdict } from "../alias/proofs.ts";

/** What a driver may look at in a pitch. */
export interface PitchClass {
  /** The largest power of two, up to 4096, that divides it. */
  readonly divisor: number;
  /** True where there is room between what it steps over and the next. */
  readonly padded: boolean;
}

/** What a driver may look at when it decides whether to use memory in place as an image. */
export interface ImageClass {
  /** The kind of image. */
  readonly type: ImageType;
  /** Its format. */
  readonly format: PixelFormat;
  /** Where it lies and how; undefined for memory of the driver's own. */
  readonly host?: {
    /** The largest power of two, up to 4096, that divides the address. */
    readonly address: number;
    /** From row to row. */
    readonly row: PitchClass;
    /** True where there is room between slices. */
    readonly paddedSlices: boolean;
  };
}

/** An image in memory: what a proof is asked about. */
export interface ImagePlace {
  /** Its format. */
  readonly format: PixelFormat;
  /** Its pixels. */
  readonly image: ImageShape;
  /** Its address; undefined for memory of the driver's own. */
  readonly address: bigint | undefined;
}

const BEST = { address: 4096, row: { divisor: 4096, padded: false }, paddedSlices: false };

/** The class of an image in memory. */
export function imageClassOf({ format, image: { type, extent: [x, y], pitch }, address }: ImagePlace): ImageClass {
  if (address === undefined) return { type, format };
  const row = { divisor: divisorOf(BigInt(pitch.row)), padded: pitch.row !== x * format.bytesPerPixel };
  return { type, format, host: { address: divisorOf(address), row, paddedSlices: pitch.slice !== pitch.row * y } };
}

/**
 * Finds out, once per device and class, whether an image over host memory is that memory: by the same experiment as for
 * buffers ({@link AliasProofs}), with kernels that read and write the pixels of two images. Where the device does not
 * use memory in place that is as well aligned as can be, it is taken to use none: a "no" takes a second. For those who
 * write mappers.
 */
export class ImageProofs extends Proofs<ImageClass> {
  /** Runs the proof for an image, unless it was run before. */
  prove(place: ImagePlace): Verdict {
    return this.proveClass(imageClassOf(place));
  }

  /** The same where a failure proves nothing: it leaves the class unproven, to be tried again. */
  tryToProve(place: ImagePlace): void {
    this.tryToProveClass(imageClassOf(place));
  }

  /** What was found out: unproven is never alias. No native call. */
  judge(place: ImagePlace): Verdict {
    return this.judgeClass(imageClassOf(place));
  }

  /** A class by its kind, format and place. */
  protected keyOf({ type, format, host }: ImageClass): string {
    const where = host === undefined ? "driver" : JSON.stringify([host.address, host.row, host.paddedSlices]);
    return `${type} ${format.name} ${where}`;
  }

  /** The same in words. */
  protected describe({ type, format, host }: ImageClass): string {
    const what = `${type} ${format.name}`;
    if (host === undefined) return `${what} in memory of the driver's own`;
    const parts = [what, multiple("address", host.address)];
    parts.push(multiple(IMAGE_TYPES[type].rank > 1 ? "row pitch" : "length", host.row.divisor));
    if (host.row.padded) parts.push("padded rows");
    if (host.paddedSlices) parts.push("padded slices");
    return parts.join(", ");
  }

  /** Makes two specimens of the class, and has the device read and write them. */
  protected experiment(which: ImageClass, undo: Undo): Outcome {
    const { host, format } = which;
    if (host !== undefined && Math.min(host.address, host.row.divisor) < format.bytesPerPixel) {
      return `pixels of ${format.bytesPerPixel} bytes do not lie at multiples of that, so none is tried`;
    }
    if (which.type === "3D" && !this.context.devices.every(writes3D)) {
      return "no kernel can write into a 3D image here, so nothing can be shown";
    }
    const best: ImageClass = { ...which, host: BEST };
    if (host !== undefined && this.keyOf(which) !== this.keyOf(best)) {
      if (!this.proveClass(best).aliases) return "not even images as well aligned as can be are used in place";
    }
    const specimen = new ImageSpecimen(this.context, which, undo);
    return specimen.problem ?? new Trial(this.context, specimen, undo).run();
  }
}

function writes3D({ extensions }: OpenCLDevice): boolean {
  return extensions.includes("cl_khr_3d_image_writes");
}
