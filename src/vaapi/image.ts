import type { Address } from "../../ffi/address.ts";
import { VA_STATUS_SUCCESS } from "../../ffi/va/constants.ts";
import { VA_STATUS_ERROR_INVALID_IMAGE, VA_STATUS_ERROR_INVALID_IMAGE_FORMAT } from "../../ffi/va/errors.ts";
import { VAImage } from "../../ffi/va/structs.ts";
import { IMAGE_FORMATS, planesAt } from "../core/layout/frame_info.ts";
import type { Layout } from "../core/layout/layout.ts";
import { ledger, owned } from "../core/life/ledger.ts";
import { type Undo, undoAll, undone } from "../core/life/undo.ts";
import { FORMATS } from "./formats.ts";
import { check, libva, structOf, vaError } from "./library.ts";
import { assertFits, type VaapiSurface } from "./surface.ts";

const I = VAImage.fields;

/** A `VAImage`: pixels that the CPU sees while it is mapped, in the surface's own memory or in a copy. */
export class SurfaceImage {
  readonly layouts: readonly Layout[];
  readonly byteLength: number;
  readonly #surface: VaapiSurface;
  readonly #image: DataView<ArrayBuffer>;
  readonly #undo: Undo = [];
  #address: Address | undefined;

  private constructor(surface: VaapiSurface, image: DataView<ArrayBuffer>) {
    this.#surface = surface;
    this.#image = image;
    owned("vaapi.image", this.#undo, () => {
      check(libva().vaDestroyImage(surface.display.handle, this.#field(I.image_id.offset)), "vaDestroyImage");
    });
    try {
      this.byteLength = this.#field(I.data_size.offset);
      this.layouts = this.#layouts();
    } catch (error) {
      throw undone(error, this.#undo, "looking at an image");
    }
  }

  /** An image derived from the surface, or the status of a driver that derives none. */
  static tryToDerive(surface: VaapiSurface): SurfaceImage | number {
    const image = structOf(VAImage);
    const code = libva().vaDeriveImage(surface.display.handle, surface.id, image);
    if (code !== VA_STATUS_SUCCESS) return code;
    const derived = new SurfaceImage(surface, image);
    if (image.getUint32(I.fourcc.offset, true) === FORMATS[surface.info.format]!.fourcc) return derived;
    derived.free(); // some drivers derive an image of another format
    return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
  }

  static derive(surface: VaapiSurface): SurfaceImage {
    const derived = SurfaceImage.tryToDerive(surface);
    if (typeof derived === "number") throw vaError(derived, "vaDeriveImage");
    return derived;
  }

  static create(surface: VaapiSurface, format: DataView<ArrayBuffer>): SurfaceImage {
    const image = structOf(VAImage);
    const { width, height } = surface.info;
    check(libva().vaCreateImage(surface.display.handle, format, width, height, image), "vaCreateImage");
    return new SurfaceImage(surface, image);
  }

  #field(offset: number): number {
    return this.#image.getUint32(offset, true);
  }

  #layouts(): readonly Layout[] {
    const { info } = this.#surface;
    const side = ({ offset }: { readonly offset: number }) => this.#image.getUint16(offset, true);
    assertFits(info, { width: side(I.width), height: side(I.height) });
    const planes = IMAGE_FORMATS[info.format].planes.map((_, p) => ({
      offset: this.#field(I.offsets.offset + 4 * p),
      stride: this.#field(I.pitches.offset + 4 * p),
    }));
    const layouts = planesAt(info, planes);
    const end = Math.max(...layouts.map(({ byteOffset, byteLength }) => byteOffset + byteLength));
    if (end <= this.byteLength) return layouts;
    throw vaError(VA_STATUS_ERROR_INVALID_IMAGE, "vaDeriveImage", {
      hint: `The driver says that its planes end at byte ${end} of ${this.byteLength}.`,
    });
  }

  map(): Address {
    const address = new BigUint64Array(1);
    check(libva().vaMapBuffer(this.#surface.display.handle, this.#field(I.buf.offset), address), "vaMapBuffer");
    return this.#address = address[0] as Address;
  }

  unmap(): void {
    if (this.#address === undefined) return;
    this.#address = undefined;
    check(libva().vaUnmapBuffer(this.#surface.display.handle, this.#field(I.buf.offset)), "vaUnmapBuffer");
  }

  get(): void {
    const { display, id, info: { width, height } } = this.#surface;
    const code = libva().vaGetImage(display.handle, id, 0, 0, width, height, this.#field(I.image_id.offset));
    check(code, "vaGetImage");
  }

  /** Copies its pixels to the surface, waits for that, and returns the status. The image must not be mapped. */
  put(): number {
    const { display, id, info: { width: w, height: h } } = this.#surface;
    const code = libva().vaPutImage(display.handle, id, this.#field(I.image_id.offset), 0, 0, w, h, 0, 0, w, h);
    if (code === VA_STATUS_SUCCESS) this.#surface.sync();
    return code;
  }

  /** Leaves it mapped for good, because a view of it has escaped. */
  keep(): void {
    ledger.remove("vaapi.image");
    this.#surface.display.kept.add(this.#surface.id);
  }

  free(): void {
    undoAll([...this.#undo.splice(0), () => this.unmap()], "giving an image back");
  }
}
