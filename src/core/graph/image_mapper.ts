import type { ImageBlock, ImagePlane, ImagePort, Images, ImportedImage } from "../device/image_port.ts";
import { type MemoryTarget, portsOf } from "../device/memory.ts";
import type { Fence } from "../device/fence.ts";
import { LayoutError, type Refusal } from "../errors.ts";
import { planeLayouts } from "../layout/frame_info.ts";
import { type Layout, layout } from "../layout/layout.ts";
import { type GiveBack, Resource } from "../life/resource.ts";
import type { Undo } from "../life/undo.ts";
import { type Access, reads, writes } from "../memory/access.ts";
import { Allocation } from "../memory/allocation.ts";
import type { Grant } from "../memory/grant.ts";
import { findPlace, join, leave, tellPlace } from "../memory/peers.ts";
import { Described } from "../tensors/described.ts";
import { Frame, planesOf } from "../tensors/frame.ts";
import type { Mapped } from "../tensors/mapped.ts";
import type { TensorInit } from "../tensors/tensor.ts";
import { closeBeside, cross, type Side, wayBack } from "./crossing.ts";
import type { Target } from "./context.ts";
import type { MapJob, Mapper, Plan } from "./mapper.ts";
import {
  type Ends,
  findsOut,
  openWay,
  prepareWays,
  refuseEnds,
  refuseNoWay,
  stepBy,
  unordered,
  type Way,
  waysBetween,
} from "./ways.ts";

/** A plan, and the way that it goes. */
interface ImagePlan extends Plan {
  readonly way: Way<Described>;
}

/**
 * The edge from one kind of memory to another that imports the images that the first exports: a frame with all its planes,
 * or a tensor of pixels. It is to images what {@link portMapper} is to bytes.
 *
 * It calls the source's `ports.images.export` and the target's `ports.images.import`, and submits their commands on their
 * own lines. For those who write backends.
 */
export function imageMapper(from: string, to: string): Mapper {
  return { from, to, takesParts: true, prepare, probe, map };
}

/** What two kinds of memory offer for their images. For those who write backends. */
export function imageEnds(from: Target, to: Target): Ends<Described> {
  return { from, to, exports: imagesOf(from)?.exports ?? [], imports: imagesOf(to)?.imports ?? [] };
}

function prepare(source: Described, target: Target): void {
  const ends = imageEnds(source.target, target);
  const ways = waysBetween(ends);
  // What either side refuses as a whole, its ports are not asked about: an image's may ask for what a tensor has not.
  if (!ways.some(findsOut) || refuse(source, source.access, ends, ways) !== undefined) return;
  prepareWays(imageMapper, ends, ways, source);
}

function probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ImagePlan | Refusal {
  const edge = edgeBetween(source, target);
  const ends = imageEnds(source.target, target);
  const ways = waysBetween(ends);
  const way = refuse(source, access, ends, ways) ?? openWay(ways, source);
  if ("reason" in way) return { edge, ...way };
  const stepped = stepBy(imageMapper, ends, way, source, waits);
  if ("reason" in stepped) return { edge, ...stepped };
  const { moves, ...step } = stepped;
  const bytes = source.planes.reduce((sum, { layout: { byteLength } }) => sum + byteLength, 0);
  return {
    edge,
    ...step,
    bytesMoved: moves * bytes * (Number(reads(access)) + Number(writes(access))),
    result: resultOf(source, target, access),
    way,
  };
}

function map(source: Mapped, target: Target, job: MapJob<ImagePlan>): Mapped {
  const { described } = source;
  const [{ access }] = job.grants;
  const { out: { kind }, into: { blocks, orders } } = job.plan.way;
  const exported = imagesOf(source.target)!.export!(source, kind, access);
  const out = { crossing: exported, line: portsOf(source.target)!.line, kind: `${source.target.kind} export` };
  const { sent, imported } = passed(exported.port, out, imagesOf(target)!, job, access, described);
  const shown = imported.blocks?.map((block) => blockIn(block, target.kind, job.undo));
  const into: Side = { crossing: imported, line: portsOf(target)!.line, kind: `${target.kind} import`, blocks };
  const { fences: waits, last } = cross(into, job.undo, reads(access), unordered(sent.fences, orders, out.line));
  if (into.line === undefined) { for (const fence of waits) fence.waitSync(); }
  const back = wayBack(into, last, writes(access), wayBack(out, sent.last, writes(access)));
  const { planes, grants } = shown === undefined
    ? asObjects(imported, source, job.grants)
    : inBlocks(imported, shown, exported.port, source, job.grants[0]);
  const resource = resourceOf(job, [...grants, ...job.grants], [source, out.line, into.line], back);
  resource.inherit(waits);
  return over(target, source, planes, resource, exported.port.modifier);
}

