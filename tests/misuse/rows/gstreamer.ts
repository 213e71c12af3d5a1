import { DisposedError, host, LibraryNotFoundError, MapperGraph } from "@samepage/interop";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { table } from "../row.ts";

const flags = ["--allow-ffi", "--allow-env"];

export default table(import.meta, {
  "a map to a context that has ended": {
    async run() {
      const gst = await GStreamerContext.open();
      GStreamerContext.openSync()[Symbol.dispose]();
      using graph = new MapperGraph([host, gst]);
      using tensor = host.allocate({ shape: [16], dtype: "u8" });
      gst.is(tensor as never);
      gst[Symbol.dispose]();
      gst[Symbol.dispose]();
      graph.map(tensor, gst);
    },
    fails: { error: DisposedError, api: "core", message: /GStreamer/ },
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
});
