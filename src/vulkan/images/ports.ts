import { ImagePort, Port } from "../../core/device/port.ts";
import type { Exported, Images, ImportedImage, Memory, Offer } from "../../core/contract.ts";
import type { Reason } from "../../core/errors.ts";
import { type Undo, undone } from "../../core/life/undo.ts";
import { pictureIn } from "../../core/layout/pictures.ts";
import type { Described } from "../../core/tensors/described.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";
import { checks } from "../library.ts";
import { givenAway } from "../fds.ts";
import { type ExportKind, fdAccessOf, HANDLES } from "../handle_kinds.ts";
import type { VulkanImageInit, VulkanImageTarget } from "../image.ts";
import type { Order } from "./abilities.ts";
import { closedFor, ONE_PICTURE, ONLY_THE_DEVICE } from "./choice.ts";
import { ImageObject, objectOf, type Rows, type Tiling } from "./image_object.ts";
import { assertSize, described, pixelsIn } from "./shape.ts";
import { VulkanImage } from "./tensor.ts";

type Closed = Reason | undefined;

/**
 * Rows of pixels by an opaque fd, which only Vulkan imports. OpenCL and CUDA show wrong pixels of such images and report no
 * error, so `"opaque-fd"` itself is for images in the driver's own order.
 */
const FD_OF_ROWS = "opaque-fd of rows";

type ImageKind = ExportKind | typeof FD_OF_ROWS;

function fdOf(kind: string): ExportKind {
  return kind === "dma-buf" ? kind : "opaque-fd";
}

const SAMPLE_ROWS = 16;
const SAMPLE_LAYERS = 4;

/** The ports of images of one format. */
export function portsOf(target: VulkanImageTarget): Memory<VulkanImage, ImageObject> {
  const { line, staging } = target.base;
  const sample = (made: Omit<VulkanImageInit, "shape">, layers: number[], length: number, undo: Undo) => {
    const { elements, bytesPerPixel } = target.format;
    const rows = layers.reduce((all, count) => all * count, SAMPLE_ROWS);
    const shape = [...layers, SAMPLE_ROWS, length / rows / bytesPerPixel, elements];
    const tensor = target.allocate({ shape, ...made });
    undo.push(() => tensor[Symbol.dispose]());
    return tensor;
  };
  const device = { uuid: target.context.id.uuid! };
  const offer = (kind: ImageKind): Offer<Described> => ({
    kind,
    closed: () => target.base.openDevice.lacks(HANDLES[fdOf(kind)].extension),
  });
  const exports = (kind: ImageKind): Offer<Described> => ({
    ...offer(kind),
    refuse: (source) => refuseExport(target, source, kind),
    sample({ range }) {
      const made = { tiling: kind === "opaque-fd" ? "optimal" : "linear", exportAs: fdOf(kind) } as const;
      const layers = objectOf(range.allocation)?.spec.layers === undefined ? [] : [SAMPLE_LAYERS];
      const images = `${made.tiling} images${layers.length === 0 ? "" : " with layers"}`;
      const name = `${images} of ${target.format.vulkan} by their ${made.exportAs}`;
      return { name, make: (length, undo) => sample(made, layers, length, undo) };
    },
  });
  const { dtype, vulkan: of } = target.format;
  const takes = { dtypes: [dtype], of };
  const fdAccess = fdAccessOf(target.base.openDevice.facts);
  const images: Images<ImageObject> = {
    exports: [{ ...exports("opaque-fd"), device }, exports("dma-buf"), { ...exports(FD_OF_ROWS), device }],
    imports: [
      { ...offer("opaque-fd"), device, takes, refuse: () => closedFor(target, "opaque-fd", "imports", "optimal") },
      { ...offer("dma-buf"), takes, fdAccess, refuse: (source) => refuseLayers(target, source) },
      { ...offer(FD_OF_ROWS), device, takes, refuse: () => closedFor(target, "opaque-fd", "imports", "linear") },
    ],
    onePlane: true,
    formatOf: () => target.format,
    refuse: (source) => refuseSource(target, source),
    export: exported,
    import: (port) => imported(target, port),
  };
  return {
    line,
    exports: [],
    imports: [],
    images,
    copies: staging.copiesOn(line, ({ rawHandle }) => rawHandle),
    tensor: (init) => new VulkanImage({ ...init, target }),
  };
}

function refuseExport({ base }: VulkanImageTarget, source: Described, kind: ImageKind): Closed {
  const object = objectOf(source.range.allocation);
  if (object === undefined || !object.isOf(base.openDevice)) {
    return {
      reason: `the image came from another API, and Vulkan makes no ${kind} of it.`,
      remedy: "Map the image that it came from.",
    };
  }
  if (kind === "opaque-fd" && object.order === "linear") return ONLY_VULKAN;
  if (kind !== "opaque-fd" && object.spec.layers !== undefined) return ONE_PICTURE;
  const crosses = kind !== FD_OF_ROWS || object.order === "linear";
  if (crosses && object.exportsAs(fdOf(kind))) return undefined;
  if (object.memory === undefined) {
    return {
      reason: "the image is another library's, and only that one can export its memory.",
      remedy: "Have that library export it, or allocate it here.",
    };
  }
  if (kind === "dma-buf" && object.order === "optimal") return ONLY_THE_DEVICE;
  return {
    reason: `the image was made to go out by another kind of fd, and not as ${kind}.`,
    remedy: `Allocate it with { exportAs: "${fdOf(kind)}" }, and tiling ${
      kind === "opaque-fd" ? '"optimal"' : '"linear"'
    }.`,
  };
}

