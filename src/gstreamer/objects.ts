import type { Address } from "../../ffi/address.ts";
import { GstAudioFormatInfo, GstAudioInfo, GstAudioMeta } from "../../ffi/gst_audio/structs.ts";
import { GstVideoCropMeta, GstVideoFormatInfo, GstVideoInfo, GstVideoMeta } from "../../ffi/gst_video/structs.ts";
import { GstAllocator, GstBuffer, GstMapInfo, GstMemory, GstMiniObject } from "../../ffi/gstreamer/structs.ts";
import { probeObject } from "../core/native/foreign_addresses.ts";
import { StructTypes } from "../core/native/struct_type.ts";
import { cString } from "../core/native/text.ts";
import { checks, gobject, gst } from "./library.ts";

const LAYOUTS = {
  ...{ GstMiniObject, GstBuffer, GstMemory, GstAllocator, GstMapInfo },
  ...{ GstVideoFormatInfo, GstVideoInfo, GstVideoMeta, GstVideoCropMeta },
  ...{ GstAudioFormatInfo, GstAudioInfo, GstAudioMeta },
};

/** GStreamer's structs, which have one layout in all versions: later ones only append. */
export const struct: StructTypes<typeof LAYOUTS> = new StructTypes(() => LAYOUTS, "gstreamer");

/** One in memory of JavaScript's, for calls that fill it in. */
export function newStruct<N extends keyof typeof LAYOUTS>(name: N) {
  return struct.type(name).in(new DataView(new ArrayBuffer(LAYOUTS[name].size)));
}

const types = new Map<string, bigint>();

/**
 * Which of these types an object has that a program passed, and how many references there are to it.
 *
 * @throws {ArgumentError} for what is seen to be none of them.
 */
export function miniObjectAt<T extends string>(address: Address, argument: string, ...names: readonly T[]) {
  probeObject(address, GstMiniObject.size, "gstreamer", argument);
  const { type, refcount } = struct.type("GstMiniObject").copyOf(address);
  const name = names.find((name) => typeNamed(name) === type);
  if (name === undefined) {
    throw checks.wrong(argument, `expected the address of a ${names.join(" or a ")}, got that of something else.`);
  }
  if (refcount > 0) return { name, refcount };
  throw checks.wrong(
    argument,
    `its ${name} was freed: nobody has a reference to it.`,
    "Attach it before the last unref.",
  );
}

function typeNamed(name: string): bigint {
  let type = types.get(name);
  if (type === undefined) types.set(name, type = gobject().g_type_from_name(cString(name)));
  return type;
}

/** Gives a reference back. */
export function unreference(object: Address): void {
  gst().gst_mini_object_unref(object);
}
