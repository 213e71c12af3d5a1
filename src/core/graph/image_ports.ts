import { type ImageBlock, type ImagePlane, ImagePort, Port } from "../device/port.ts";
import type { Images, ImportedImage } from "../contract.ts";
import { portsOf, type Target } from "./context.ts";
import { LayoutError } from "../errors.ts";
import { type ImageInfo, planeLayouts } from "../layout/frame_info.ts";
import { type Layout, layout } from "../layout/layout.ts";
import type { Undo } from "../life/undo.ts";
import { reads } from "../memory/access.ts";
import { Allocation } from "../memory/allocation.ts";
import type { Grant } from "../memory/grant.ts";
import { findPlace, join, leave, registerPlace } from "../memory/peers.ts";
import { type Described, PlacedPlane, planeAt } from "../tensors/described.ts";
import { Frame, planesOf } from "../tensors/frame.ts";
import type { Mapped } from "../tensors/mapped.ts";
import type { BlockPlace, Leaving, Manner, Placed } from "./port_mapper.ts";

export const IMAGES: Manner<Described> = {
  takesParts: true,
  at: "images.",
  portsAt: imagesOf,
  subjectOf: (source) => source,
  refuse({ info, planes }, target) {
    if (info?.type === "audio") return { reason: "this edge takes images, and the frame is sound." };
    if (info?.type === "table") return { reason: "this edge takes images, and the frame is a table." };
    if (info?.type === "picture") {
      return {
        reason: `this edge takes images of samepage's formats, and ${info.format} is not one of them.`,
        remedy: "Map its planes: frame.planes[0].",
      };
    }
    if (!imagesOf(target)!.onePlane || (info === undefined && planes.length === 1)) return undefined;
    return {
      reason: "it is a frame, and an image has one plane.",
      remedy: "Map its planes, each to images of its own format: frame.planes[0].",
    };
  },
  lengthOf: ({ planes }) => planes.reduce((sum, { layout: { byteLength } }) => sum + byteLength, 0),
  /** No addresses: rows and planes lie where the drivers put them. */
  planesIn: ({ planes }) =>
    planes.map(({ layout, allocation, start, fd }) => (
      { layout, allocation, start, ...(fd === undefined ? {} : { fd }) }
    )),
  fetches: (_source, access) => reads(access),
  export: (source, kind, access) => imagesOf(source.target)!.export!(source, kind, access),
  /** The copy holds the planes one after the other. */
  stage(source, stage, kind) {
    const { described, described: { info } } = source;
    const byteLength = IMAGES.lengthOf(described);
    const copy = stage(planesOf(source)[0], byteLength);
    const objects = [new Port(kind, { value: copy.block.address, byteLength })];
    let offset = 0;
    const planes = described.planes.map(({ layout: { strides, byteLength } }) => {
      const plane = { object: 0, offset, stride: strides[0] };
      offset += byteLength;
      return plane;
    });
    const [height, width] = described.planes[0].layout.shape;
    const size = info === undefined ? { width, height } : info as ImageInfo;
    return {
      copy,
      port: new ImagePort(kind, { objects, planes, width: size.width, height: size.height, modifier: 0n }),
    };
  },
  blockOf: () => undefined,
  import: (port: ImagePort, target, access, source) => imagesOf(target)!.import!(port, access, source),
  blocksOf: ({ blocks }: ImportedImage, { kind }, undo) => blocks?.map((block) => blockIn(block, kind, undo)),
  place(imported: ImportedImage, blocks, leaving, source) {
    const { modifier } = leaving.exported.port as ImagePort;
    const placed = blocks === undefined
      ? asObjects(imported, leaving, source)
      : inBlocks(imported, blocks, leaving, source);
    if (!(source instanceof Frame) || modifier === undefined) return placed;
    const info = source.info as ImageInfo;
    return modifier === info.modifier ? placed : { ...placed, info: { ...info, modifier } };
  },
};

/** The result is one object, and only its driver knows where pixels lie: the planes keep the source's places. */
function asObjects({ handles }: ImportedImage, { grants }: Leaving, source: Mapped): Omit<Placed, "info"> {
  const tensors = planesOf(source);
  const layouts = source instanceof Frame ? planeLayouts(source.info) : tensors.map(({ layout }) => dense(layout));
  const planes = tensors.map(({ grant: { allocation, start, end } }, i) => {
    const grant = grants.find((one) => one.allocation === allocation && one.start <= start && end <= one.end)!;
    return new PlacedPlane(handles[i], layouts[i], grant, start, end, i);
  });
  return { planes, grants };
}

