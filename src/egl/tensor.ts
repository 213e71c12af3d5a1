import { LayoutError } from "../core/errors.ts";
import { Resource } from "../core/life/resource.ts";
import { type Part, Tensor } from "../core/tensors/tensor.ts";
import type { EglPicture } from "./picture.ts";

/**
 * A plane of a picture, as GL and EGL know it. Its handle is an {@link EglPicture}: a texture and an `EGLImage`. Only the
 * driver knows where the pixels lie; `layout` is that of the bytes that are read and written.
 */
export class EglTensor extends Tensor<EglPicture> {
  /** Lends the whole plane again; an image has no parts. @throws {LayoutError} for a part. */
  protected derive({ layout, grant, name }: Part): EglTensor {
    const { layout: own, target, rawHandle: handle } = this;
    const same = layout.dtype === own.dtype && layout.byteOffset === own.byteOffset &&
      String(layout.shape) === String(own.shape) && String(layout.strides) === String(own.strides);
    if (!same) {
      throw new LayoutError(`layout: EGL has no images that are parts of others, as of ${this.name}.`, {
        api: "egl",
        argument: "layout",
        hint: "Map a part of the memory that it came from.",
      });
    }
    const resource = new Resource({ name, grants: [grant], owners: [this.resource] });
    return new EglTensor({ target, handle, layout, resource, parent: this });
  }
}
