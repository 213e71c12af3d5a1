import { type Address, NULL } from "../../ffi/address.ts";
import { allOrNothing, undone } from "../core/life/undo.ts";
import type { ArgumentError } from "../core/errors.ts";
import { frameInWords } from "../core/layout/frame_info.ts";
import type { Access } from "../core/memory/access.ts";
import type { Fate } from "../core/memory/allocation.ts";
import { probeObject } from "../core/native/foreign_addresses.ts";
import { adoptFrame } from "../core/tensors/adopt.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Wanted } from "../media/context.ts";
import { accessIn, frameOfPicture } from "../media/held.ts";
import type { FFmpegContext } from "./context.ts";
import { avFrames, type Fields } from "./fields.ts";
import { type Buffer, buffersOf, type Contents, describe, REFERENCED } from "./frame.ts";
import { type Hardware, hardwareFor, type Surface } from "./hardware.ts";
import { avutil, check, checks } from "./library.ts";
import { isLent } from "./lent.ts";
import type { FFmpegTensor } from "./memory.ts";

const SHARED = {
  ...{ api: "ffmpeg", library: "FFmpeg", object: "AVFrame", fn: "av_frame_is_writable" },
  remedy: "av_hwframe_transfer_data() makes copies.",
} as const;

/** A frame over a new reference to the memory of other code's AVFrame. */
export function attachedFrame(
  context: FFmpegContext,
  on: Hardware | undefined,
  pointer: Address,
  wanted: Wanted,
): Frame {
  const { fns } = avutil();
  const hardware = hardwareFor(on, formatOfAVFrame(pointer));
  const isWritable = fns.av_frame_is_writable(pointer) !== 0;
  const { access, isCopy } = accessIn(wanted, isWritable, hardware === undefined, SHARED);
  if (hardware !== undefined) return attachedSurface(context, hardware, pointer, access);
  const own = context.spares.take();
  const release = () => context.spares.give(own);
  let contents: Contents;
  try {
    contents = referredTo(own, pointer, isCopy);
  } catch (error) { // closures for allOrNothing() would take longer than the reference
    throw undone(error, [release], "attaching an AVFrame");
  }
  const frame = adoptedFrame(context, own.address, contents, access, release);
  if (isCopy) context.countCopied(frame.byteLength);
  return frame;
}

/** Makes our AVFrame refer to the memory of another one, or to a copy of it. */
function referredTo(own: Fields, pointer: Address, isCopy: boolean): Contents {
  const { fns } = avutil();
  check(fns.av_frame_ref(own.address, pointer), "av_frame_ref");
  const buffers = buffersOf(own);
  assertFFmpegs(buffers);
  const described = describe(own, buffers); // before a copy that would be for nothing
  if (!isCopy) return described;
  check(fns.av_frame_make_writable(own.address), "av_frame_make_writable");
  return describe(own);
}

/** A frame over an AVFrame whose pixels belong to another API: its planes are of that context. */
function attachedSurface(context: FFmpegContext, hardware: Hardware, pointer: Address, access: Access): Frame {
  const own = context.spares.take();
  const owner = () => context.spares.give(own);
  const surface = allOrNothing("attaching an AVFrame", () => {
    check(avutil().fns.av_frame_ref(own.address, pointer), "av_frame_ref");
    assertFFmpegs(buffersOf(own));
    return hardware.describe(own);
  }, [owner]);
  return adoptedSurface(context, surface, access, owner);
}

/** The same over an AVFrame of ours. `owner` frees the AVFrame, also on failure. */
export function adoptedSurface(context: FFmpegContext, surface: Surface, access: Access, owner: () => void): Frame {
  const frame = frameOfPicture(context, surface, access, owner);
  for (const [name, about] of surface.metadata?.entries() ?? []) frame.metadata.add(name, about);
  return frame;
}

/** A frame over an AVFrame of ours. */
export function adoptedFrame(
  context: FFmpegContext,
  handle: Address,
  { info, moment, planes, metadata }: Contents,
  access: Access,
  release: () => void,
): Frame<FFmpegTensor> {
  // An escaped view may still use the bytes: then FFmpeg's reference is kept.
  const owner = { handle, isReference: true, release: (fate: Fate) => void (fate === "unused" && release()) };
  return adoptFrame(context, owner, info, planes, { access, metadata, moment, name: `avframe ${frameInWords(info)}` });
}

/** Throws for anything that is visibly no AVFrame with counted references. FFmpeg itself checks no more. */
function formatOfAVFrame(pointer: Address): number {
  probeObject(pointer, avFrames().byteLength, "ffmpeg", "pointer");
  const { extended_data, nb_samples, data, buf, format } = avFrames().copyOf(pointer);
  const { data: { offset } } = avutil().structs.AVFrame.fields;
  // Only sound of more than eight channels has its pointers elsewhere.
  if (extended_data !== pointer + BigInt(offset) && (nb_samples <= 0 || extended_data === 0n)) throw noAVFrame();
  if (buf === NULL) throw notReferenced(data);
  return format;
}

function noAVFrame(): ArgumentError {
  return checks.wrong("pointer", "expected an AVFrame: extended_data does not point to its data.", OTHER);
}

function notReferenced(data: bigint): ArgumentError {
  if (data === NULL) return checks.wrong("pointer", "its AVFrame is empty: it has no memory.");
  return checks.wrong("pointer", "FFmpeg counts no references to the memory of its AVFrame.", REFERENCED);
}

/**
 * Refuses AVFrames over samepage's memory: the tensor's end would wait for this reference, and this one for that end.
 */
function assertFFmpegs(buffers: readonly Buffer[]): void {
  for (let i = 0; i < buffers.length; i++) if (isLent(buffers[i].reference)) throw ofOurs();
}

function ofOurs(): ArgumentError {
  return checks.wrong(
    "pointer",
    "its AVFrame is over a tensor's memory.",
    "Use the frame that ffmpeg.avFrame() was given.",
  );
}

const OTHER = "Pass the address of an AVFrame that libavutil of this same version has made.";
