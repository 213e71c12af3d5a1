import { type Address, NULL } from "../../ffi/address.ts";
import { cString, textAt } from "../core/native/text.ts";
import { gst } from "./library.ts";

/** A plugin of GStreamer's that samepage makes use of, or that brings memory of its own. */
export interface Plugin {
  /** Its name in GStreamer's registry. */
  readonly name: string;
  /** What is closed without it. */
  readonly gives: string;
  /** The package of Debian's that has it. */
  readonly inDebian: string;
}

/** Those that matter. */
export const PLUGINS: readonly Plugin[] = [
  { name: "app", gives: "frames out of pipelines and into them", inDebian: "gstreamer1.0-plugins-base" },
  { name: "videoconvertscale", gives: "conversion of pictures", inDebian: "gstreamer1.0-plugins-base" },
  { name: "playback", gives: "decodebin", inDebian: "gstreamer1.0-plugins-base" },
  { name: "libav", gives: "FFmpeg's decoders", inDebian: "gstreamer1.0-libav" },
  { name: "x264", gives: "x264enc", inDebian: "gstreamer1.0-plugins-ugly" },
  { name: "va", gives: "memory of VA-API", inDebian: "gstreamer1.0-plugins-bad" },
  { name: "opengl", gives: "memory of OpenGL", inDebian: "gstreamer1.0-gl" },
  { name: "nvcodec", gives: "memory of CUDA", inDebian: "gstreamer1.0-plugins-bad" },
];

/** The version of a plugin; undefined where it is not installed. */
export function pluginVersion(name: string): string | undefined {
  const plugin: Address = gst().gst_registry_find_plugin(gst().gst_registry_get(), cString(name));
  if (plugin === NULL) return undefined;
  try {
    return textAt(gst().gst_plugin_get_version(plugin));
  } finally {
    gst().gst_object_unref(plugin);
  }
}
