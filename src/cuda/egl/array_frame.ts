import { object } from "../../core/argument.ts";
import {
  frameInfo,
  frameInWords,
  type ImageInfo,
  imageInfo,
  type ImageInit,
  planeLayouts,
} from "../../core/layout/frame_info.ts";
import { AccessError } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import type { Line } from "../../core/device/line.ts";
import { type Access, covers } from "../../core/memory/access.ts";
import type { Grant } from "../../core/memory/grant.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { CudaArray } from "../arrays/array.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { checks } from "../check.ts";

/**
 * A picture whose planes are CUDA arrays, which a producer of arrays presents to an `EGLStream` and a consumer of arrays
 * acquires from it. Textures read it; only the driver knows the order of its pixels.
 *
 * @example
 * ```ts ignore
 * import { CudaArrayFrame, CudaContext } from "@samepage/interop/cuda";
 *
 * using cuda = CudaContext.open();
 * using array = cuda.array({ width: 640, height: 480, channels: 4, dtype: "u8" });
 * using frame = CudaArrayFrame.of([array], { format: "RGBA", width: 640, height: 480 });
 * ```
 */
export class CudaArrayFrame extends NativeObject {
  /** Format and size. */
  readonly info: ImageInfo;
  /** The planes, in the order of the format. */
  readonly arrays: readonly CudaArray[];
  /** Its end of life. */
  readonly resource: Resource;
  /** How it may be used: a frame that came from a stream is read-only. */
  readonly access: Access;

  /** Takes over the resource. For mappers. */
  constructor(
    info: ImageInfo,
    access: Access,
    resource: Resource,
    arrays: (frame: CudaArrayFrame) => readonly CudaArray[],
  ) {
    super();
    this.info = info;
    this.access = access;
    this.resource = resource;
    this.arrays = Object.freeze([...arrays(this)]);
  }

  /**
   * A frame of a program's arrays, which stay the program's.
   *
   * @throws {ArgumentError} unless they are arrays of one context.
   * @throws {LayoutError} if they are not the planes that `info` describes.
   */
  static of(arrays: readonly CudaArray[], info: ImageInit | ImageInfo): CudaArrayFrame {
    const checked = "type" in object(info, "info") ? frameInfo(info as ImageInfo) : imageInfo(info);
    if (checked.type !== "image") {
      const what = checked.type === "audio" ? "sound" : checked.format;
      throw checks.wrong("info", `arrays are pictures of samepage's formats, and this is ${what}.`);
    }
    const planes = Array.isArray(arrays) ? checks.itemsIn<CudaArray>(arrays, "arrays") : [];
    for (const [i, array] of planes.entries()) {
      checks.assertInstance(array, CudaArray, `arrays[${i}]`);
      array.resource.assertLive();
      checks.assertHere(array.context, planes[0].context, `arrays[${i}]`);
    }
    const wanted = planeLayouts(checked).map(({ shape: [height, width, channels = 1], dtype }) =>
      `[${height},${width},${channels}] ${dtype}`
    );
    const given = planes.map(({ shape, dtype }) => `[${shape.join(",")}] ${dtype}`);
    if (wanted.join() !== given.join()) {
      throw checks.unfit(
        "arrays",
        `expected ${wanted.join(" and ")} for ${frameInWords(checked)}, got ${given.join(" and ") || "none"}.`,
      );
    }
    const name = `cuda frame ${frameInWords(checked)} of ${planes.length} arrays`;
    const resource = new Resource({ name, owners: planes.map(({ resource }) => resource) });
    return new CudaArrayFrame(checked, "read-write", resource, () => planes);
  }

  /** True if a line can use it at once with this access. For mappers. */
  override isReadyFor(line: Line, access: Access = "read"): boolean {
    return covers(this.access, access) && super.isReadyFor(line);
  }

  /** Throws an {@link AccessError} if it does not allow this access. For mappers. */
  override usable(access: Access = "read"): readonly Grant[] {
    const returning = super.usable();
    if (covers(this.access, access)) return returning;
    throw new AccessError(`${this.name} is for "${this.access}" and cannot be used for "${access}".`, {
      ...{ api: "cuda", argument: "array", hint: "Copy it to an array of your own: cuda.array()." },
    });
  }

  /** The context of its arrays. */
  get context(): CudaPrimaryContext {
    return this.arrays[0].context;
  }

  /** Its name, for messages. */
  get name(): string {
    return this.resource.name;
  }

  /** Declares work on all of its arrays that samepage did not submit: their end waits for the fence. */
  usedBy(fence: Fence): void {
    for (const array of this.arrays) array.usedBy(fence);
  }
}