/** The same memory, whose fds allow what they do. Rows and planes lie where the drivers put them. */
function resultOf(source: Described, target: Target, access: Access): Described {
  const planes = source.planes.map(({ layout, allocation, start, fdAccess }) => (
    { layout, allocation, start, ...(fdAccess === undefined ? {} : { fdAccess }) }
  ));
  return new Described(target, access, planes, source.info);
}

/** Where a plane of the result lies. */
interface PlacedPlane {
  /** What its tensor is made with. */
  readonly handle: unknown;
  readonly layout: Layout;
  /** The grant that its bytes are a part of. */
  readonly grant: Grant;
  readonly start: number;
  readonly end: number;
}

interface Placed {
  readonly planes: readonly PlacedPlane[];
  /** The grants of blocks that show the image to the importer. */
  readonly grants: readonly Grant[];
}

/** The result is an object of its driver's, which alone knows where pixels lie: its bytes are the source's. */
function asObjects({ handles }: ImportedImage, source: Mapped, lent: readonly Grant[]): Placed {
  const tensors = planesOf(source);
  const layouts = source instanceof Frame ? planeLayouts(source.info) : tensors.map(({ layout }) => dense(layout));
  const planes = tensors.map(({ grant: { allocation, start, end } }, i) => {
    const grant = lent.find((one) => one.allocation === allocation && one.start <= start && end <= one.end)!;
    return { handle: handles[i], layout: layouts[i], grant, start, end };
  });
  return { planes, grants: [] };
}

/** The result lies in blocks, which others may know too. Rows and planes are where the port says. */
function inBlocks(
  { handles }: ImportedImage,
  blocks: readonly BlockPlace[],
  port: ImagePort,
  source: Mapped,
  lent: Grant,
): Placed {
  const tensors = planesOf(source);
  assertPlanes(port, tensors.length, blocks.length);
  const layouts = tensors.map(({ layout }, i) => rowsAt(layout, port.planes[i]));
  if (port.modifier === 0n) assertWithin(layouts, blocks, port.planes);
  const shown = blocks.map(({ allocation, start }, object) => {
    const there = layouts.filter((_, i) => port.planes[i].object === object);
    const first = Math.min(...there.map(({ byteOffset }) => byteOffset));
    const end = Math.max(...there.map(({ byteOffset, byteLength }) => byteOffset + byteLength));
    return there.length === 0 ? undefined : lent.elsewhere(allocation, start + first, start + end);
  });
  const planes = layouts.map((layout, i) => {
    const { object } = port.planes[i];
    const start = blocks[object].start + layout.byteOffset;
    return { handle: handles[i], layout, grant: shown[object]!, start, end: start + layout.byteLength };
  });
  return { planes, grants: shown.filter((grant) => grant !== undefined) };
}

/** @throws {LayoutError} where a driver tells of fewer planes than the image has, or of objects that it has not given. */
function assertPlanes({ planes }: ImagePort, count: number, objects: number): void {
  const wrong = planes.findIndex(({ object }) => !(object < objects));
  if (planes.length >= count && wrong < 0) return;
  const what = wrong < 0
    ? `planes: its driver tells of ${planes.length}, and the image has ${count}.`
    : `planes[${wrong}]: its driver says that it lies in object ${planes[wrong].object} of ${objects}.`;
  throw new LayoutError(what, { api: "core", argument: wrong < 0 ? "planes" : `planes[${wrong}]` });
}

/** @throws {LayoutError} where a driver says of a plane what its memory cannot hold. */
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

/** An importer's block: its allocation, and where in that it begins. */
interface BlockPlace {
  readonly allocation: Allocation;
  readonly start: number;
}

/** The allocation is one that was known, or a new one. */
function blockIn({ object: { kind, handle, byteLength }, release }: ImageBlock, of: string, undo: Undo): BlockPlace {
  const known = findPlace(kind, handle);
  if (known !== undefined) {
    const { allocation, start } = known;
    join(allocation);
    undo.push(
      () => leave(allocation),
      () => void (allocation.escaped || allocation.unseen || release()),
      tellPlace(kind, handle, allocation, start), // whoever told of it may end before
    );
    return known;
  }
  const allocation = new Allocation({
    kind: `${of}.${kind}`,
    byteLength,
    free: (fate) => void (fate !== "unused" || release()), // a view that was moved away may still look at it
  });
  allocation.joinUntil(undo);
  undo.push(tellPlace(kind, handle, allocation, 0));
  return { allocation, start: 0 };
}