/** The result lies in blocks, which other maps may share. The port says where rows and planes lie. */
function inBlocks(
  { handles }: ImportedImage,
  blocks: readonly BlockPlace[],
  { exported, grants }: Leaving,
  source: Mapped,
): Omit<Placed, "info"> {
  const port = exported.port as ImagePort;
  const tensors = planesOf(source);
  assertPlanes(port, tensors.length, blocks.length);
  const layouts = tensors.map(({ layout }, i) => rowsAt(layout, port.planes[i]));
  if (port.modifier === 0n) assertWithin(layouts, blocks, port.planes);
  const shown = blocks.map(({ allocation, start }, object): Grant | undefined => {
    const there = layouts.filter((_, i) => port.planes[i].object === object);
    const first = Math.min(...there.map(({ byteOffset }) => byteOffset));
    const end = Math.max(...there.map(({ byteOffset, byteLength }) => byteOffset + byteLength));
    return there.length === 0 ? undefined : grants[0].elsewhere(allocation, start + first, start + end);
  });
  const planes = layouts.map((layout, i) => {
    const { object } = port.planes[i];
    return planeAt(handles[i], layout, shown[object]!, blocks[object].start + layout.byteOffset, i);
  });
  return { planes, grants: [...shown.filter((grant) => grant !== undefined), ...grants] };
}

/** @throws {LayoutError} if a driver reports fewer planes than the image has, or an object that it did not export. */
function assertPlanes({ planes }: ImagePort, count: number, objects: number): void {
  const wrong = planes.findIndex(({ object }) => !(object < objects));
  if (planes.length >= count && wrong < 0) return;
  const what = wrong < 0
    ? `planes: its driver reports ${planes.length}, and the image has ${count}.`
    : `planes[${wrong}]: its driver says that it lies in object ${planes[wrong].object} of ${objects}.`;
  throw new LayoutError(what, { api: "core", argument: wrong < 0 ? "planes" : `planes[${wrong}]` });
}

/** @throws {LayoutError} if a driver reports a plane that ends beyond its memory. */
function assertWithin(layouts: readonly Layout[], blocks: readonly BlockPlace[], planes: readonly ImagePlane[]): void {
  for (const [i, { byteOffset, byteLength }] of layouts.entries()) {
    const { allocation: { block }, start } = blocks[planes[i].object];
    const [end, length] = [byteOffset + byteLength, block.byteLength - start];
    if (end <= length) continue;
    throw new LayoutError(`planes[${i}]: its driver says that it ends at byte ${end}, and its memory has ${length}.`, {
      api: "core",
      argument: `planes[${i}]`,
    });
  }
}

/** A known allocation, or a new one. */
function blockIn({ object: { kind, handle, byteLength }, release }: ImageBlock, of: string, undo: Undo): BlockPlace {
  const known = findPlace(kind, handle);
  if (known !== undefined) {
    const { allocation, start } = known;
    join(allocation);
    undo.push(
      () => leave(allocation),
      () => void (allocation.escaped || allocation.unseen || release()),
      registerPlace(kind, handle, allocation, start), // the block's first map may end before this one
    );
    return known;
  }
  const allocation = new Allocation({
    kind: `${of}.${kind}`,
    byteLength,
    free: (fate) => void (fate !== "unused" || release()), // a view that was moved away may still look at it
  });
  allocation.joinUntil(undo);
  undo.push(registerPlace(kind, handle, allocation, 0));
  return { allocation, start: 0 };
}

function imagesOf(target: Target): Images | undefined {
  return portsOf(target)?.images;
}

function dense({ shape, dtype }: Layout): Layout {
  return layout({ shape, dtype });
}

/** The same elements, with a port's offset and stride. */
function rowsAt(at: Layout, { offset, stride }: ImagePlane): Layout {
  if (at.byteOffset === offset && at.strides[0] === stride) return at;
  const { shape, dtype, strides: [, ...inner] } = at;
  return layout({ shape, dtype, strides: [stride, ...inner], byteOffset: offset });
}
