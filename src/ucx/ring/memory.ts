/**
 * A ring's frames, as the writer's side describes them, and as the reader's side makes room for them.
 *
 * @module
 */
import { NULL } from "../../../ffi/address.ts";
import { UCP_OP_ATTR_FIELD_MEMH, UCS_MEMORY_TYPE_HOST } from "../../../ffi/ucx/constants.ts";
import { bodyOf, type Description, descriptionIn } from "../../channel/description.ts";
import { asArgument, badMessage } from "../../channel/errors.ts";
import { decoded, encoded, jsonIn, KINDS } from "../../channel/message.ts";
import { ReceivedFds } from "../../channel/packet.ts";
import { incoming } from "../../channel/transfer.ts";
import { portsOf, type Target } from "../../core/graph/context.ts";
import { moved } from "../../core/layout/layout.ts";
import type { Resource } from "../../core/life/resource.ts";
import type { Undo } from "../../core/life/undo.ts";
import { mapPages, PAGE, unmapPages } from "../../core/native/blocks.ts";
import { countForeignMapping } from "../../core/native/foreign_addresses.ts";
import { createMemfd } from "../../core/native/memfd.ts";
import { Frame, planesOf } from "../../core/tensors/frame.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import { bytesAt } from "../../core/native/pin.ts";
import { API, checks } from "../library.ts";
import { how } from "../endpoint.ts";
import { type OpenUcx, registered, type Spot, spotOf } from "../place.ts";
import type { Bytes, Place } from "./messages.ts";

/** A reader keeps each frame in one memfd, as if it had come by its fd. */
const FDS = 1;

/** A frame, from its first byte to its last. @throws {ArgumentError} if that is not one block that UCX can use. */
export function placeOf(ucx: OpenUcx, mapped: Mapped, argument: string, undo: Undo): Place {
  const { first, byteLength } = extentOf(mapped, argument);
  return placeAt(ucx, spotOf(ucx, first, argument), byteLength, undo);
}

/** Registers a frame's memory with UCX, until its end. */
function placeAt(ucx: OpenUcx, spot: Spot, byteLength: number, undo: Undo): Place {
  const { address, memoryType: memory_type } = spot;
  const bytes = memory_type === UCS_MEMORY_TYPE_HOST ? bytesAt(address, byteLength, API, undo) : undefined;
  const [memh, end] = registered(ucx, spot, byteLength);
  undo.push(end);
  const param = how(UCP_OP_ATTR_FIELD_MEMH, { memory_type, memh });
  return { address, byteLength, param, ...bytes !== undefined && { bytes } };
}

/**
 * A reader brings each frame to wherever it has room, so all frames have to lie alike.
 *
 * @throws {ArgumentError} if they do not.
 */
export function assertAlike(frames: readonly Mapped[]): void {
  const planes = frames.map((frame, i) => JSON.stringify(planesIn(extentOf(frame, `frames[${i}]`))));
  const other = planes.findIndex((one) => one !== planes[0]);
  if (other < 0) return;
  const remedy = "Allocate all of them alike.";
  throw checks.wrong(`frames[${other}]`, "its bytes lie in another way than those of the first.", remedy);
}

/** What a reader has to know of a frame: a message of the channel's, whose memory the reader makes. */
export function described(mapped: Mapped, argument: string): Bytes {
  const extent = extentOf(mapped, argument);
  const { byteLength } = extent;
  const description: Description = {
    memory: "memfd",
    access: "read",
    objects: [{ offset: 0, byteLength }],
    planes: planesIn(extent),
    ...(mapped instanceof Frame ? { info: mapped.info, metadata: mapped.metadata } : {}),
  };
  try {
    return encoded(KINDS.memory, FDS, bodyOf(description));
  } catch (error) {
    throw asArgument(error, argument, `no message can describe ${mapped.name}`);
  }
}

/** Its planes, from its first byte on. */
function planesIn({ planes, first }: ReturnType<typeof extentOf>) {
  return planes.map(({ layout, grant }) => moved(layout, grant.start - first.grant.start));
}