/** Why rows of pixels are not an OpenCL or CUDA image. */
const ONLY_VULKAN = {
  reason: "its pixels lie row by row: other APIs would show wrong pixels of such an fd, and say nothing.",
  remedy: 'Allocate it with { tiling: "optimal" }.',
} as const;

/** A dma-buf holds one picture. */
function refuseLayers({ format: { name, elements } }: VulkanImageTarget, { planes: [{ layout }] }: Described): Closed {
  if (pictureIn(layout.shape, elements)?.layers === undefined) return undefined;
  const expected = `expected ${described(elements)} for pixels of ${name}`;
  return {
    reason: `${expected} in a dma-buf, got [${layout.shape.join(", ")}].`,
    remedy: "Map each picture by itself.",
  };
}

/** A Vulkan image has exactly one format. */
function refuseSource({ format, base }: VulkanImageTarget, { planes: [{ layout }], target }: Described): Closed {
  const other = (target as Partial<VulkanImageTarget>).kind === "vulkan.image"
    ? (target as VulkanImageTarget).format
    : format;
  if (other !== format) {
    return {
      reason: `its pixels are ${other.vulkan}, and these images have ${format.vulkan}.`,
      remedy: `Map it to vulkan.image("${other.vulkan}").`,
    };
  }
  const { shape } = layout;
  try {
    const { maxImageDimension2D: maxWidth, maxImageArrayLayers: maxLayers } = base.openDevice.facts.limits;
    assertSize(pixelsIn(shape, format), { maxWidth, maxHeight: maxWidth, maxLayers }, base.name);
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

function exported(source: Mapped, kind: string): Exported<ImagePort> {
  const { grant, width, height, layers } = source as VulkanImage;
  const object = objectOf(grant.allocation)!; // the original, even if the source is a re-import of the same memory
  const fd = fdOf(kind);
  const { size: byteLength, dedicated } = object.info!;
  const { offset, stride } = object.rows ?? { offset: 0, stride: 0 };
  const port = new ImagePort(kind, {
    objects: [new Port(kind, { fd: object.exportFd(fd), byteLength, dedicated })],
    planes: [{ object: 0, offset, stride }],
    ...{ width, height, layers, modifier: object.modifier },
  });
  return { port, begin: () => object.handOver(fd) };
}

function imported(target: VulkanImageTarget, port: ImagePort): ImportedImage<ImageObject> {
  const { base: { openDevice: device }, format, abilities } = target;
  const { width, height, layers, objects: [memory], planes: [plane] } = port;
  const kind = fdOf(port.kind);
  const handleType = HANDLES[kind].type;
  const { order, tiling } = orderIn(target, port);
  const closed = closedFor(target, kind, "imports", order);
  if (closed !== undefined) throw checks.unfit("source", closed.reason, closed.remedy, "vkCreateImage");
  if (order === "optimal" && plane.offset !== 0) {
    const what = `it begins at byte ${plane.offset} of its memory, and here images begin with theirs.`;
    throw checks.unfit("source", what, undefined, "vkBindImageMemory");
  }
  const { usage, dedicated } = abilities.of(order, handleType)!;
  const fd = memory.takeFd();
  const object = givenAway(
    fd,
    "importing an image",
    () =>
      new ImageObject(device, { format, width, height, layers, usage }, {
        origin: { from: "fd", fd, handleType, known: memory.whole },
        tiling,
        dedicated: dedicated || memory.dedicated,
        byteLength: memory.byteLength,
      }),
  );
  const undo: Undo = [() => object.free()];
  try {
    if (order === "linear") assertRows(object, plane);
  } catch (error) {
    throw undone(error, undo, "importing an image");
  }
  return { handles: [object], end: () => object.giveBack(), release: () => object.free() };
}

function orderIn(
  { base, format }: VulkanImageTarget,
  port: ImagePort,
): { readonly order: Order; readonly tiling: Tiling } {
  const { modifier, objects, planes: [plane, ...others] } = port;
  if (modifier === undefined) return { order: "optimal", tiling: { order: "optimal" } };
  if (objects.length !== 1 || others.length > 0) {
    const what = `${objects.length} objects and ${others.length + 1} planes of memory`;
    throw checks.unfit(
      "source",
      `it lies in ${what}; images of ${format.vulkan} have one of each here.`,
      undefined,
      "vkCreateImage",
    );
  }
  const isByModifier = port.kind === "dma-buf" && base.openDevice.has("VK_EXT_image_drm_format_modifier");
  if (modifier === 0n && !isByModifier) return { order: "linear", tiling: { order: "linear" } };
  return { order: modifier, tiling: { order: "given", modifier, rows: plane } };
}

/** Without a DRM modifier, the driver lays rows out by itself. */
function assertRows({ rows }: ImageObject, given: Rows): void {
  const { offset, stride } = rows!;
  if (given.offset === offset && given.stride === stride) return;
  const what =
    `its rows lie ${given.stride} bytes apart from byte ${given.offset} on, and Vulkan would have them ${stride} ` +
    `apart from byte ${offset} on`;
  throw checks.unfit(
    "source",
    `${what}: without VK_EXT_image_drm_format_modifier it takes no others.`,
    "Allocate them so.",
    "vkCreateImage",
  );
}