/** The tensor, or the frame whose planes are parts of what its resource holds. */
function over(
  target: Target,
  source: Mapped,
  placed: readonly PlacedPlane[],
  resource: Resource,
  modifier: bigint | undefined,
): Mapped {
  const tensorOf = (init: Omit<TensorInit<unknown>, "target">) =>
    portsOf(target)!.tensor!({ target: target as MemoryTarget, ...init });
  if (!(source instanceof Frame)) {
    const [{ handle, layout }] = placed;
    return tensorOf({ handle, layout, resource, parent: source });
  }
  const planes = (frame: Frame) =>
    placed.map(({ handle, layout, grant, start, end }, i) => {
      const name = `plane ${i} of ${resource.name}`;
      const part = new Resource({ name, grants: [grant.facet(start, end, name)], owners: [resource] });
      return tensorOf({ handle, layout, resource: part, parent: frame });
    });
  const { modifier: known } = source.info as { readonly modifier?: bigint };
  const info = modifier === undefined || modifier === known ? source.info : { ...source.info, modifier };
  return new Frame({ target, resource, info, planes, metadata: source.metadata, parent: source });
}

/** Why the edge is closed, whichever way. */
function refuse(
  source: Described,
  access: Access,
  ends: Ends<Described>,
  ways: readonly Way<Described>[],
): Omit<Refusal, "edge"> | undefined {
  const { from, to } = ends;
  return refuseNoWay(ends, ways) ?? refuseEnds(ends, lackingOf) ?? refuseFrame(source, imagesOf(to)!) ??
    imagesOf(from)!.refuse?.(source, access) ??
    imagesOf(to)!.refuse?.(source, access, imagesOf(from)!.formatOf?.(source));
}

function refuseFrame({ info, planes }: Described, { onePlane }: Images): Omit<Refusal, "edge"> | undefined {
  if (info?.type === "audio") return { reason: "only images go this way, and the frame is sound." };
  if (!onePlane || (info === undefined && planes.length === 1)) return undefined;
  return {
    reason: "it is a frame, and an image has one plane.",
    remedy: "Map its planes, each to images of its own format: frame.planes[0].",
  };
}

/** The function that the edge would call and its backend has left out. */
function lackingOf(at: Target, isTarget: boolean): string | undefined {
  const { images, tensor } = portsOf(at)!;
  if (!isTarget) return images!.export === undefined ? "images.export" : undefined;
  if (images!.import === undefined) return "images.import";
  return tensor === undefined ? "tensor" : undefined;
}

/** One side lets the image out, the other takes it in; what the import has not taken is closed. No closure: {@link cross}. */
function passed(
  from: ImagePort,
  out: Side,
  to: Images,
  { undo, waits }: MapJob,
  access: Access,
  source: Described,
) {
  using port = from;
  const sent = cross(out, undo, reads(access), waits);
  const imported = to.import!(port, access, source);
  closeBeside(port, imported, imported.blocks);
  return { sent, imported };
}

/** Apart from `map`, so that nothing that the resource keeps reaches the source. */
function resourceOf(
  { name, undo }: MapJob,
  grants: readonly Grant[],
  owners: readonly ({ readonly resource: Resource | undefined } | undefined)[],
  giveBack: GiveBack | undefined,
): Resource {
  return new Resource({ name, undo, grants, owners: owners.map((owner) => owner?.resource), giveBack });
}

function imagesOf(target: Target): Images | undefined {
  return portsOf(target)?.images;
}

/** The same elements, without gaps. */
function dense({ shape, dtype }: Layout): Layout {
  return layout({ shape, dtype });
}

/** The same elements, in rows that lie where a port says. */
function rowsAt(at: Layout, { offset, stride }: ImagePlane): Layout {
  if (at.byteOffset === offset && at.strides[0] === stride) return at;
  const { shape, dtype, strides: [, ...inner] } = at;
  return layout({ shape, dtype, strides: [stride, ...inner], byteOffset: offset });
}

function edgeBetween(source: Described, target: Target): string {
  return `${source.target.kind}→${target.kind}`;
}
