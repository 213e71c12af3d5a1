import type { Fence } from "../core/device/fence.ts";
import type { Reason } from "../core/errors.ts";
import { type ImageInfo, imageOf, planeLayouts } from "../core/layout/frame_info.ts";
import type { Layout } from "../core/layout/layout.ts";
import type { Access } from "../core/memory/access.ts";
import { Described, type DescribedPlane } from "../core/tensors/described.ts";
import { Tensor } from "../core/tensors/tensor.ts";
import { workOn } from "./line.ts";
import type { VaapiSurface } from "./surface.ts";

const NO_FENCES: readonly Fence[] = [];

/**
 * A plane of a surface, which is its handle. `layout` holds the shape and the dtype: only the driver knows where the bytes lie.
 */
export class VaapiTensor extends Tensor<VaapiSurface> {
  /** Work that other code has submitted by the surface's id. For backends. */
  override outsideWork(_access: Access): readonly Fence[] {
    return this.rawHandle.isBusy ? [workOn(this.rawHandle)] : NO_FENCES;
  }

  /** The `VASurfaceID`: a frame is one surface. For backends. */
  override get wholeObject(): bigint {
    return BigInt(this.rawHandle.id);
  }

  /** For routes. */
  protected override describe(): Described {
    const { layout, grant: { allocation, start }, rawHandle: surface } = this;
    const plane: SurfacePlane = { layout, allocation, start, surface, fd: surface.fd };
    return new Described(this.target, this.access, [plane]);
  }
}

interface SurfacePlane extends DescribedPlane {
  readonly surface: VaapiSurface;
}

export function pictureOf({ planes, info }: Described): ImageInfo | undefined {
  if (info !== undefined) return info.type === "image" ? info : undefined;
  return surfaceIn(planes)?.info ?? imageOf(planes[0].layout);
}

export function surfaceIn([plane]: readonly DescribedPlane[]): VaapiSurface | undefined {
  return (plane as Partial<SurfacePlane>).surface;
}

/** Why a tensor or frame cannot be mapped; undefined if it is a whole surface, or does not exist yet. */
export function refusePart({ planes }: Described): Reason | undefined {
  const surface = surfaceIn(planes);
  const layouts = surface && planeLayouts(surface.info);
  const isWhole = layouts === undefined || planes.length === layouts.length &&
      planes.every((plane, i) => isSame(plane as SurfacePlane, surface, layouts[i]));
  return isWhole
    ? undefined
    : { reason: "a surface is mapped as a whole.", remedy: "Map its frame, and use the planes." };
}

function isSame(plane: SurfacePlane, surface: VaapiSurface | undefined, { byteOffset, byteLength }: Layout): boolean {
  const { layout } = plane;
  return plane.surface === surface && layout.byteOffset === byteOffset && layout.byteLength === byteLength;
}
