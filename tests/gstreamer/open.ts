/**
 * What the tests of GStreamer need.
 *
 * @module
 */
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { LibraryNotFoundError } from "@samepage/interop";
import { withEmptyLedger } from "../unit/ledger.ts";

/** Why there is no GStreamer here; undefined where there is. */
export const missing: string | undefined = await reason();

async function reason(): Promise<string | undefined> {
  try {
    (await GStreamerContext.open())[Symbol.dispose]();
    return undefined;
  } catch (error) {
    if (error instanceof LibraryNotFoundError) return "GStreamer 1.22";
    throw error;
  }
}

/** A test that needs GStreamer, after which nothing of samepage's is left. */
export function test(name: string, fn: () => void | Promise<void>): void {
  const ignore = missing !== undefined;
  Deno.test({
    name: ignore ? `${name} (not here: ${missing})` : name,
    ignore,
    fn: withEmptyLedger(async () => await fn()),
  });
}
