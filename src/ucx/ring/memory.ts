/**
 * A ring's frames, as the writer's side describes them, and as the reader's side makes room for them.
 *
 * @module
 */
import { type Address, NULL } from "../../../ffi/address.ts";
import { UCP_OP_ATTR_FIELD_MEMH } from "../../../ffi/ucx/constants.ts";
import type { UcpContextH } from "../../../ffi/ucx/handles.ts";
import { bodyOf, type Description, descriptionIn } from "../../channel/description.ts";
import { asArgument, badMessage } from "../../channel/errors.ts";
import { decoded, encoded, jsonIn, KINDS } from "../../channel/message.ts";
import { ReceivedFds } from "../../channel/packet.ts";
import { incoming } from "../../channel/transfer.ts";
import type { Target } from "../../core/graph/context.ts";
import { moved } from "../../core/layout/layout.ts";
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
import { hostPlaceOf, registered } from "../place.ts";
import type { Bytes, Place } from "./messages.ts";

/** A reader keeps each frame in one memfd, as if it had come by its fd. */
const FDS = 1;

/** A frame, from its first byte to its last. @throws {ArgumentError} if that is not one block that the CPU sees. */
export function placeOf(context: UcpContextH, mapped: Mapped, argument: string, undo: Undo): Place {
  const { first, byteLength } = extentOf(mapped, argument);
  return placeAt(context, hostPlaceOf(first, argument), byteLength, undo);
}

/** Has UCX know a frame's memory, until its end. */
function placeAt(context: UcpContextH, address: Address, byteLength: number, undo: Undo): Place {
  const bytes = bytesAt(address, byteLength, API, undo);
  const [memh, end] = registered(context, address, byteLength);
  undo.push(end);
  return { address, bytes, param: how(UCP_OP_ATTR_FIELD_MEMH, { memh }) };
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
export interface Room extends Place {
  readonly frame: Tensor | Frame;
  /** How its bytes lie, in words. */
  readonly planes: string;
}

/**
 * Makes room for a frame, from what a writer says.
 *
 * @throws {MessageError} if what it says is wrong.
 */
export function roomFor(
  context: UcpContextH,
  message: Bytes,
  targets: readonly Target[],
  undo: Undo,
): Room {
  const { kind, body } = decoded(message, FDS);
  if (kind !== KINDS.memory) throw badMessage("kind", `expected ${KINDS.memory}, a frame's, got ${kind}.`);
  const { memory, objects: [{ offset, byteLength }, ...others], access, planes } = descriptionIn(jsonIn(body));
  if (memory !== "memfd" || access !== "read") throw badMessage("memory", "expected a memfd to read.");
  if (offset !== 0 || others.length > 0) throw badMessage("objects", "expected one that begins at 0.");
  const { fd, memfd } = createMemfd(byteLength, undo);
  undo.push(countForeignMapping(byteLength));
  const pages = Math.ceil(byteLength / PAGE) * PAGE;
  const address = mapPages(NULL, pages, fd);
  undo.push(() => unmapPages(address, pages));
  const place = placeAt(context, address, byteLength, undo);
  const frame = incoming({ bytes: message, fds: new ReceivedFds([memfd.duplicate()]) }, targets);
  return { ...place, frame, planes: JSON.stringify(planes) };
}
