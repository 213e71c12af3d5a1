/**
 * GStreamer's own tracer of objects that are left. It prints as GStreamer ends, so that takes a process.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { runModule } from "../process.ts";

/** Variables by which GStreamer traces its objects. */
export const traced = { GST_TRACERS: "leaks", GST_DEBUG: "GST_TRACER:7", GST_DEBUG_NO_COLOR: "1" };

/** The kinds of the objects that a program leaves. Its last call ends GStreamer. */
export async function leftBy(program: string): Promise<string[]> {
  const text = `
    import { host, imageInfo, MapperGraph } from "@samepage/interop";
    import { GStreamerContext } from "@samepage/interop/gstreamer";
    import { gst as native } from "./src/gstreamer/library.ts";
    {
      using gst = await GStreamerContext.open();
      using graph = new MapperGraph([host, gst]);
      ${program}
    }
    native().gst_deinit();
    console.log("ended");`;
  const { code, stdout, stderr } = await runModule(text, { env: traced });
  assertEquals(code, 0, stderr);
  assertMatch(stdout, /ended/);
  return aliveIn(stderr);
}

/** The kinds of the objects that the tracer lists. */
export function aliveIn(stderr: string): string[] {
  return [...stderr.matchAll(/object-alive, type-name=\(string\)(\w+)/g)].map(([, type]) => type);
}
