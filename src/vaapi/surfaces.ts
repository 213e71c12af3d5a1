import { O_RDWR } from "../../ffi/va/constants.ts";
import { F_GETFL, O_ACCMODE } from "../../ffi/libc/constants.ts";
import { ArgumentError } from "../core/errors.ts";
import { type ImageInfo, planeLayouts } from "../core/layout/frame_info.ts";
import type { Resource } from "../core/life/resource.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import { adoptHandle, own } from "../core/memory/own.ts";
import { closeFd } from "../core/native/fd.ts";
import { libc } from "../core/native/libc.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { Metadata } from "../core/tensors/metadata.ts";
import { tensorOver } from "../core/tensors/over.ts";
import type { VaapiBase } from "./base.ts";
import { exportSurface, type PrimeSurface } from "./prime.ts";
import { createSurface, type SurfaceInit, UNKNOWN_MODIFIER, VaapiSurface } from "./surface.ts";
import type { VaapiTensor } from "./tensor.ts";

/** What is made of a surface. */
type Made = Frame<VaapiTensor> | VaapiTensor;

/** What is said of it besides. */
interface About {
  /** True for a tensor, of a picture of one plane. */
  readonly asTensor?: boolean;
  readonly metadata?: Metadata | undefined;
  readonly parent?: Mapped;
  /** Whose end ends it; the context's by default. */
  readonly owner?: Resource;
}

/** A new surface of the driver's own; its end goes on the undo list. */
export function newSurface(base: VaapiBase, info: ImageInfo, modifiers: SurfaceInit["modifiers"], undo: Undo) {
  const id = createSurface(base.display, info, { modifiers, prime2: base.hasPrime2 }, undo);
  const surface = told(new VaapiSurface(base.display, id, info));
  undo.push(() => void (surface.isLive = false));
  return surface;
}

/** The same surface, with what its driver tells by exporting it: its modifier, and what its fds allow. */
function told({ display, id, info }: VaapiSurface): VaapiSurface {
  let exported: PrimeSurface;
  try {
    exported = exportSurface(new VaapiSurface(display, id, info), "read-write");
  } catch (error) {
    if (error instanceof ArgumentError) throw error;
    return new VaapiSurface(display, id, { ...info, modifier: UNKNOWN_MODIFIER }); // it is not exported
  }
  const { modifier = UNKNOWN_MODIFIER, objects } = exported;
  const isWritable = objects.every(({ fd }) => (libc().fcntl(fd, F_GETFL, 0) & O_ACCMODE) === O_RDWR);
  undoAll(objects.map(({ fd }) => () => closeFd(fd)), "closing what a surface was exported as");
  return new VaapiSurface(display, id, { ...info, modifier }, { fdAccess: isWritable ? "read-write" : "read" });
}

/** A frame that owns a surface, or the tensor of its only plane; `free` gives that back. */
export function over(base: VaapiBase, surface: VaapiSurface, free: () => void, about: About = {}): Made {
  const { owner = base.resource, asTensor = false } = about;
  const allocation = allocationOf(surface, free);
  const name = `vaapi ${asTensor ? "tensor" : "frame"} ${surface.info.format}`;
  return placed(base, surface, own({ name, allocation, owners: [owner] }), about);
}

/** The block that a surface is, as far as anybody but the driver has to know. */
export function allocationOf({ info, display, id }: VaapiSurface, free: () => void): Allocation {
  const layouts = planeLayouts(info);
  const { byteOffset, byteLength } = layouts[layouts.length - 1];
  const { allocation } = adoptHandle(`VASurfaceID of ${display.handle}`, BigInt(id), () => {
    return { kind: "vaapi.surface", byteLength: byteOffset + byteLength, free: () => {} };
  });
  allocation.beforeFree(free); // also where somebody has attached it before: it is given back when all are through
  return allocation;
}

/** The frame, or the tensor, of a surface that a resource holds. */
export function placed(base: VaapiBase, handle: VaapiSurface, resource: Resource, about: About): Made {
  const { asTensor, metadata, parent } = about;
  const info = asTensor ? undefined : handle.info;
  return tensorOver(base, { handle, layouts: planeLayouts(handle.info), resource, info, metadata, parent });
}

/** A new surface. */
export function allocated(base: VaapiBase, info: ImageInfo, modifiers: SurfaceInit["modifiers"], about: About): Made {
  base.resource.assertLive();
  return allOrNothing("allocating a surface", (undo) => {
    const surface = newSurface(base, info, modifiers, undo);
    return over(base, surface, () => undoAll(undo, "destroying a surface"), about);
  });
}

/** A surface of somebody else's, which lives longer. */
export function attached(base: VaapiBase, id: number, info: ImageInfo): Made {
  base.resource.assertLive();
  const surface = told(new VaapiSurface(base.display, id, info));
  void surface.isBusy; // refuses what is no surface
  return over(base, surface, () => {});
}
