/**
 * Memory on its way into a message and out of one, by the ports of its kind: no API is known here.
 *
 * @module
 */
import { S_IFMT, S_IFREG } from "../../ffi/libc/constants.ts";
import { EBADF } from "../../ffi/libc/errors.ts";
import type { Fence } from "../core/device/fence.ts";
import type { MemoryTarget, Offer } from "../core/contract.ts";
import { nameOf, portsOf, type Target } from "../core/graph/context.ts";
import { Port } from "../core/device/port.ts";
import { refuseBy, refuseFd } from "../core/device/takes.ts";
import {
  AccessError,
  ArgumentError,
  type InteropError,
  messageOf,
  NativeCallError,
  type Reason,
  throwAll,
} from "../core/errors.ts";
import { type MediaFacts, withMoment } from "../core/layout/frame_info.ts";
import { moved } from "../core/layout/layout.ts";
import { type Undo, unwind } from "../core/life/undo.ts";
import { accessOfFd, closeFd, factsOfFd, isDmaBuf, kindWithoutMemory, statusOf } from "../core/native/fd.ts";
import { inspectMemfd } from "../core/native/memfd.ts";
import { type Access, covers } from "../core/memory/access.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import { registerByHandle } from "../core/memory/peers.ts";
import type { ByteRange } from "../core/tensors/described.ts";
import { Frame, planesOf } from "../core/tensors/frame.ts";
import { importAs, importFrame } from "../core/tensors/over.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import {
  bodyOf,
  type Description,
  descriptionIn,
  MEMORY_KINDS,
  type SentKind,
  type SentObject,
} from "./description.ts";
import type { Sendable } from "./connection.ts";
import { asArgument, badMessage } from "./errors.ts";
import { decoded, encoded, jsonIn, KINDS } from "./message.ts";
import type { Packet } from "./packet.ts";
import { checks } from "./options.ts";

/** The remedy if a program wants more access than it was sent. */
const REMEDY = 'Its sender has to pass { access: "read-write" }; a frame of a ring is always for reading.';

export interface Outgoing extends Sendable {
  /** Work on the memory that the kernel knows of. The sender waits for it first. */
  readonly waits: readonly Fence[];
  readonly release: Undo;
}

export interface Parcel {
  readonly mapped: Mapped;
  /** What the other side may do with it. */
  readonly access: Access;
  /** The allowed kinds of fd, the best first; all if left out. */
  readonly kinds?: readonly SentKind[] | undefined;
  /** What the program calls it; `"frame"` if left out. */
  readonly argument?: string;
  /** Codec facts that go with it. */
  readonly media?: MediaFacts | undefined;
}

/** @throws {ArgumentError} if the memory cannot be sent, or no message can describe it. */
export function outgoing({ mapped, access, kinds = MEMORY_KINDS, argument = "frame", media }: Parcel): Outgoing {
  const planes = planesOf(mapped);
  const together = planes.every(({ grant }) => grant.allocation === planes[0].grant.allocation);
  const parts = (together ? [planes] : planes.map((plane) => [plane])).map(partOf);
  const { kind: memory, device } = offerFor(mapped.target, parts, kinds, argument);
  const release: Undo = [];
  try {
    const exported = parts.map((part) => exportOf(part, memory, access, release));
    assertMemory(exported.map(({ fd, object }) => portOf(memory, fd, object)), access);
    const description: Description = {
      memory,
      ...(device === undefined ? {} : { device: device.uuid! }),
      access,
      objects: exported.map(({ object }) => object),
      planes: planes.map(({ layout, grant }, i) => moved(layout, grant.start - parts[together ? 0 : i].range.start)),
      ...(mapped instanceof Frame ? { info: mapped.info, media, metadata: mapped.metadata } : {}),
    };
    const bytes = encoded(KINDS.memory, exported.length, bodyOf(description));
    return { bytes, fds: exported.map(({ fd }) => fd), waits: exported.flatMap(({ waits }) => waits), release };
  } catch (error) {
    const refused = asArgument(error, argument, `no message can describe ${mapped.name}`);
    throwAll([refused, ...unwind(release)], "exporting memory");
    throw error;
  }
}

interface Part {
  readonly planes: readonly Tensor[];
  readonly first: Tensor;
  readonly range: ByteRange;
}

function partOf(planes: readonly Tensor[]): Part {
  const first = planes.reduce((least, plane) => plane.grant.start < least.grant.start ? plane : least);
  const { allocation, start } = first.grant;
  const byteLength = Math.max(...planes.map(({ grant }) => grant.end)) - start;
  const described = planes.flatMap((plane) => plane.described.planes);
  return { planes, first, range: { planes: described, allocation, start, byteLength, address: undefined } };
}

