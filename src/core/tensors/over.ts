import type { Imported, MemoryTarget } from "../contract.ts";
import { findPlace, registerByHandle, registerPlace } from "../memory/peers.ts";
import type { Fence } from "../device/fence.ts";
import { type ImagePort, type KnownMemory, type KnownObject, Port } from "../device/port.ts";
import { nameOf, portsOf, type Target } from "../graph/context.ts";
import { begin, type Begun, giveBackOf, type HeldSide, hold } from "../graph/step_side.ts";
import { ArgumentError, throwAll } from "../errors.ts";
import { type FrameInfo, frameInfo, frameInWords, planeLayouts } from "../layout/frame_info.ts";
import { describeLayout, type Layout, layout, type LayoutInit, moved } from "../layout/layout.ts";
import type { Resource } from "../life/resource.ts";
import { allOrNothing, type Undo, undoAll, unwind } from "../life/undo.ts";
import type { Access } from "../memory/access.ts";
import { Allocation, type Block, type Fate } from "../memory/allocation.ts";
import type { Grant } from "../memory/grant.ts";
import { own } from "../memory/own.ts";
import { foreignAddresses } from "../native/foreign_addresses.ts";
import { Frame } from "./frame.ts";
import type { Mapped } from "./mapped.ts";
import type { Metadata } from "./metadata.ts";
import { type PlacedPlane, planeAt } from "./described.ts";
import type { Tensor } from "./tensor.ts";

/** What lies where in native memory, and whose it is. */
export interface PlacedMemory {
  /** What the tensors are made with. */
  readonly handle: unknown;
  /** The layout of each plane, or of the tensor, counted from the handle. */
  readonly layouts: readonly Layout[];
  /** Its one grant begins with the first byte of the first plane. */
  readonly resource: Resource;
  /** What a frame is; left out, what the frame is that it was mapped from. */
  readonly info?: FrameInfo | undefined;
  /** What is known of a frame, or what makes it; left out, the metadata of the frame that it was mapped from. */
  readonly metadata?: Metadata | (() => Metadata) | undefined;
  /** What it was mapped from. */
  readonly parent?: Mapped | undefined;
}

/** Planes of handles and grants of their own. */
interface PlacedPlanes extends Omit<PlacedMemory, "handle" | "layouts"> {
  readonly planes: readonly PlacedPlane[];
}

/** Makes the tensor, or the frame, of memory that one resource holds. */
export function tensorOver<T extends Tensor>(target: MemoryTarget<T>, at: PlacedMemory): T | Frame<T> {
  const { handle, layouts, resource, ...about } = at;
  return planesOver(target, { planes: planesFrom(handle, layouts, resource.grants[0]), resource, ...about });
}

/** Planes with one handle, of which the first begins with the grant. */
export function planesFrom(handle: unknown, layouts: readonly Layout[], grant: Grant): readonly PlacedPlane[] {
  if (layouts.length === 1) return [planeAt(handle, layouts[0], grant, grant.start, 0)]; // most maps: they make no closure
  let first = layouts[0].byteOffset;
  for (let i = 1; i < layouts.length; i++) if (layouts[i].byteOffset < first) first = layouts[i].byteOffset;
  const planes = new Array<PlacedPlane>(layouts.length);
  for (let i = 0; i < layouts.length; i++) {
    planes[i] = planeAt(handle, layouts[i], grant, grant.start + layouts[i].byteOffset - first, i);
  }
  return planes;
}

export function planesOver<T extends Tensor>(target: MemoryTarget<T>, at: PlacedPlanes): T | Frame<T> {
  const { planes, resource, info, metadata, parent } = at;
  if (info !== undefined || parent instanceof Frame) {
    return new Frame<T>({ target, resource, info, planes, parent, metadata });
  }
  const { handle, layout } = planes[0];
  return target.ports.tensor!({ target, handle, layout, resource, parent });
}

/** New memory of a kind, as a tensor. @throws {LayoutError} for an invalid layout. */
export function allocateTensor<T extends Tensor>(target: MemoryTarget<T>, init: LayoutInit): T {
  const at = layout(init);
  return owned(target, `tensor ${describeLayout(at)}`, [at]) as T;
}

/** New memory of a kind, one block for all planes of a frame. */
export function allocateFrame<T extends Tensor>(target: MemoryTarget<T>, given: FrameInfo): Frame<T> {
  const info = frameInfo(given);
  return owned(target, `frame ${frameInWords(info)}`, planeLayouts(info), info) as Frame<T>;
}

/** What allocates frames in memory of a kind; undefined where the kind has none of its own. */
export function frameAllocator(target: Target): ((info: FrameInfo) => Frame) | undefined {
  if (target.allocateFrame !== undefined) return (info) => target.allocateFrame!(info);
  return portsOf(target)?.allocate === undefined ? undefined : (info) => allocateFrame(target as MemoryTarget, info);
}

