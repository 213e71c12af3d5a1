import { assertWhole } from "../core/layout/pictures.ts";
import { type Part, Tensor } from "../core/tensors/tensor.ts";
import type { Layout } from "../core/layout/layout.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import type { FdFacts } from "../core/native/fd.ts";
import { Described, type DescribedPlane } from "../core/tensors/described.ts";
import type { EglPicture } from "./picture.ts";

/** A described plane, with its picture if that exists already. */
class PicturePlane implements DescribedPlane {
  readonly layout: Layout;
  readonly allocation: Allocation;
  readonly start: number;
  readonly picture: EglPicture;

  constructor({ layout, grant: { allocation, start }, rawHandle }: EglTensor) {
    this.layout = layout;
    this.allocation = allocation;
    this.start = start;
    this.picture = rawHandle;
  }

  get fd(): FdFacts | undefined {
    return this.picture.fd;
  }
}

/** The picture of a described plane, if it exists already. */
export function pictureIn(plane: DescribedPlane): EglPicture | undefined {
  return (plane as Partial<PicturePlane>).picture;
}

/**
 * A plane of a picture. Its handle is an {@link EglPicture}: a texture and an `EGLImage`. `layout` is the order of the bytes
 * that are read and written: only the driver knows where the pixels lie.
 */
export class EglTensor extends Tensor<EglPicture> {
  /** Lends the whole plane again; an image has no parts. @throws {LayoutError} for a part. */
  protected override derive(part: Part): EglTensor {
    assertWhole(part.layout, this, "egl", "Map a part of the memory that it came from.");
    return super.derive(part) as EglTensor;
  }

  /** For routes. */
  protected override describe(): Described {
    return new Described(this.target, this.access, [new PicturePlane(this)]);
  }
}