function extentOf(mapped: Mapped, argument: string) {
  const planes = planesOf(mapped);
  const first = planes.reduce((least, plane) => plane.grant.start < least.grant.start ? plane : least);
  if (planes.some(({ grant }) => grant.allocation !== first.grant.allocation)) {
    const remedy = "Allocate it as a whole: host.allocateFrame(info).";
    throw checks.wrong(argument, "its planes lie in several blocks, and a reader gets one.", remedy);
  }
  return { planes, first, byteLength: Math.max(...planes.map(({ grant }) => grant.end)) - first.grant.start };
}

/** A frame of this side's, and where the writer's bytes go. */
export interface Room {
  // The worker keeps the link, and frames keep their reader: a link that kept frames would keep a forgotten reader.
  readonly place: Place;
  readonly frame: Tensor | Frame;
  /** The owner of the place's memory, if the program can end that before the ring. */
  readonly owner?: Resource;
  /** How its bytes lie, in words. */
  readonly planes: string;
}

/** Where a reader's frames may be. */
interface Where {
  readonly gpu: Target | undefined;
  readonly targets: readonly Target[];
}

/** The GPU's memory in which a reader keeps its frames; undefined if an earlier target imports a memfd. */
export function gpuIn(targets: readonly Target[], { takesCuda }: OpenUcx): Target | undefined {
  const first = targets.find((target) => importsMemfd(target) || takesCuda && isGpu(target));
  return first !== undefined && !importsMemfd(first) ? first : undefined;
}

function importsMemfd(target: Target): boolean {
  return portsOf(target)?.imports.some(({ kind }) => kind === "memfd") === true;
}

function isGpu(target: Target): boolean {
  return target.allocateBytes !== undefined &&
    portsOf(target)?.exports.some(({ kind }) => kind === "cuda-pointer") === true;
}

/**
 * Makes room for a frame, from what a writer says: on a GPU, or in a memfd that one of several targets imports.
 *
 * @throws {MessageError} if what it says is wrong.
 */
export function roomFor(ucx: OpenUcx, message: Bytes, { gpu, targets }: Where, undo: Undo): Room {
  const { kind, body } = decoded(message, FDS);
  if (kind !== KINDS.memory) throw badMessage("kind", `expected ${KINDS.memory}, a frame's, got ${kind}.`);
  const description = descriptionIn(jsonIn(body));
  const { memory, objects: [{ offset, byteLength }, ...others], access } = description;
  if (memory !== "memfd" || access !== "read") throw badMessage("memory", "expected a memfd to read.");
  if (offset !== 0 || others.length > 0) throw badMessage("objects", "expected one that begins at 0.");
  const planes = JSON.stringify(description.planes);
  if (gpu !== undefined) return { ...roomOnGpu(ucx, description, gpu, undo), planes };
  const { fd, memfd } = createMemfd(byteLength, undo);
  undo.push(countForeignMapping(byteLength));
  const pages = Math.ceil(byteLength / PAGE) * PAGE;
  const address = mapPages(NULL, pages, fd);
  undo.push(() => unmapPages(address, pages));
  const place = placeAt(ucx, { address, memoryType: UCS_MEMORY_TYPE_HOST }, byteLength, undo);
  const frame = incoming({ bytes: message, fds: new ReceivedFds([memfd.duplicate()]) }, targets);
  return { place, frame, planes };
}

function roomOnGpu(ucx: OpenUcx, { objects, planes, info, metadata }: Description, gpu: Target, undo: Undo) {
  const [{ byteLength }] = objects;
  const block = gpu.allocateBytes!(byteLength);
  undo.push(() => block[Symbol.dispose]());
  const place = placeAt(ucx, spotOf(ucx, block, "contexts"), byteLength, undo);
  const parts = planes.map((plane) => block.slice(plane, { access: "read" }));
  return { place, frame: info === undefined ? parts[0] : Frame.of(parts, info, metadata), owner: block.resource };
}