/** What is known of memory that comes from outside. */
export interface Received {
  /** The layout of each plane, or of the tensor, counted from the port's first byte. They lie within the port. */
  readonly layouts: readonly Layout[];
  /** How it may be used. */
  readonly access: Access;
  /** What a frame is. */
  readonly info?: FrameInfo | undefined;
  /** What is known of a frame. */
  readonly metadata?: Metadata | undefined;
  /** The exporter's work in flight, which the first command of the import waits for. */
  readonly after?: readonly Fence[];
}

/**
 * Memory that a port brings from another process, or from a program's own fd, as a tensor or a frame that owns it. The
 * port is over afterwards, also if that fails.
 */
export function importAs<T extends Tensor>(target: MemoryTarget<T>, port: Port, received: Received): T | Frame<T> {
  const { ports, context } = target;
  const { access, info, metadata, after } = received;
  using from = port;
  context.resource?.assertLive();
  using part = meantOf(from, received.layouts);
  const { kind, offset, memory } = part;
  const layouts = received.layouts.map((one) => moved(one, one.byteOffset - (offset - from.offset)));
  const countOff = countMapped(part);
  const imported = allOrNothing("importing memory", () => ports.import!(part, access), [countOff]);
  const { handle, address, object } = imported;
  const { known, first, byteLength } = placeOf(imported, part, memory);
  const letGo = () => undoAll([countOff, () => imported.release?.()], "releasing an import");
  const isOfBlock = known === undefined && context.resource === undefined; // else it ends before its context does
  const block: Block = {
    kind: `${target.kind}.${kind}`,
    byteLength,
    free: (fate) => {
      if (isOfBlock && fate === "unused") letGo(); // else a view that was moved away may still look at it
    },
    ...(address === undefined ? {} : { address }),
  };
  const start = first + Math.min(...layouts.map(({ byteOffset }) => byteOffset));
  const end = first + Math.max(...layouts.map(({ byteOffset, byteLength }) => byteOffset + byteLength));
  if (known !== undefined && end > known.block.byteLength) {
    letGo();
    const what = `it ends at byte ${end} of memory that is known with ${known.block.byteLength}.`;
    throw new ArgumentError(`description: ${what}`, { api: context.api, argument: "description" });
  }
  const undo: Undo = [];
  const side = sideOf(target, kind, imported);
  const { fences, last } = begun(side, undo, letGo, after);
  const allocation = known ?? new Allocation(block);
  if (imported.allocation !== undefined) undo.unshift(letGo); // its block knows whether it may be freed
  else if (!isOfBlock) undo.unshift(() => void (allocation.escaped || allocation.unseen || letGo()));
  const register = (kind: string, handle: bigint, start: number, lasts: boolean) => {
    if (lasts) registerByHandle(kind, handle, allocation, start);
    else undo.push(registerPlace(kind, handle, allocation, start)); // the object that made it known may end before
  };
  if (object !== undefined) register(object.kind, object.handle, first - object.start, isOfBlock);
  if (memory !== undefined) register(kind, memory.identity, first - offset, known === undefined);
  const ended = () =>
    own({
      name: `${target.kind} ${
        info === undefined ? `tensor ${describeLayout(layouts[0])}` : `frame ${frameInWords(info)}`
      }`,
      ...{ allocation, start, end, access },
      owners: [context.resource],
      undo,
      giveBack: () => giveBackOf(side, last, false),
    });
  const resource = allOrNothing("importing memory", ended, undo);
  resource.inherit(fences);
  const planes = within(object, layouts);
  const make = () => tensorOver(target, { handle, layouts: planes, resource, info, metadata });
  return allOrNothing("importing memory", make, [() => resource.dispose()]);
}

/** The same for an image of one plane, which lies in a block of its own. */
export function importImageAs<T extends Tensor>(
  target: MemoryTarget<T>,
  port: ImagePort,
  at: Layout,
  { access, after }: Pick<Received, "access" | "after">,
): T {
  const { ports, context } = target;
  using from = port;
  context.resource?.assertLive();
  const imported = ports.images!.import!(from, access);
  const { blocks } = ports.images!.imports.find(({ kind }) => kind === port.kind) ?? {};
  const side: HeldSide = { side: imported, line: ports.line, kind: `${target.kind} import`, blocks };
  const undo: Undo = [];
  const { fences, last } = begun(side, undo, () => {}, after);
  const allocation = new Allocation({ kind: `${target.kind}.${port.kind}`, byteLength: at.byteLength, free: () => {} });
  const name = `${target.kind} image ${describeLayout(at)}`;
  const giveBack = () => giveBackOf(side, last, false);
  const resource = own({ name, allocation, access, owners: [context.resource], undo, giveBack });
  resource.inherit(fences);
  const make = () => ports.tensor!({ target, handle: imported.handles[0], layout: at, resource });
  return allOrNothing("importing an image", make, [() => resource.dispose()]);
}