/** The best kind of port that exports all parts without moving a byte. */
function offerFor(
  target: Target,
  parts: readonly Part[],
  kinds: readonly SentKind[],
  argument: string,
): Offer & { readonly kind: SentKind } {
  const refusals: Reason[] = [];
  for (const kind of kinds) {
    const offers = portsOf(target)?.exports.filter((offer) => offer.kind === kind) ?? [];
    const offer = offers.map((offer) => ofDevice(offer, target)).find(isOpen);
    if (offer === undefined) {
      const closed = kinds.length > 1 ? undefined : offers[0]?.closed?.(); // with several kinds, the program meant none in particular
      if (closed !== undefined) refusals.push(closed);
      continue;
    }
    const refusal = parts.map(({ range }) => refuseBy(offer, range)).find((refusal) => refusal !== undefined);
    if (refusal === undefined) return { ...offer, kind };
    refusals.push(refusal);
  }
  const [{ reason, remedy }] = [...refusals, {
    reason: kinds === MEMORY_KINDS
      ? `${nameOf(target)} exports nothing that another process could open.`
      : `${nameOf(target)} exports nothing as ${kinds.map((kind) => `"${kind}"`).join(" or ")}.`,
    remedy: "Copy it to memory that can be sent, or map it from there: host.allocate({ sharable: true }).",
  }];
  throw checks.wrong(argument, reason, remedy);
}

/**
 * The same offer, naming the device whose memory it is: a message has to name one, although an importer in this process
 * may accept the memory of another.
 */
function ofDevice(offer: Offer, { context: { id } }: Target): Offer {
  return offer.kind === "opaque-fd" && offer.device === undefined ? { ...offer, device: id } : offer;
}

/** True for an offer that exists on this machine, leaves the bytes in place, and holds for any device or for a named one. */
function isOpen(offer: Offer): boolean {
  const { kind, device, transfer = "alias" } = offer;
  const isNamed = kind === "opaque-fd" ? device?.uuid !== undefined : device === undefined;
  return isNamed && transfer === "alias" && offer.closed?.() === undefined;
}

interface ExportedObject {
  readonly fd: number;
  readonly object: SentObject;
  readonly waits: readonly Fence[];
}

function exportOf(
  { planes, first, range: { byteLength } }: Part,
  kind: SentKind,
  access: Access,
  release: Undo,
): ExportedObject {
  const ports = portsOf(first.target)!;
  const exported = ports.export!(first, kind, byteLength, access, false);
  release.push(() => exported.release?.());
  const { offset, dedicated, whole } = exported.port;
  const fd = exported.port.takeFd();
  release.push(() => closeFd(fd));
  const { allocation, start } = first.grant;
  const identity = kind === "opaque-fd" ? identityOf(allocation) : statusOf(fd).identity;
  registerByHandle(kind, identity, allocation, start - offset); // it may come back when its map has ended
  const all = whole ?? { byteLength: allocation.block.byteLength };
  const memory = kind === "opaque-fd" ? { memory: { ...all, dedicated, identity } } : {};
  const handed = exported.begin?.();
  const waits = handed === undefined ? [] : [ports.line!.submitRaw(handed)];
  for (const fence of waits) for (const plane of planes) plane.usedBy(fence);
  return { fd, object: { offset, byteLength, ...memory }, waits: [...first.outsideWork(access), ...waits] };
}

const identities = new WeakMap<Allocation, bigint>();

/** A number that no other block in any process has: opaque fds do not show whether they belong to the same block. */
function identityOf(allocation: Allocation): bigint {
  let identity = identities.get(allocation);
  if (identity === undefined) {
    [identity] = crypto.getRandomValues(new BigUint64Array(1));
    identities.set(allocation, identity);
  }
  return identity;
}

/** @throws {MessageError} if the message is wrong, or its memory is not what it says. */
export function incoming(packet: Packet, targets: readonly Target[]): Tensor | Frame {
  using fds = packet.fds;
  const { kind, body } = decoded(packet.bytes, fds.length);
  if (kind === KINDS.ring) throw badMessage("kind", "this is a ring, not a channel: use FrameRing.open().");
  if (kind === KINDS.port) throw badMessage("kind", "this is a port, not memory: use receivePort().");
  if (kind !== KINDS.memory) throw badMessage("kind", `expected ${KINDS.memory}, got ${kind}.`);
  const description = descriptionIn(jsonIn(body));
  const { memory, objects, planes: layouts, info, media, metadata, access } = description;
  if (objects.length !== fds.length) throw badMessage("objects", `expected ${fds.length}, got ${objects.length}.`);
  const takers = targets.flatMap((target) => takersOf(target, description));
  if (takers.length === 0) {
    throw badMessage(
      "memory",
      `no context of this side imports "${description.memory}": ${lackOf(targets, description)}`,
    );
  }
  using ports = new DisposableStack();
  const all = fds.takeAll().map((fd, i) => ports.use(portOf(memory, fd, objects[i])));
  assertMemory(all, access);
  try {
    const target = takerOf(all, takers);
    const made = info === undefined
      ? importAs(target, all[0], { layouts, access })
      : importFrame(target, all, { layouts, access, info: withMoment(info, media), metadata });
    for (const grant of made.grants) grant.remedy = REMEDY;
    return made;
  } catch (error) {
    throw asOfMemory(error);
  }
}

/** Turns the refusal of memory that is not what the message says into a MessageError. */
function asOfMemory(error: unknown): unknown {
  return isOfMemory(error) ? badMessage("objects", messageOf(error), error) : error;
}

