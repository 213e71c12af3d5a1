import type { Address } from "../../ffi/address.ts";
import { GList } from "../../ffi/glib/structs.ts";
import * as audio from "../../ffi/gst_audio/structs.ts";
import { GstGLBaseMemory } from "../../ffi/gst_gl/structs.ts";
import * as gva from "../../ffi/gst_gva/structs.ts";
import * as video from "../../ffi/gst_video/structs.ts";
import * as core from "../../ffi/gstreamer/structs.ts";
import type { StructLayout } from "../../ffi/layout.ts";
import { probeObject } from "../core/native/foreign_addresses.ts";
import { StructType } from "../core/native/struct_type.ts";
import { cString } from "../core/native/text.ts";
import { checks, gobject, gst } from "./library.ts";

function type<L extends StructLayout>(layout: L): StructType<L> {
  return new StructType<L>(layout, "gstreamer");
}

/** GStreamer's structs, which have one layout in all versions: later ones only append. */
export const structs = {
  GstMiniObject: type(core.GstMiniObject),
  GstBuffer: type(core.GstBuffer),
  GstMessage: type(core.GstMessage),
  GstMeta: type(core.GstMeta),
  GstMetaInfo: type(core.GstMetaInfo),
  GstAllocatorClass: type(core.GstAllocatorClass),
  GList: type(GList),
  GstMemory: type(core.GstMemory),
  GstAllocator: type(core.GstAllocator),
  GstMapInfo: type(core.GstMapInfo),
  GstVideoFormatInfo: type(video.GstVideoFormatInfo),
  GstVideoInfo: type(video.GstVideoInfo),
  GstVideoMeta: type(video.GstVideoMeta),
  GstVideoCropMeta: type(video.GstVideoCropMeta),
  GstVideoRegionOfInterestMeta: type(video.GstVideoRegionOfInterestMeta),
  GstGVATensorMeta: type(gva.GstGVATensorMeta),
  GstGVAJSONMeta: type(gva.GstGVAJSONMeta),
  GstGVAAudioEventMeta: type(gva.GstGVAAudioEventMeta),
  GstGLBaseMemory: type(GstGLBaseMemory),
  GstAudioFormatInfo: type(audio.GstAudioFormatInfo),
  GstAudioInfo: type(audio.GstAudioInfo),
  GstAudioMeta: type(audio.GstAudioMeta),
} as const;

const types = new Map<string, bigint>();

/** Which of these types an object has that a program passed. @throws {ArgumentError} for what is seen to be none of them. */
export function miniObjectAt<T extends string>(address: Address, argument: string, ...names: readonly T[]) {
  probeObject(address, core.GstMiniObject.size, "gstreamer", argument);
  const { type, refcount } = structs.GstMiniObject.copyOf(address);
  const name = names.find((name) => typeNamed(name) === type);
  if (name === undefined) {
    throw checks.wrong(argument, `expected the address of a ${names.join(" or a ")}, got that of something else.`);
  }
  if (refcount > 0) return name;
  throw checks.wrong(argument, `its ${name} was freed: no reference to it is left.`, "Pass it before the last unref.");
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
