import { LibraryNotFoundError } from "@samepage/interop";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { table } from "../row.ts";

const flags = ["--allow-ffi", "--allow-env"];

export default table({
  "a context used after its end": {
    async run() {
      const gst = await GStreamerContext.open();
      gst[Symbol.dispose]();
      gst[Symbol.dispose]();
    },
  },
  "a library that is not there": {
    run: () => GStreamerContext.open(),
    flags,
    env: { SAMEPAGE_LIB_GSTREAMER: "/nonesuch/libgstreamer-1.0.so.0" },
    fails: {
      ...{ error: LibraryNotFoundError, api: "gstreamer", fn: "dlopen", message: /nonesuch/ },
      ...{ hint: /SAMEPAGE_LIB_GSTREAMER names it/, has: { attempts: /nonesuch/ } },
    },
  },
  "the same, of GLib": {
    run: () => GStreamerContext.openSync(),
    flags,
    env: { SAMEPAGE_LIB_GSTREAMER_GLIB: "/nonesuch/libglib-2.0.so.0" },
  },
});
