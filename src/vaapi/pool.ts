import { AccessError } from "../core/errors.ts";
import { frameInWords, type ImageInfo } from "../core/layout/frame_info.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { registerContext } from "../core/life/finalizers.ts";
import { Resource } from "../core/life/resource.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { VaapiBase } from "./base.ts";
import type { VaapiSurface } from "./surface.ts";
import { newSurface, over } from "./surfaces.ts";
import type { VaapiTensor } from "./tensor.ts";

/** Surfaces of one format and size that are made once, and reused. */
export class VaapiPool extends NativeObject {
  /** The format and size of its frames. */
  readonly info: ImageInfo;
  /** The number of its surfaces. */
  readonly size: number;
  /** Its end of life, before which its frames end. */
  readonly resource: Resource;
  readonly #base: VaapiBase;
  readonly #idle: VaapiSurface[] = [];

  /** Made by the context. */
  constructor(base: VaapiBase, info: ImageInfo, size: number) {
    super();
    base.resource.assertLive();
    const undo: Undo = [];
    allOrNothing("making a pool of surfaces", () => {
      for (let i = 0; i < size; i++) this.#idle.push(newSurface(base, info, undefined, undo));
    }, undo);
    this.#base = base;
    this.info = this.#idle[0].info;
    this.size = size;
    this.resource = new Resource({
      name: `vaapi pool of ${size} surfaces of ${frameInWords(info)}`,
      undo,
      owners: [base.resource],
    });
    registerContext(this, this.resource);
  }

  /** The number of unused surfaces. */
  get available(): number {
    return this.#idle.length;
  }

  /**
   * A frame over an unused surface, with the pixels of its previous use. The surface returns to the pool when the frame
   * is disposed.
   *
   * @throws {AccessError} if all surfaces are in use.
   */
  take(): Frame<VaapiTensor> {
    this.resource.assertLive();
    const surface = this.#idle.pop();
    if (surface === undefined) {
      throw new AccessError(`all ${this.size} surfaces of the pool are in use.`, {
        api: "vaapi",
        hint: "Dispose a frame of it first, or make a larger pool.",
      });
    }
    const free = () => {
      if (!surface.display.kept.has(surface.id)) this.#idle.push(surface);
    };
    return over(this.#base, surface, free, { owner: this.resource }) as Frame<VaapiTensor>;
  }
}
