import { type Address, NULL } from "../../../ffi/address.ts";
import { cString, textAt } from "../../core/native/text.ts";
import { gst } from "../../gstreamer/library.ts";

/** A GStreamer plugin that samepage uses, or that has memory of its own. */
export interface Plugin {
  /** Its name in GStreamer's registry. */
  readonly name: string;
  /** What is closed without it. */
  readonly gives: string;
  /** What its memory becomes, if it has memory of its own. */
  readonly becomes?: string;
  /** Why its memory is closed even if it is installed. */
  readonly closed?: string;
  /** The Debian package that has it. */
  readonly inDebian: string;
}

/** Those that matter. */
export const PLUGINS: readonly Plugin[] = [
  { name: "app", gives: "frames out of pipelines and into them", inDebian: "gstreamer1.0-plugins-base" },
  { name: "videoconvertscale", gives: "conversion of pictures", inDebian: "gstreamer1.0-plugins-base" },
  { name: "playback", gives: "decodebin", inDebian: "gstreamer1.0-plugins-base" },
  { name: "libav", gives: "FFmpeg's decoders", inDebian: "gstreamer1.0-libav" },
  { name: "x264", gives: "x264enc", inDebian: "gstreamer1.0-plugins-ugly" },
  {
    ...{ name: "va", gives: "memory of VA-API", inDebian: "gstreamer1.0-plugins-bad" },
    becomes: "frames of a VaapiContext: GStreamerContext.open({ on: va })",
  },
  {
    ...{ name: "opengl", gives: "memory of OpenGL", inDebian: "gstreamer1.0-gl" },
    becomes: "pictures of an EglContext: GStreamerContext.open({ on: egl })",
  },
  {
    ...{ name: "nvcodec", gives: "memory of CUDA", inDebian: "gstreamer1.0-plugins-bad" },
    closed: "it was not tried on a GPU; put cudadownload in front",
  },
];

/** The version of a plugin; undefined if it is not installed. */
export function pluginVersion(name: string): string | undefined {
  const plugin: Address = gst().gst_registry_find_plugin(gst().gst_registry_get(), cString(name));
  if (plugin === NULL) return undefined;
  try {
    return textAt(gst().gst_plugin_get_version(plugin));
  } finally {
    gst().gst_object_unref(plugin);
  }
}