/** The part of a memfd that is meant: the file may be much longer, and only that part is mapped. Takes the fd over. */
function meantOf(port: Port, layouts: readonly Layout[]): Port {
  if (port.kind !== "memfd") return port;
  const start = Math.min(...layouts.map(({ byteOffset }) => byteOffset));
  const end = Math.max(...layouts.map(({ byteOffset, byteLength }) => byteOffset + byteLength));
  return new Port(port.kind, { fd: port.takeFd(), offset: port.offset + start, byteLength: end - start });
}

/** Counts what a driver maps of an opaque fd, which is as long as its sender says. Returns what counts it off. */
function countMapped({ kind, offset, byteLength, whole }: Port): () => void {
  if (kind !== "opaque-fd") return () => {};
  const mapped = whole?.byteLength ?? offset + byteLength;
  foreignAddresses.take(mapped);
  return () => foreignAddresses.giveBack(mapped);
}

/** The commands of an import: what it holds is its block's to release. */
function sideOf({ kind: of, ports }: MemoryTarget, kind: string, imported: Imported): HeldSide {
  const { blocks } = ports.imports.find((offer) => offer.kind === kind) ?? {};
  const side = { begin: () => imported.begin?.(), end: () => imported.end?.() };
  return { side, line: ports.line, kind: `${of} import`, blocks };
}

function begun(side: HeldSide, undo: Undo, letGo: () => void, after: readonly Fence[] = []): Begun {
  try {
    hold(side, undo);
    return begin(side, undo, false, after);
  } catch (error) {
    throwAll([error, ...unwind([letGo, ...undo])], "importing memory");
    throw error;
  }
}

/** The same for a frame whose planes may lie in memory of their own: one port for all of them, or one for each. */
export function importFrame<T extends Tensor>(
  target: MemoryTarget<T>,
  ports: readonly Port[],
  received: Received & { readonly info: FrameInfo },
): Frame<T> {
  const { layouts, access, info, metadata } = received;
  if (ports.length === 1) return importAs(target, ports[0], received) as Frame<T>;
  using made = new DisposableStack();
  for (const port of ports) made.use(port);
  const planes = ports.map((port, i) => made.use(importAs(target, port, { layouts: [layouts[i]], access }) as T));
  const frame = Frame.of(planes, info, metadata);
  made.move();
  return frame;
}

interface ImportedPlace {
  readonly known: Allocation | undefined;
  /** Where the port's first byte lies in it, or in a new one. */
  readonly first: number;
  readonly byteLength: number;
}

/** Memory is known by its object, or by the identity of the memory behind the port: a new allocation is all of it. */
function placeOf(
  { allocation, start = 0, object }: Imported,
  { kind, offset, byteLength }: Port,
  memory: KnownMemory | undefined,
): ImportedPlace {
  if (allocation !== undefined) return { known: allocation, first: start, byteLength };
  const ofObject = object && findPlace(object.kind, object.handle);
  if (ofObject !== undefined) return { known: ofObject.allocation, first: ofObject.start + object!.start, byteLength };
  if (memory === undefined) {
    return { known: undefined, first: object?.start ?? 0, byteLength: object?.byteLength ?? byteLength };
  }
  const place = findPlace(kind, memory.identity);
  return { known: place?.allocation, first: (place?.start ?? 0) + offset, byteLength: memory.byteLength };
}

/** Where planes of a port lie, counted from the beginning of the object that the port is a part of. */
export function within(object: KnownObject | undefined, layouts: readonly Layout[]): readonly Layout[] {
  return object === undefined ? layouts : layouts.map((at) => moved(at, at.byteOffset + object.start));
}

function owned<T extends Tensor>(
  target: MemoryTarget<T>,
  what: string,
  layouts: readonly Layout[],
  info?: FrameInfo,
): T | Frame<T> {
  const { kind, ports, context } = target;
  if (ports.allocate === undefined) {
    throw new ArgumentError(`${nameOf(target)} has no memory of its own.`, { api: context.api });
  }
  if (ports.tensor === undefined) {
    throw new ArgumentError(`${nameOf(target)} allocates, and has no ports.tensor().`, { api: context.api });
  }
  context.resource?.assertLive();
  const end = layouts[layouts.length - 1].byteOffset + layouts[layouts.length - 1].byteLength;
  const { handle, address, release } = ports.allocate(end);
  const free = (fate: Fate) => void (fate !== "unused" || release()); // a view that was moved away may still look at it
  const block: Block = { kind, byteLength: end, free, ...(address === undefined ? {} : { address }) };
  const range = { start: layouts[0].byteOffset, end };
  const owners = [context.resource];
  const resource = own({ name: `${kind} ${what}`, allocation: new Allocation(block), ...range, owners });
  return tensorOver(target, { handle, layouts, info, resource });
}