/** True if the memory is not what the message says. An fd that only names a file (O_PATH) fails with EBADF. */
function isOfMemory(error: unknown): boolean {
  if (error instanceof NativeCallError) return error.code === EBADF;
  if (error instanceof ArgumentError && error.fn !== undefined) return false; // this process has no room for it
  return error instanceof ArgumentError || error instanceof AccessError;
}

/** The reason why no target takes such memory, or what to do. */
function lackOf(targets: readonly Target[], { memory, device }: Description): string {
  if (targets.length === 0) {
    if (device === undefined) return "pass { contexts: [host] }.";
    return `pass { contexts: [context] }, where context is of the device with the UUID ${device}.`;
  }
  const offers = targets.flatMap((target) => portsOf(target)?.imports ?? []).filter(({ kind }) => kind === memory);
  const there = offers.filter(isOpen).map((offer) => offer.device?.uuid);
  if (there.length > 0) return `it is memory of the device ${device}, and this side has ${there.join(", ")}.`;
  const [closed] = offers.map((offer) => offer.closed?.()).filter((closed) => closed !== undefined);
  if (closed === undefined) return `it has ${targets.map(nameOf).join(", ")}.`;
  return closed.remedy === undefined ? closed.reason : `${closed.reason} ${closed.remedy}`;
}

interface Taker {
  readonly target: MemoryTarget;
  readonly offer: Offer;
}

function takersOf(target: Target, { memory, device }: Description): Taker[] {
  const offer = portsOf(target)?.imports.find((offer) =>
    offer.kind === memory && isOpen(offer) && offer.device?.uuid === device
  );
  return offer === undefined ? [] : [{ target: target as MemoryTarget, offer }];
}

/** The first target that takes these ports. @throws {MessageError} if none does, with the first one's reason. */
function takerOf(ports: readonly Port[], takers: readonly Taker[]): MemoryTarget {
  let first: InteropError | undefined;
  for (const { target, offer } of takers) {
    const refusals = ports.map((port) => refusePort(offer, port));
    const refusal = refusals.find((refusal) => refusal !== undefined);
    if (refusal === undefined) return target;
    first ??= refusal;
  }
  throw badMessage("memory", `no context of this side takes it: ${first!.message}`, first);
}

function refusePort(offer: Offer, port: Port): InteropError | undefined {
  const refusal = offer.fdAccess === undefined ? undefined : refuseFd(offer, factsOfFd(port.fd));
  return refusal === undefined ? offer.refusePort?.(port) : checks.wrong("memory", refusal.reason, refusal.remedy);
}

function portOf(kind: SentKind, fd: number, { offset, byteLength, memory: whole }: SentObject): Port {
  const { dedicated = false, identity } = whole ?? {};
  return new Port(kind, { fd, offset, byteLength, dedicated, whole, identity });
}

/** Throws unless the memory is what the message says. Both sender and receiver check it. */
function assertMemory(ports: readonly Port[], access: Access): void {
  for (const port of ports) {
    try {
      assertAllowed(port, access);
    } catch (error) {
      throw asOfMemory(error);
    }
    assertLength(port);
  }
  if (ports.length > 1) assertApart(ports);
}

/** Throws for an fd of another kind, because drivers accept any fd, and for one that does not allow the access. */
function assertAllowed({ kind, fd }: Port, access: Access): void {
  if (kind === "opaque-fd") {
    const other = kindWithoutMemory(fd, statusOf(fd).mode);
    if (other !== undefined) throw badMessage("objects", `expected memory, got ${other}.`);
    return; // the kernel can say nothing else about it
  }
  if (kind === "dma-buf" && !isDmaBuf(fd)) {
    throw badMessage("objects", "expected a dma-buf, got an fd of another kind.");
  }
  const allowed = kind === "memfd" && inspectMemfd(fd).mode !== "read-write" ? "read" : accessOfFd(fd);
  if (covers(allowed, access)) return;
  throw badMessage(
    "objects",
    `the memory allows "${allowed}", and not "${access}": its fd was opened so, or its memfd is sealed.`,
  );
}

/** Checks the length that the kernel reports for files. An opaque fd of a driver on the CPU is a file, too. */
function assertLength({ kind, fd, offset, byteLength, whole }: Port): void {
  const { mode, byteLength: there } = statusOf(fd);
  const said = whole?.byteLength ?? offset + byteLength;
  if (there >= said || !(kind === "dma-buf" || (mode & S_IFMT) === S_IFREG)) return;
  throw badMessage("objects", `the message says that the memory has ${said} bytes, and its file has ${there}.`);
}

/** Throws if parts overlap: several fds may refer to the same memory. */
function assertApart(ports: readonly Port[]): void {
  const placed = ports.map(({ memory, offset, byteLength }) => ({
    of: memory!.identity,
    offset,
    end: offset + byteLength,
  }));
  const overlap = placed.some((one, i) =>
    placed.slice(i + 1).some((other) => one.of === other.of && one.offset < other.end && other.offset < one.end)
  );
  if (overlap) throw badMessage("objects", "two of them overlap in one memory.");
}
