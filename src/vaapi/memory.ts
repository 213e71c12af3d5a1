import { ImagePort, type MemoryKind, Port } from "../core/device/port.ts";
import type { Exported, Images, ImportedImage, Memory } from "../core/contract.ts";
import type { Reason } from "../core/errors.ts";
import type { ImageInfo } from "../core/layout/frame_info.ts";
import { type Undo, undoAll } from "../core/life/undo.ts";
import type { Access } from "../core/memory/access.ts";
import type { Described } from "../core/tensors/described.ts";
import { planesOf } from "../core/tensors/frame.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { VaapiBase } from "./base.ts";
import { exportSurface, importSurface } from "./prime.ts";
import { UNKNOWN_MODIFIER, VaapiSurface } from "./surface.ts";
import { pictureOf, refusePart, surfaceIn, VaapiTensor } from "./tensor.ts";

/** The ports of a context's surfaces: whole pictures, by dma-bufs. */
export function portsOf(base: VaapiBase): Memory<VaapiTensor, VaapiSurface> {
  return { exports: [], imports: [], images: imagesOf(base), tensor: (init) => new VaapiTensor(init) };
}

function imagesOf(base: VaapiBase): Images<VaapiSurface> {
  const closed = (): Reason | undefined =>
    base.hasPrime2 ? undefined : { reason: `${base.name} has no memory of fds (DRM_PRIME_2).` };
  return {
    exports: [{ kind: "dma-buf", closed, refuse: refuseImported }, { kind: SURFACE }],
    imports: [{ kind: "dma-buf", closed }],
    refuse(source) {
      if (source.target === base) return refusePart(source);
      const info = pictureOf(source);
      const remedy = "Make a frame of it, which has a format: Frame.of([tensor], info).";
      if (info === undefined) return { reason: "a surface is a picture.", remedy };
      const reason = base.refuse(info);
      return reason === undefined ? undefined : { reason, remedy: `It has ${base.formats.join(", ")}.` };
    },
    export: exported,
    import: (port, _access, source) => imported(base, port, pictureOf(source!)!),
  };
}

/** The kind of a surface's `VASurfaceID`, for other libraries on the same display. */
const SURFACE = "va-surface";

/** Refuses imported memory, whose export may be a stub: Mesa's virgl exports 4096 bytes. */
function refuseImported({ planes }: Described): Reason | undefined {
  if (!surfaceIn(planes)?.isImported) return undefined;
  return {
    reason: "the memory came from another API, and VA-API lets out only its own.",
    remedy: "Map the frame that it came from.",
  };
}

function exported(source: Mapped, kind: MemoryKind, access: Access): Exported<ImagePort> {
  const [{ rawHandle: surface }] = planesOf(source) as readonly VaapiTensor[];
  surface.sync();
  if (kind === SURFACE) {
    const { width, height } = surface.info;
    const objects = [new Port(kind, { value: BigInt(surface.id) })];
    return { port: new ImagePort(kind, { objects, planes: [], width, height }) };
  }
  const { objects, modifier = UNKNOWN_MODIFIER, ...about } = exportSurface(surface, access);
  return {
    port: new ImagePort(kind, { ...about, modifier, objects: objects.map((one) => new Port(kind, one)) }),
  };
}

/** The driver keeps duplicates of the fds; the port closes its own. */
function imported(base: VaapiBase, { objects, ...at }: ImagePort, info: ImageInfo): ImportedImage<VaapiSurface> {
  const picture: ImageInfo = { ...info, modifier: at.modifier ?? 0n };
  const undo: Undo = [];
  const id = importSurface(base.display, picture, { ...at, objects }, undo);
  const surface = new VaapiSurface(base.display, id, picture, { isImported: true });
  base.display.imported.add(id);
  undo.push(() => {
    surface.isLive = false;
    base.display.imported.delete(id);
  });
  return { handles: at.planes.map(() => surface), release: () => undoAll(undo, "destroying a surface") };
}
