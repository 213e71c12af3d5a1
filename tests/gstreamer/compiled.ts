import { fromFileUrl } from "@std/path";
import { compile } from "../guard/cxx.ts";

const folder = (path: string) => fromFileUrl(new URL(path, import.meta.url));

/** A library of this folder's that uses GStreamer's headers. */
export function compileHere(file: string): Promise<string> {
  const includes = ["../../.gstreamer/include", "../../ffi/generate/include"].map((path) => `-I${folder(path)}`);
  const libraries = ["gstvideo-1.0", "gstreamer-1.0", "gobject-2.0", "glib-2.0"].map((name) => `-l:lib${name}.so.0`);
  return compile(folder(file), ...includes, ...libraries);
}
