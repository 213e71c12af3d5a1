import type { Address } from "../../ffi/address.ts";
import { AccessError } from "../core/errors.ts";
import { allOrNothing, undoAll } from "../core/life/undo.ts";
import { type Access, writes } from "../core/memory/access.ts";
import type { Fate } from "../core/memory/allocation.ts";
import { probePages } from "../core/native/foreign_addresses.ts";
import { adoptFrame } from "../core/tensors/adopt.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { FFmpegContext } from "./context.ts";
import { buffersOf, describe, type Fields, fieldsAt, newFrame, REFERENCED } from "./frame.ts";
import { type Hardware, hardwareFor } from "./hardware.ts";
import { avutil, check, checks } from "./library.ts";
import { isLent } from "./lent.ts";

/** A frame over a new reference to what an AVFrame of other code's refers to. */
export function attachedFrame(
  context: FFmpegContext,
  on: Hardware | undefined,
  pointer: Address,
  asked: Access | undefined,
  mayCopy: boolean,
): Frame {
  context.resource.assertLive();
  assertAVFrame(pointer);
  const { fns } = avutil();
  const hardware = hardwareFor(on, fieldsAt(pointer).format);
  const isShared = fns.av_frame_is_writable(pointer) === 0;
  const isCopied = mayCopy && hardware === undefined;
  const access = asked ?? (isShared && !isCopied ? "read" : "read-write");
  const copies = isShared && writes(access);
  if (copies && !isCopied) throw shared(hardware !== undefined);
  if (hardware !== undefined) return attachedSurface(context, hardware, pointer, access);
  const { own, described, undo } = allOrNothing("attaching an AVFrame", (undo) => {
    const own = newFrame(undo);
    check(fns.av_frame_ref(own, pointer), "av_frame_ref");
    const fields = fieldsAt(own);
    assertFFmpegs(fields);
    const described = describe(fields); // before a copy that would be for nothing
    if (!copies) return { own, described, undo };
    check(fns.av_frame_make_writable(own), "av_frame_make_writable");
    return { own, described: describe(fieldsAt(own)), undo };
  });
  const { info, planes } = described;
  const release = () => undoAll(undo, "releasing an AVFrame");
  // A view that was moved away may still look at the bytes: FFmpeg keeps them then.
  const owner = { handle: own, release: (fate: Fate) => void (fate === "unused" && release()) };
  const frame = adoptFrame(context, owner, info, planes, { access, name: `avframe ${info.format}` });
  if (copies) context.countCopied(frame.byteLength);
  return frame;
}

/** The same for a frame in memory of another API's: its planes are that context's. */
function attachedSurface(context: FFmpegContext, hardware: Hardware, pointer: Address, access: Access): Frame {
  const { undo, info, picture } = allOrNothing("attaching an AVFrame", (undo) => {
    const own = newFrame(undo);
    check(avutil().fns.av_frame_ref(own, pointer), "av_frame_ref");
    const fields = fieldsAt(own);
    assertFFmpegs(fields);
    return { undo, ...hardware.describe(fields) };
  });
  const owner = () => undoAll(undo, "releasing an AVFrame");
  const frame = hardware.attach(picture, info, { access, owner });
  frame.resource.dependOn(context.resource);
  return frame;
}

/** Throws for what is seen not to be an AVFrame with counted references. FFmpeg itself looks at no more. */
function assertAVFrame(pointer: Address): void {
  const { structs: { AVFrame: { size, fields: { data, buf } } } } = avutil();
  probePages(pointer, size, "ffmpeg", "pointer");
  const { extended_data, nb_samples, view } = fieldsAt(pointer);
  // Only sound of more than eight channels has its pointers elsewhere.
  if (extended_data !== pointer + BigInt(data.offset) && (nb_samples <= 0 || extended_data === 0n)) {
    throw checks.wrong("pointer", "expected an AVFrame: extended_data does not point to its data.", OTHER);
  }
  if (view.getBigUint64(buf.offset, true) !== 0n) return;
  const isEmpty = view.getBigUint64(data.offset, true) === 0n;
  if (isEmpty) throw checks.wrong("pointer", "its AVFrame is empty: it has no memory.");
  throw checks.wrong("pointer", "FFmpeg counts no references to the memory of its AVFrame.", REFERENCED);
}

/** A reference to a tensor's own memory would be waited for by that tensor's end, and wait for it. */
function assertFFmpegs(fields: Fields): void {
  if (!buffersOf(fields).some(([buffer]) => isLent(buffer))) return;
  throw checks.wrong(
    "pointer",
    "its AVFrame is over a tensor's memory.",
    "Use the frame that ffmpeg.avFrame() was given.",
  );
}

const OTHER = "Pass the address of an AVFrame that libavutil of this same version has made.";

function shared(isHardware: boolean): AccessError {
  return new AccessError("access: other references to the AVFrame's memory exist, and FFmpeg lets it be read only.", {
    ...{ api: "ffmpeg", fn: "av_frame_is_writable", argument: "access" },
    hint: isHardware
      ? 'Pass { access: "read" }. av_hwframe_transfer_data() makes copies.'
      : 'Pass { access: "read" }, or { copy: "allow" } for a copy that can be written.',
  });
}
