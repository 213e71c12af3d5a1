import { LibraryNotFoundError } from "../../mod.ts";
import { GStreamerContext } from "../../src/gstreamer/mod.ts";

/** Why there is no GStreamer here; undefined where there is. It opens the libraries: tests that watch calls ask later. */
export function lacking(): string | undefined {
  try {
    GStreamerContext.openSync()[Symbol.dispose]();
    return undefined;
  } catch (error) {
    if (error instanceof LibraryNotFoundError) return "GStreamer 1.22";
    throw error;
  }
}
