import { assertWhole } from "../../core/layout/pictures.ts";
import { type Part, Tensor } from "../../core/tensors/tensor.ts";
import type { VulkanFormat } from "./formats.ts";
import type { ImageObject } from "./image_object.ts";

/**
 * An image: pixels that a shader reads and writes by coordinates. Its handle is an {@link ImageObject}.
 *
 * `layout` has no gaps. It is the order of the bytes that `queue.read` and `queue.write` copy: only the driver knows where the
 * pixels lie in the device's memory.
 */
export class VulkanImage extends Tensor<ImageObject> {
  /** The format of its pixels. */
  get format(): VulkanFormat {
    return this.rawHandle.spec.format;
  }

  /** Pixels along x. */
  get width(): number {
    return this.rawHandle.spec.width;
  }

  /** Pixels along y. */
  get height(): number {
    return this.rawHandle.spec.height;
  }

  /** The number of its layers; undefined for an image without layers. */
  get layers(): number | undefined {
    return this.rawHandle.spec.layers;
  }

  /** The DRM format modifier of the pixels; 0 for row by row, undefined if only the driver knows their order. */
  get modifier(): bigint | undefined {
    return this.rawHandle.modifier;
  }

  /** Lends the whole image again; there are no parts of images. @throws {LayoutError} for a part. */
  protected override derive(part: Part): VulkanImage {
    assertWhole(part.layout, this, "vulkan", "Give the shader an origin.");
    return super.derive(part) as VulkanImage;
  }
}
