import { ArgumentError } from "../core/errors.ts";
import { type ImageInfo, planeLayouts } from "../core/layout/frame_info.ts";
import type { Resource } from "../core/life/resource.ts";
import { allOrNothing, thenUndo, type Undo, undoAll } from "../core/life/undo.ts";
import type { Access } from "../core/memory/access.ts";
import type { Allocation, Block } from "../core/memory/allocation.ts";
import { adoptHandle } from "../core/memory/own.ts";
import { accessOfFd, closeFd, exporterOf, type FdFacts, whyHidden } from "../core/native/fd.ts";
import { adoptFrame, adoptTensor } from "../core/tensors/adopt.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Metadata } from "../core/tensors/metadata.ts";
import type { VaapiBase } from "./base.ts";
import type { Display } from "./display.ts";
import { exportSurface, type PrimeObject, type PrimeSurface } from "./prime.ts";
import { createSurface, type SurfaceInit, UNKNOWN_MODIFIER, VaapiSurface } from "./surface.ts";
import type { VaapiTensor } from "./tensor.ts";

type Made = Frame<VaapiTensor> | VaapiTensor;

interface About {
  readonly asTensor?: boolean;
  readonly metadata?: Metadata | undefined;
  /** Its owner; the context by default. */
  readonly owner?: Resource;
  readonly access?: Access | undefined;
}

export function newSurface(base: VaapiBase, info: ImageInfo, modifiers: SurfaceInit["modifiers"], undo: Undo) {
  const id = createSurface(base.display, info, { modifiers, prime2: base.hasPrime2 }, undo);
  const surface = reported(new VaapiSurface(base.display, id, info));
  undo.push(() => void (surface.isLive = false));
  return surface;
}

/**
 * The same surface with the facts that an export reports: its modifier, and those about its fds.
 */
function reported({ display, id, info }: VaapiSurface): VaapiSurface {
  let exported: PrimeSurface;
  try {
    exported = exportSurface(new VaapiSurface(display, id, info), "read-write");
  } catch (error) {
    if (error instanceof ArgumentError) throw error;
    return new VaapiSurface(display, id, { ...info, modifier: UNKNOWN_MODIFIER }); // the driver does not export it
  }
  const { modifier = UNKNOWN_MODIFIER, objects } = exported;
  const close = objects.map(({ fd }) => () => closeFd(fd));
  const ask = () => factsOf(display, objects);
  const fd = thenUndo("asking for what a surface's fds allow", ask, close);
  return new VaapiSurface(display, id, { ...info, modifier }, { fd });
}

function factsOf(display: Display, objects: readonly PrimeObject[]): FdFacts {
  const isWritable = objects.every(({ fd }) => accessOfFd(fd) === "read-write");
  display.exporter ??= exporterOf(objects[0].fd) ?? "unknown";
  return { access: isWritable ? "read-write" : "read", hidden: whyHidden(display.exporter) };
}

/** A frame that owns a surface, or the tensor of its only plane. `release` releases the surface. */
export function over(base: VaapiBase, surface: VaapiSurface, release: () => void, about: About = {}): Made {
  const { owner = base.resource, asTensor = false, metadata, access } = about;
  const { info } = surface;
  const block = blockOf(surface);
  const planes = planeLayouts(info).map((layout) => ({ handle: surface, layout, block }));
  const object = { kind: kindOf(surface), handle: BigInt(surface.id), release };
  if (asTensor) return adoptTensor(base, object, planes[0], { owners: [owner] });
  return adoptFrame(base, object, info, planes, { owners: [owner], metadata, access });
}

/** The allocation of a new surface that stands for host memory. The mapper that makes the surface destroys it. */
export function allocationOf(surface: VaapiSurface): Allocation {
  return adoptHandle(kindOf(surface), BigInt(surface.id), () => ({ ...blockOf(surface), free: () => {} })).allocation;
}

/** The kind of handle: ids of surfaces are unique within a display. */
function kindOf({ display }: VaapiSurface): string {
  return `VASurfaceID of ${display.handle}`;
}

/** The block that stands for a surface: only the driver knows where its bytes lie. */
function blockOf({ info }: VaapiSurface): Omit<Block, "free"> {
  const layouts = planeLayouts(info);
  const { byteOffset, byteLength } = layouts[layouts.length - 1];
  return { kind: "vaapi.surface", byteLength: byteOffset + byteLength };
}

export function allocated(base: VaapiBase, info: ImageInfo, modifiers: SurfaceInit["modifiers"], about: About): Made {
  base.resource.assertLive();
  return allOrNothing("allocating a surface", (undo) => {
    const surface = newSurface(base, info, modifiers, undo);
    return over(base, surface, () => undoAll(undo, "destroying a surface"), about);
  });
}

/** A foreign surface, which outlives the tensor. */
export function attached(base: VaapiBase, id: number, info: ImageInfo, access?: Access): Made {
  base.resource.assertLive();
  const surface = reported(new VaapiSurface(base.display, id, info));
  void surface.isBusy; // throws for anything but a surface
  return over(base, surface, () => {}, { access });
}
