import { assertWhole } from "../core/layout/pictures.ts";
import { type Part, Tensor } from "../core/tensors/tensor.ts";
import type { EglPicture } from "./picture.ts";

/**
 * A plane of a picture, as GL and EGL know it. Its handle is an {@link EglPicture}: a texture and an `EGLImage`. Only the
 * driver knows where the pixels lie; `layout` is that of the bytes that are read and written.
 */
export class EglTensor extends Tensor<EglPicture> {
  /** Lends the whole plane again; an image has no parts. @throws {LayoutError} for a part. */
  protected override derive(part: Part): EglTensor {
    assertWhole(part.layout, this, "egl", "Map a part of the memory that it came from.");
    return super.derive(part) as EglTensor;
  }
}
